"""Rows to train on, and a training in a process of its own that kills itself: ``lora_run.py BASE OUT STEP``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from kickwheel.tuning.trainer_adapter import PeftTrainer
from schemas.frame import Frame
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance

PLAN = LoraPlan(batch_size=2, max_tokens=8_000, seed=5)


def rows(count: int = 20) -> list[Utterance]:
    """Labelled rows of differing length."""
    made = []
    for index in range(count):
        text = f"sync order {index} " + "please " * (index % 4)
        frame = Frame.from_values(text, "sync_orders", {"date": str(index)})
        made.append(Utterance(id=f"r{index}", text=text, language="en", frame=frame))
    return made


def main(base: str, out: str, step: str) -> None:
    def progress(done: int, total: int) -> None:
        if done == int(step):
            os.kill(os.getpid(), signal.SIGKILL)

    PeftTrainer().train(rows(), PLAN, base_path=Path(base), out=Path(out), progress=progress)


if __name__ == "__main__":
    main(*sys.argv[1:])
