"""New weights in service without a failed request: an adapter onto a running server, merged weights by a second server.

A LoRA adapter is loaded beside what is served. Merged weights are another model: a second server is started and warmed
while the first goes on answering, the routing is switched, and the first is stopped when it has nothing left to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from kickwheel.errors import ServiceUnavailable
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.vllm_adapter import RunningServer, start_server
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.inference.warmup import warm_up
from kickwheel.settings import ServerSettings
from schemas.serving import Routing, ServedVersion

SETTLE_S = 2.0
"""How long readers of the routing may take to notice a new revision; draining looks only after that."""

DRAIN_LIMIT_S = 60.0
_POLL_S = 0.2


def load_adapter_on_running(url: str, name: str, folder: Path, *, modules: Collection[str] = ()) -> float:
    """Serve the adapter in ``folder`` as ``name`` on the server at ``url`` (``/v1`` included), whoever started that.

    Returns the seconds until its first token was there: from then on it answers. Requests to other models of the server
    go on meanwhile. Weights that changed need a new folder, or a new name.

    Args:
        modules: what the server was started for (``ServerSettings.lora_modules`` on a CPU); empty: everything.

    Raises:
        RequestRefused: the server does not take it, or would serve only a part of it.
        ServiceUnavailable: the server does not answer.
    """
    begin = time.perf_counter()
    check_modules(folder, modules)
    endpoint = VllmEndpoint(url)
    try:
        endpoint.load_adapter(name, folder)
        endpoint.first_token(name)
    finally:
        endpoint.close()
    return time.perf_counter() - begin


def unload_adapter_on_running(url: str, name: str) -> None:
    """Stop serving an adapter; harmless if it is not served.

    Raises:
        RequestRefused, ServiceUnavailable
    """
    endpoint = VllmEndpoint(url)
    try:
        endpoint.unload_adapter(name)
    finally:
        endpoint.close()


def start_second_server(
    settings: ServerSettings, *, model_path: Path, log: Path, served_name: str = "", enable_lora: bool = False
) -> RunningServer:
    """Start and warm a server beside those that run; it is ready for real requests when this returns.

    It ends with this process; end it earlier with ``stop()``. For one that outlives this process use
    :func:`kickwheel.inference.detached_adapter.start_detached`. On a GPU both servers must fit: name a profile whose
    ``gpu_memory_share`` leaves room, since vLLM otherwise takes 0.9 of the card.

    Raises:
        ServerNotInstalled, ServerFailed, ServiceError: nothing is left running then.
    """
    free = settings.model_copy(update={"port": 0, "url": ""})
    server = start_server(free, base_path=model_path, log=log, enable_lora=enable_lora, served_name=served_name)
    try:
        warm_server(server.url, server.base_name)
    except BaseException:
        server.stop()
        raise
    return server


def warm_server(url: str, model: str, requests: Sequence[ChatRequest] | None = None, *, api_key: SecretStr | str = "") -> float:
    """Send the student's own kind of request until its latency is steady; returns seconds.

    Raises:
        ServiceError: it does not answer.
    """
    client = OpenAIChatClient(url, model, api_key, 120.0, configured_by="KICKWHEEL_SERVER__URL")
    try:
        return warm_up(client, requests or [ChatRequest(messages=student_messages("warm up"), max_tokens=MAX_TOKENS)])
    finally:
        client.close()


def drain(
    url: str,
    *,
    settle_s: float = SETTLE_S,
    limit_s: float = DRAIN_LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until the server at ``url`` has no request left, two looks in a row; True when that is so.

    Args:
        settle_s: time before the first look, in which readers of the routing learn where to go now.
        limit_s: longest wait after that; False then. A server that is gone, or that does not say, counts as drained
            and as not drained.
    """
    endpoint = VllmEndpoint(url)
    try:
        sleep(settle_s)
        deadline = clock() + limit_s
        idle = 0
        while clock() < deadline:
            try:
                left = endpoint.requests_left()
            except ServiceUnavailable:
                return True
            idle = idle + 1 if left == 0 else 0
            if idle == 2:
                return True
            sleep(_POLL_S)
        return False
    finally:
        endpoint.close()


class Stoppable(Protocol):
    """A server that was started for a switch: running and warm. ``base_name`` is its model's name in requests."""

    @property
    def url(self) -> str:
        """Base URL, ``/v1`` included."""
        ...

    @property
    def base_name(self) -> str:
        """Served model name."""
        ...

    def stop(self) -> None:
        """End it with its process group."""
        ...


@dataclass(frozen=True)
class Switched:
    """What a switch did. ``drained`` False: the first server still had requests, and was left running."""

    routing: Routing
    start_s: float
    drain_s: float
    drained: bool


class ServerSwitch:
    """Promotes merged weights: start and warm a second server, switch, drain the first, stop it.

    Args:
        start: starts the second server; it must be warm when this returns (:func:`start_second_server`,
            :func:`~kickwheel.inference.detached_adapter.start_detached`).
        write: makes a routing the one in service, durably, for all readers. Called once.
        wait_until_idle: as :func:`drain`.
    """

    def __init__(
        self,
        start: Callable[[], Stoppable],
        write: Callable[[Routing], None],
        *,
        wait_until_idle: Callable[[str], bool] = drain,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._start, self._write, self._wait_until_idle, self._clock = start, write, wait_until_idle, clock

    def promote(self, now: Routing, version: ServedVersion, *, stop_first: Callable[[], None] | None = None) -> Switched:
        """Put ``version`` in service in the place of ``now``'s champion.

        ``version`` names what is promoted; its ``url`` and ``model`` are filled in from the second server. A trial that is
        under way is ended: its challenger was compared with another champion.

        Args:
            stop_first: ends the first server; called only when that has nothing left to do. None: it is left running.

        Raises:
            ServerNotInstalled, ServerFailed, ServiceError: the second server did not come up; the routing is unchanged.
            Exception: what ``write`` raises; the second server is stopped then, the routing unchanged.
        """
        begin = self._clock()
        second = self._start()
        ready = self._clock()
        served = version.model_copy(update={"kind": "vllm", "url": second.url, "model": second.base_name})
        routing = Routing(revision=now.revision + 1, champion=ServedVersion.model_validate(served.model_dump()))
        try:
            self._write(routing)
        except BaseException:
            second.stop()
            raise
        switched = self._clock()
        first = now.champion.url
        drained = not first or first == second.url or self._wait_until_idle(first)
        if drained and stop_first is not None:
            stop_first()
        return Switched(routing, ready - begin, self._clock() - switched, drained)
