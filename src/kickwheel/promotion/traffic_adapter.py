"""What answers users, changed: the routing's file, and the model servers that its versions run on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from kickwheel.errors import InputError, KickwheelError, ServiceUnavailable
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.switch_adapter import ServerSwitch, Stoppable, drain
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.promotion.ports import ServerKeeper
from kickwheel.serving.routing_adapter import read_routing, write_routing
from schemas.promotion import PromotableVersion
from schemas.serving import Routing, ServedVersion

ANSWERS_WITHIN_S = 60.0


SETTLE_S = 15.0
"""How long a server's last requests are waited for before anybody looks: each process of the API first asks the new version
twice, at a real model's pace, and sends its requests to the old one until then."""


def _drained(url: str) -> bool:
    return drain(url, settle_s=SETTLE_S)


class ServedTraffic:
    """A :class:`~kickwheel.promotion.ports.Traffic` on this machine.

    Args:
        url: model server for adapters where the champion in service runs on none that takes them.
        modules: those that it serves adapters of; empty: all.
        servers: starts servers for merged weights, and for adapters where there is none; None: neither can be had.
    """

    def __init__(
        self,
        path: Path,
        *,
        url: str = "",
        modules: Collection[str] = (),
        servers: ServerKeeper | None = None,
        wait_until_idle: Callable[[str], bool] = _drained,
    ):
        self._path, self._url, self._modules = path, url, modules
        self._servers, self._wait_until_idle = servers, wait_until_idle

    def routing(self) -> Routing | None:
        """See the port."""
        return read_routing(self._path)

    def write(self, routing: Routing) -> None:
        """See the port."""
        write_routing(self._path, routing)

    def prepare(self, version: PromotableVersion, routing: Routing) -> ServedVersion:
        """Load an adapter onto the server and wait for its answer; merged weights get a server of their own; an encoder is
        loaded by the API's own processes."""
        folder = str(Path(version.folder.path).resolve())
        if version.kind == "encoder":
            return ServedVersion(name=version.name, registry_version=version.version, kind="encoder", folder=folder)
        url = "" if version.kind == "merged" else self._server_for_adapters(routing)
        if url:
            check_modules(Path(folder), self._modules)
            endpoint = VllmEndpoint(url)
            try:
                endpoint.load_adapter(version.name, Path(folder))
            finally:
                endpoint.close()
        else:
            url = self._keeper(version).start(version).url
        self._ask(url, version.name)
        return self._version(version, url)

    def put_in_service(self, version: PromotableVersion, routing: Routing) -> Routing:
        """See the port. For merged weights the first server is drained, and ended if a promotion had started it."""
        if version.kind != "merged":
            after = Routing(revision=routing.revision + 1, champion=self.prepare(version, routing))
            self.write(after)
            return after
        keeper = self._keeper(version)
        first = keeper.running().get(routing.champion.url)

        def second() -> Stoppable:
            server = keeper.start(version)
            try:
                self._ask(server.url, version.name)
            except BaseException:
                server.stop()
                raise
            return server

        switch = ServerSwitch(second, self.write, wait_until_idle=self._wait_until_idle)
        return switch.promote(
            routing, self._version(version, "to be started"), stop_first=first.stop if first else None
        ).routing

    def tidy(self) -> None:
        """See the port."""
        if self._servers is None:
            return
        routing = self.routing()
        wanted = {one.url for one in (routing.champion, routing.challenger) if one} if routing else set()
        for url, server in self._servers.running().items():
            if url not in wanted and self._wait_until_idle(url):
                server.stop()

    def _server_for_adapters(self, routing: Routing) -> str:
        """The server in service if it takes adapters, else the one of the settings; empty: there is none."""
        url = routing.champion.url
        merged = (
            self._servers is not None
            and url in (running := self._servers.running())
            and (running[url].base_name == routing.champion.model)
        )
        return self._url if merged or not url else url

    def _keeper(self, version: PromotableVersion) -> ServerKeeper:
        if self._servers is None:
            raise InputError(
                f"there is no model server to load {version.name} on: start one (kickwheel serve-model) and name it in "
                "KICKWHEEL_SERVER__URL"
            )
        return self._servers

    def _version(self, version: PromotableVersion, url: str) -> ServedVersion:
        folder = str(Path(version.folder.path).resolve())
        return ServedVersion(
            name=version.name, registry_version=version.version, kind="vllm", url=url, model=version.name, folder=folder
        )

    def _ask(self, url: str, model: str) -> None:
        """One real answer by that name: from then on it serves.

        Raises:
            ServiceError
        """
        client = OpenAIChatClient(url, model, "", ANSWERS_WITHIN_S, configured_by="KICKWHEEL_SERVER__URL")
        try:
            reply = client.complete(ChatRequest(messages=student_messages("ready?"), max_tokens=1))
        except KickwheelError as error:
            raise ServiceUnavailable(f"{model} was loaded at {url} but does not answer: {error}; nothing was moved") from error
        finally:
            client.close()
        if reply.model != model:
            raise ServiceUnavailable(f"{url} answers as {reply.model!r} where {model!r} was asked for; nothing was moved")
