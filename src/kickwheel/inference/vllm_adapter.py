"""The model server of a lap: one that we start and end, or one that exists and is left alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from kickwheel.errors import ServerFailed, ServiceUnavailable
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.server_profile import load_profile
from kickwheel.inference.vllm_command import (
    adapter_modules,
    described,
    find_server_command,
    server_arguments,
    server_environment,
)
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.inference.vllm_process_adapter import SupervisedProcess, choose_port
from kickwheel.settings import ServerSettings
from schemas.engine import EngineSettings

__all__ = ["RunningServer", "find_server_command", "model_server", "start_server"]

_POLL_S = 0.25


@dataclass(frozen=True)
class RunningServer:
    """A server that answers. ``url`` ends in ``/v1``; ``startup_s`` is None for one that ran before."""

    url: str
    base_name: str
    version: str
    endpoint: VllmEndpoint = field(repr=False)
    engine_settings: dict[str, str] = field(default_factory=dict)
    startup_s: float | None = None
    process: SupervisedProcess | None = field(default=None, repr=False)
    settings: ServerSettings = field(default_factory=ServerSettings, repr=False)
    api_key: SecretStr = field(default=SecretStr(""), repr=False)
    """What one that ran before wants; those that we start want none."""

    def load_adapter(self, name: str, path: Path) -> None:
        """Serve the adapter in ``path`` as ``name``; see :meth:`VllmEndpoint.load_adapter`.

        Raises:
            RequestRefused: also where the server that we started would serve only a part of it.
        """
        if self.process is not None:
            check_modules(path, adapter_modules(self.settings))
        self.endpoint.load_adapter(name, path)

    def unload_adapter(self, name: str) -> None:
        """Stop serving an adapter; harmless if it is not served."""
        self.endpoint.unload_adapter(name)

    def stop(self) -> None:
        """End a server that we started, with its whole process group; one that ran before is left alone."""
        self.endpoint.close()
        if self.process is not None:
            self.process.stop()

    def is_healthy(self) -> bool:
        """Whether it still answers."""
        return (self.process is None or self.process.is_running()) and self.endpoint.is_healthy()


@contextmanager
def model_server(
    settings: ServerSettings, *, base_path: Path, log: Path, enable_lora: bool, served_name: str = ""
) -> Iterator[RunningServer]:
    """A running server for the time of the ``with`` block.

    ``settings.url`` names one that exists: it is used and never stopped. Otherwise vLLM is started on 127.0.0.1 with the
    base model in ``base_path``, its output in ``log``; it is gone after the block, and also if this process is killed.

    Raises:
        ServerNotInstalled: there is no vLLM on this machine.
        ServerFailed: port taken, did not come up, or not in time; the end of its log is in the message.
        ServiceUnavailable: the server of ``settings.url`` does not answer.
    """
    if settings.url:
        with _endpoint(settings) as endpoint:
            yield _attached(settings, endpoint)
        return
    server = start_server(settings, base_path=base_path, log=log, enable_lora=enable_lora, served_name=served_name)
    try:
        yield server
    finally:
        server.stop()


def start_server(
    settings: ServerSettings,
    *,
    base_path: Path,
    log: Path,
    enable_lora: bool,
    served_name: str = "",
    environment: Mapping[str, str] | None = None,
    engine: EngineSettings | None = None,
) -> RunningServer:
    """Start vLLM on 127.0.0.1 and wait until it is healthy; whoever calls this calls ``stop()``, whatever happens.

    The server ends with this process in any case. ``settings.url`` is not looked at.

    Args:
        served_name: name of the model in requests; empty: that of its folder.
        environment: more variables for the server, over everything else.
        engine: settings of the engine; None: those of the profile that the settings name, if they name one.

    Raises:
        ServerNotInstalled, ServerFailed: see :func:`model_server`.
    """
    engine = engine or engine_of(settings)
    planned = plan_server(settings, base_path=base_path, enable_lora=enable_lora, served_name=served_name, engine=engine)
    endpoint = VllmEndpoint(f"http://127.0.0.1:{planned.port}/v1")
    begin = time.monotonic()
    process = SupervisedProcess(planned.command, {**planned.environment, **(environment or {})}, log)
    try:
        _wait(endpoint, process, begin + settings.start_timeout_s, settings.start_timeout_s)
        return RunningServer(
            url=endpoint.url,
            base_name=planned.served_name,
            version=endpoint.version(),
            endpoint=endpoint,
            engine_settings=described(settings, enable_lora=enable_lora, engine=engine),
            startup_s=time.monotonic() - begin,
            process=process,
            settings=settings,
        )
    except BaseException:
        endpoint.close()
        process.stop()
        raise


@dataclass(frozen=True)
class PlannedServer:
    """What would be started."""

    command: list[str]
    port: int
    served_name: str
    environment: dict[str, str] = field(repr=False)


def plan_server(
    settings: ServerSettings,
    *,
    base_path: Path,
    enable_lora: bool,
    served_name: str = "",
    engine: EngineSettings | None = None,
) -> PlannedServer:
    """The command and environment of a server, with a port that is free now; nothing is started.

    Raises:
        ServerNotInstalled, ServerFailed: no vLLM here; the port is taken.
        InputError: the profile of the settings does not hold.
    """
    command = find_server_command(settings)
    port = choose_port(settings.port)
    name = served_name or base_path.resolve().name
    engine = engine or engine_of(settings)
    arguments = server_arguments(
        settings,
        command,
        base_path=base_path.resolve(),
        base_name=name,
        port=port,
        enable_lora=enable_lora,
        engine=engine,
    )
    return PlannedServer(arguments, port, name, server_environment(settings, os.environ, _cores(), engine))


def engine_of(settings: ServerSettings) -> EngineSettings | None:
    """The engine settings of the profile that the settings name; None without one.

    Raises:
        InputError: the file is not there or is no profile.
    """
    return load_profile(Path(settings.profile)).engine if settings.profile else None


def _cores() -> list[int]:
    """Numbers of the CPU cores that this process may use; not every system tells."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _attached(settings: ServerSettings, endpoint: VllmEndpoint) -> RunningServer:
    try:
        base_name = endpoint.base_name()
    except ServiceUnavailable as error:
        raise ServiceUnavailable(f"{error} (setting KICKWHEEL_SERVER__URL; empty: start one here)") from error
    engine = {"device": settings.device, "attached": endpoint.url}
    return RunningServer(endpoint.url, base_name, endpoint.version(), endpoint, engine, api_key=settings.api_key)


def _wait(endpoint: VllmEndpoint, process: SupervisedProcess, deadline: float, limit_s: float) -> None:
    while not endpoint.is_healthy():
        if not process.is_running():
            raise ServerFailed(f"the model server ended while it started:\n{process.log_tail()}")
        if time.monotonic() > deadline:
            raise ServerFailed(
                f"the model server was not ready after {limit_s:g} s (setting KICKWHEEL_SERVER__START_TIMEOUT_S):\n"
                f"{process.log_tail()}"
            )
        time.sleep(_POLL_S)


@contextmanager
def _endpoint(settings: ServerSettings) -> Iterator[VllmEndpoint]:
    endpoint = VllmEndpoint(settings.url, api_key=settings.api_key)
    try:
        yield endpoint
    finally:
        endpoint.close()
