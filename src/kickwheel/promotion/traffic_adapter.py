"""What answers users, changed: the routing's file, and the model server that its champion runs on."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kickwheel.errors import InputError, KickwheelError, ServiceUnavailable
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.serving.routing_adapter import read_routing, write_routing
from schemas.promotion import PromotableVersion
from schemas.serving import Routing, ServedVersion

ANSWERS_WITHIN_S = 60.0


class ServedTraffic:
    """A :class:`~kickwheel.promotion.ports.Traffic` on this machine.

    ``url``: model server for adapters where the champion in service runs on none (a probe, an encoder); ``modules``: those that
    it serves adapters of, empty: all.
    """

    def __init__(self, path: Path, *, url: str = "", modules: Collection[str] = ()):
        self._path, self._url, self._modules = path, url, modules

    def routing(self) -> Routing | None:
        """See the port."""
        return read_routing(self._path)

    def write(self, routing: Routing) -> None:
        """See the port."""
        write_routing(self._path, routing)

    def prepare(self, version: PromotableVersion, routing: Routing) -> ServedVersion:
        """Load an adapter onto the server and wait for its answer; an encoder is loaded by the API's own processes."""
        folder = str(Path(version.folder.path).resolve())
        if version.kind == "encoder":
            return ServedVersion(name=version.name, registry_version=version.version, kind="encoder", folder=folder)
        url = routing.champion.url or self._url
        if not url:
            raise InputError(
                f"{routing.champion.name} is served in the API's process: there is no model server to load {version.name} on, "
                "start one (kickwheel serve-model) and name it in KICKWHEEL_SERVER__URL"
            )
        check_modules(Path(folder), self._modules)
        endpoint = VllmEndpoint(url)
        try:
            endpoint.load_adapter(version.name, Path(folder))
        finally:
            endpoint.close()
        self._ask(url, version.name)
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
