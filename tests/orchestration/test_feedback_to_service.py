"""The wheel closed, with real processes: a served version under load, feedback over HTTP, a distillation, and the way back.

The model server is fake: the distilled version's name answers right, the tuned one's half the time. The training is instant.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kickwheel.inference.frame_codec import encode_frame
from kickwheel.testing.model_server import EMPTY_FRAME, FakeModelServer, Messages
from kickwheel.workspace import read_jsonl
from schemas.frame import Frame
from schemas.utterance import Utterance

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]

ASKED = "pull whatever the gateway wrote down since noon"
WANTED = Frame(intent="fetch_api_logs")


@pytest.fixture
def settings(tmp_path: Path, tiny_base: Path, prefect_server: None) -> dict[str, str]:
    """A quick lap, in the environment of each process; all use one Prefect server."""
    from prefect.settings import PREFECT_API_URL

    chosen = {
        "HOME": str(tmp_path / "home"),
        "MODEL__BASE": str(tiny_base),
        "TRAINER": "instant",
        "SEEDING__PER_ROUND": "6",
        "TUNING__MAX_TOKENS": "2000",
        "DISTILLATION__MAX_TOKENS": "2000",
        "THROUGHPUT__START_RATE": "4",
        "THROUGHPUT__MAX_POINTS": "1",
        "THROUGHPUT__MIN_REQUESTS": "8",
        "THROUGHPUT__STEP_S": "1",
        "THROUGHPUT__UNLOADED_REQUESTS": "4",
        "THROUGHPUT__BURST": "4",
        "SERVING__FALLBACK": "none",  # an error must be seen as one
    }
    return {**{f"KICKWHEEL_{name}": value for name, value in chosen.items()}, "PREFECT_API_URL": str(PREFECT_API_URL.value())}


def answering(domain: Path) -> Any:
    """Right for the distilled version, for every second text right for the tuned one, and never for the base."""
    rows = [row for name in ("valid", "eval", "seeds") for row in read_jsonl(domain / f"{name}.jsonl", Utterance)]
    known = {row.text: encode_frame(row.frame) for row in rows if row.frame is not None}

    def reply(messages: Messages, model: str) -> str:
        text = messages[-1]["content"]
        right = model.endswith("-distilled") or (model.endswith("-tuned") and text in known and len(text) % 2 == 0)
        return known.get(text, encode_frame(WANTED)) if right else EMPTY_FRAME

    return reply


def kickwheel(environment: dict[str, str], *arguments: object) -> dict[str, Any]:
    """A command's JSON object."""
    code = "from kickwheel.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments), "--json"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 - our own address
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own address
        told: dict[str, Any] = json.loads(answer.read())
    return told


@contextmanager
def served(environment: dict[str, str], domain: Path) -> Iterator[str]:
    """Address of ``kickwheel serve`` in a process of its own, ready."""
    command = [sys.executable, "-c", "from kickwheel.cli import main; main()", "serve", str(domain), "--port", "0", "--json"]
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            wait_until(lambda: ready(address), "the service")
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5):  # noqa: S310 - our own address
            return True
    except (urllib.error.URLError, OSError):
        return False


def wait_until(holds: Any, what: str, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what} was not there in time"
        time.sleep(0.1)


class Load:
    """Asks about 20 times a second, each time something new; remembers versions in order, and what failed."""

    def __init__(self, address: str):
        self.versions: list[str] = []
        self.failures: list[str] = []
        self._address, self._stop = address, threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(2)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self, number: int) -> None:
        call = 0
        while not self._stop.wait(0.1):
            call += 1
            try:
                told = post(f"{self._address}/v1/understand", {"text": f"day {call} of {number}", "user": f"load-{call % 50}"})
                self.versions.append(told["model_version"])
            except (urllib.error.URLError, OSError, ValueError) as error:
                self.failures.append(repr(error))


def test_feedback_becomes_a_version_in_service_under_load_and_is_undone(
    example: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.iteration import iteration

    (example / "feedback.jsonl").unlink()  # or the first lap distils and promotes already
    with FakeModelServer(reply=answering(example)) as server:
        environment = {
            **settings,
            "KICKWHEEL_SERVER__URL": server.url,
            "KICKWHEEL_TEACHER__BASE_URL": server.url,
            "KICKWHEEL_TEACHER__MODEL": server.base_name,
        }
        with monkeypatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            iteration(domain=str(example))  # the lap before: in this process, since it is not what is looked at
        first = kickwheel(environment, "history", example)
        tuned = first["moves"][-1]["adapter"]
        with served(environment, example) as address, Load(address) as load:
            wait_until(lambda: len(load.versions) >= 20, "an answer")
            assert set(load.versions) == {tuned}
            for user in ("u1", "u2"):
                told = post(f"{address}/v1/understand", {"text": ASKED, "user": user})
                assert told["frame"]["intent"] == "out_of_scope"
                edit = {"kind": "slot_edit", "event_id": f"e-{user}", "inference_id": told["inference_id"], "user": user}
                edit |= {"frame": json.loads(WANTED.model_dump_json()), "at": "2026-12-01T00:00:00+00:00"}
                assert post(f"{address}/v1/feedback", edit)["added"] == 1

            outcome = kickwheel(environment, "distill", example)
            assert (outcome["ran"], outcome["gate"]) == (True, "promote"), outcome
            distilled = outcome["champion"]
            wait_until(lambda: load.versions[-1] == distilled, "the distilled version", 30)
            assert post(f"{address}/v1/understand", {"text": ASKED, "user": "u1"})["frame"]["intent"] == WANTED.intent

            history = kickwheel(environment, "history", example)
            moved = history["moves"][-1]
            assert (history["serving"], moved["adapter"], moved["kind"]) == (distilled, distilled, "promote")
            assert (moved["from_version"], moved["to_version"]) == (first["champion"], history["champion"])
            assert moved["evidence"]["one_sided_p"] <= 0.05
            assert moved["evidence"]["rows_won"] >= 5
            assert any("untuned base" in reason for reason in moved["reasons"])

            back = kickwheel(environment, "rollback", example, "--reason", "to see that it goes")
            assert (back["to_version"], back["adapter"]) == (first["champion"], tuned)
            wait_until(lambda: load.versions[-1] == tuned, "the version before", 30)
        assert load.failures == []
        assert len(set(load.versions)) == 2
