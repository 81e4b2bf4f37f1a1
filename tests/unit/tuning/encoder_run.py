"""Rows for the encoder student, and a training in a process of its own: ``encoder_run.py BASE OUT STEP`` kills itself at STEP
(0: never)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from uuid import UUID

from kickwheel.tuning.encoder_trainer_adapter import EncoderStudentTrainer
from kickwheel.tuning.ports import Surroundings
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.student import EncoderStudentPlan
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.utterance import Provenance, Utterance, language_of

PLAN = EncoderStudentPlan(epochs=12, batch_size=4, learning_rate=5e-3, r=4, seed=3)
DAYS = ("monday", "friday", "昨天", "last week", "周一")
_FORMS = (
    ("sync_orders", "sync orders of {}"),
    ("sync_orders", "同步{}的订单"),
    ("fetch_logs", "fetch the logs, {} please"),
    ("fetch_logs", "拉取{}日志"),
    (OUT_OF_SCOPE, "lunch {}?"),
)


def rows() -> list[Utterance]:
    """Two intents with a slot and some requests out of scope, English and Chinese."""
    made = []
    for number, (intent, form) in enumerate(_FORMS):
        for day in DAYS:
            text = form.format(day)
            frame = Frame.from_values(text, intent, {} if intent == OUT_OF_SCOPE else {"date": day})
            made.append(
                Utterance(
                    id=f"r{number}-{day}",
                    text=text,
                    language=language_of(text),
                    frame=frame,
                    provenance=Provenance(source="seed"),
                )
            )
    return made


def catalog() -> TaskCatalog:
    """Both tasks, each with a date."""
    slots = (SlotSpec(name="date"),)
    sync = TaskSchema(id=UUID(int=1), intent="sync_orders", action="sync", target="orders", slots=slots)
    fetch = TaskSchema(id=UUID(int=2), intent="fetch_logs", action="fetch", target="logs", slots=slots)
    return TaskCatalog(domain="tiny", tasks=(sync, fetch))


def around() -> Surroundings:
    """The catalogue, a few valid rows and a pool."""
    return Surroundings(catalog=catalog(), valid=rows()[::4], pool=("orders of tuesday", "日志"))


def main(base: str, out: str, step: str) -> None:
    def progress(done: int, total: int) -> None:
        if done == int(step):
            os.kill(os.getpid(), signal.SIGKILL)

    EncoderStudentTrainer().train(rows(), PLAN, base_path=Path(base), out=Path(out), progress=progress, around=around())


if __name__ == "__main__":
    main(*sys.argv[1:])
