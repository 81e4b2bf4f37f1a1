"""Watches the server while a step runs: its ``/metrics``, the memory of its processes, the memory of the GPUs here."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Sequence

import httpx2
import psutil

from kickwheel.inference.openai_adapter import is_local
from kickwheel.throughput.ports import Scrape
from kickwheel.throughput.server_metrics import GPU_MEMORY, PROCESS_MEMORY, parse_metrics

_READ_S = 5.0


class MetricsWatch:
    """A :class:`~kickwheel.throughput.ports.ServerWatch` in a thread of this process.

    Args:
        base_url: including ``/v1``.
        every_s: seconds between two looks; one more is had at the begin and at the end.
        pid: process group of a server that we started, whose memory is added up; None: not ours.
        gpus: whether the server is on this machine's GPUs, so that ``nvidia-smi`` is asked.
    """

    def __init__(self, base_url: str, *, every_s: float = 1.0, pid: int | None = None, gpus: bool = False, api_key: str = ""):
        self._address = f"{base_url.rstrip('/').removesuffix('/v1')}/metrics"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._trust_env = not is_local(base_url)
        self._every_s = every_s
        self._pid = pid
        self._gpus = gpus and shutil.which("nvidia-smi") is not None
        self._thread: threading.Thread | None = None
        self._end = threading.Event()
        self._seen: list[Scrape] = []

    def start(self) -> None:
        """Begin to watch; the first look is had before this returns, so that counters have a zero."""
        self._seen = []
        self._end = threading.Event()
        with httpx2.Client(headers=self._headers, timeout=_READ_S, trust_env=self._trust_env) as client:
            self._look(client)
        self._thread = threading.Thread(target=self._watch, name="metrics-watch", daemon=True)
        self._thread.start()

    def stop(self) -> Sequence[Scrape]:
        """End after one more look."""
        self._end.set()
        if self._thread is not None:
            self._thread.join(4 * _READ_S)
            self._thread = None
        return tuple(self._seen)

    def _watch(self) -> None:
        with httpx2.Client(headers=self._headers, timeout=_READ_S, trust_env=self._trust_env) as client:
            ended = False
            while not ended:
                ended = self._end.wait(self._every_s)
                self._look(client)

    def _look(self, client: httpx2.Client) -> None:
        values: dict[str, float] = {}
        at = time.monotonic()
        try:
            answer = client.get(self._address)
            values |= parse_metrics(answer.text) if answer.status_code == 200 else {}
        except httpx2.HTTPError:
            pass  # a server that does not answer is seen by the requests; here there is just nothing to see
        if self._pid is not None:
            values |= _memory(self._pid)
        if self._gpus:
            values |= _gpu_memory()
        if values:
            self._seen.append(Scrape(at, values))


def _memory(pid: int) -> dict[str, float]:
    """Resident memory of a process and all below it, MiB; pages that they share count for each."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return {}
    total = 0
    for member in family:
        try:
            total += member.memory_info().rss
        except psutil.Error:
            continue
    return {PROCESS_MEMORY: total / 2**20} if total else {}


def _gpu_memory() -> dict[str, float]:
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_READ_S, check=True)
        return {GPU_MEMORY: sum(float(line) for line in done.stdout.split())}
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
