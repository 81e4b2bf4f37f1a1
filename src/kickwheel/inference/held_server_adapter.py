"""A model server that is held while somebody wants it: started, given its adapters, warmed, watched, ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from kickwheel.errors import ServerFailed
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.detached_adapter import announce
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.served_target import NamedAdapter
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.switch_adapter import warm_server
from kickwheel.inference.vllm_adapter import RunningServer, model_server
from kickwheel.inference.vllm_command import adapter_modules
from kickwheel.settings import ServerSettings
from schemas.engine import ServerRecord, WarmUp

WATCH_EVERY_S = 2.0
SICK_LOOKS = 5
"""So many failed health checks in a row end a server that still runs: it hangs."""

FRAME_SCHEMA = {
    "type": "object",
    "properties": {"intent": {"type": "string"}, "slots": {"type": "object"}},
    "required": ["intent", "slots"],
    "additionalProperties": False,
}
"""The outline of a frame: structured output of this kind compiles the same kernels as a domain's own schema."""


def warm_up_requests(kind: WarmUp) -> list[ChatRequest]:
    """One request of each kind that a way of warming sends; see :class:`schemas.engine.WarmUp`."""
    forward = ChatRequest(messages=student_messages("warm up"), max_tokens=1)
    if kind == "none":
        return []
    if kind == "forward":
        return [forward]
    return [
        ChatRequest(messages=student_messages("warm up"), max_tokens=32),
        ChatRequest(messages=student_messages("warm up"), max_tokens=32, json_schema=FRAME_SCHEMA),
        ChatRequest(messages=student_messages("warm up"), max_tokens=8, top_logprobs=1),
    ]


@dataclass(frozen=True)
class Held:
    """A server that is ready for real requests."""

    server: RunningServer
    record: ServerRecord


@contextmanager
def held_server(
    settings: ServerSettings,
    *,
    model_path: Path,
    served_name: str,
    adapters: Sequence[NamedAdapter],
    enable_lora: bool,
    warm: WarmUp,
    log: Path,
    home: Path,
    held_for: str = "",
) -> Iterator[Held]:
    """A server for the time of the block, or the one of ``settings.url``, which is left running.

    Adapters are checked before anything is started, loaded before the warm-up, and each is asked for a token.

    Raises:
        ServerNotInstalled, ServerFailed, ServiceError, InputError: nothing that we started is left running.
    """
    if not settings.url:
        for adapter in adapters:
            check_modules(adapter.folder, adapter_modules(settings))
    with model_server(settings, base_path=model_path, log=log, enable_lora=enable_lora, served_name=served_name) as server:
        begin = time.monotonic()
        for adapter in adapters:
            server.load_adapter(adapter.name, adapter.folder)
            server.endpoint.first_token(adapter.name)
        if requests := warm_up_requests(warm):
            for model in (server.base_name, *(adapter.name for adapter in adapters)):
                warm_server(server.url, model, requests if model == server.base_name else requests[:1], api_key=server.api_key)
        me = psutil.Process(os.getpid())
        record = ServerRecord(
            pid=me.pid,
            started=me.create_time(),
            url=server.url,
            model=server.base_name,
            adapters=tuple(adapter.name for adapter in adapters),
            version=server.version,
            log="" if settings.url else str(log.resolve()),
            startup_s=server.startup_s,
            warm_up_s=time.monotonic() - begin,
            held_for=held_for,
        )
        file = None if settings.url else announce(home, record)
        try:
            yield Held(server, record)
        finally:
            if file is not None:
                file.unlink(missing_ok=True)


def watch(server: RunningServer, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Return never while the server is well.

    Raises:
        ServerFailed: it died, or stopped answering its health check; the end of its log is in the message.
    """
    sick = 0
    while True:
        sleep(WATCH_EVERY_S)
        process = server.process
        if process is not None and not process.is_running():
            raise ServerFailed(f"the model server ended:\n{process.log_tail()}")
        sick = 0 if server.endpoint.is_healthy() else sick + 1
        if sick >= SICK_LOOKS:
            tail = process.log_tail() if process is not None else ""
            raise ServerFailed(f"the model server at {server.url} did not answer {SICK_LOOKS} health checks in a row:\n{tail}")
