"""``kickwheel up``: the Prefect UI and the MLflow UI, the deployments of ``prefect.yaml`` and a worker for them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.environment import Services, announce, answers, prepare, retract
from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError, ServerFailed

POOL = "kickwheel-local"
GPU_SLOT = "kickwheel-gpu"


def command(
    prefect_port: Annotated[int, typer.Option(help="Port of the Prefect UI")] = 4200,
    mlflow_port: Annotated[int, typer.Option(help="Port of the MLflow UI")] = 5000,
    host: Annotated[str, typer.Option(help="Address to listen on")] = "127.0.0.1",
    worker: Annotated[bool, typer.Option(help="Apply prefect.yaml and run a worker for its pool")] = True,
    start_timeout: Annotated[float, typer.Option(help="Seconds that a service may take to answer")] = 120.0,
) -> None:
    """Start the Prefect UI and the MLflow UI and print their addresses. Ctrl-C stops everything that was started.

    While it runs, `kickwheel run` in the same folder reports to it, and laps can be started from the Prefect UI's run form.

    Examples:

        kickwheel up

        kickwheel up --prefect-port 4201 --mlflow-port 5001 --no-worker
    """
    from kickwheel.settings import get_settings
    from kickwheel.tracking.store_adapter import artifact_root, tracking_uri

    settings = get_settings()
    prepare(settings.home)
    for name, port in (("--prefect-port", prefect_port), ("--mlflow-port", mlflow_port)):
        _must_be_free(host, port, name)
    services = Services(
        prefect_ui=f"http://{host}:{prefect_port}",
        prefect_api=f"http://{host}:{prefect_port}/api",
        mlflow=f"http://{host}:{mlflow_port}",
    )
    logs = settings.home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PREFECT_API_URL": services.prefect_api, "PREFECT_UI_API_URL": services.prefect_api}
    prefect = [sys.executable, "-m", "prefect"]
    mlflow = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(mlflow_port)]
    mlflow += ["--backend-store-uri", tracking_uri(settings), "--default-artifact-root", artifact_root(settings.home)]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with ExitStack() as stack:
        serve = [*prefect, "server", "start", "--host", host, "--port", str(prefect_port)]
        running = [
            stack.enter_context(_process(serve, logs / "prefect-server.log", environment)),
            stack.enter_context(_process(mlflow, logs / "mlflow-server.log", environment)),
        ]
        _await(f"{services.prefect_api}/health", running[0], logs / "prefect-server.log", start_timeout)
        _await(f"{services.mlflow}/health", running[1], logs / "mlflow-server.log", start_timeout)
        if worker and Path("prefect.yaml").is_file():
            _deploy(environment)
            work = [*prefect, "worker", "start", "--pool", POOL]
            running.append(stack.enter_context(_process(work, logs / "prefect-worker.log", environment)))
        announce(settings.home, services)
        stack.callback(retract, settings.home)
        results().print(f"Prefect UI  {services.prefect_ui}\nMLflow UI   {services.mlflow}", soft_wrap=True)
        messages().print(f"logs in {logs}; Ctrl-C stops everything")
        try:
            while all(process.poll() is None for process in running):
                time.sleep(0.5)
        except KeyboardInterrupt:
            return
    raise ServerFailed(f"a service ended by itself: see the logs in {logs}")


def _must_be_free(host: str, port: int, option: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(f"port {port} on {host} cannot be had ({error.strerror}): choose another", field=option) from error


@contextmanager
def _process(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A service in a process group of its own, ended with the block."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def _await(url: str, process: subprocess.Popen[bytes], log: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise ServerFailed(f"{url} does not answer; the end of {log}:\n{tail}")
        time.sleep(0.5)


def _deploy(environment: dict[str, str]) -> None:
    """Apply ``prefect.yaml``, in a process of its own: this one was started without an address of Prefect."""
    command = [sys.executable, "-m", "kickwheel", "deploy", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerFailed(f"kickwheel deploy failed:\n{done.stderr[-3000:]}")
