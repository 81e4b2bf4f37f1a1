"""Runs two seeding rounds in a process of its own, which kills itself when the teacher is asked once too often."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from kickwheel.inference.ports import ChatRequest
from kickwheel.seeding.rounds import run_round
from kickwheel.testing.scripted_teacher import ScriptedTeacher
from tests.unit.seeding.seeding_world import inputs, oracle


def flawed(request: ChatRequest) -> str:
    """Right, but for one intent it takes a second call to be so."""
    first_try = request.messages[-2].role == "assistant" and "wrong" not in request.messages[-1].content
    return "{" if first_try and "ticket" in request.messages[-1].content else oracle(request)


def main(folder: Path, calls: Path, replies: int, concurrency: int) -> None:
    left = iter(range(replies))

    def until_killed(request: ChatRequest) -> str:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return flawed(request)

    for number in (1, 2):
        run_round(inputs(folder), number, ScriptedTeacher(until_killed, call_log=calls), max_concurrency=concurrency)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
