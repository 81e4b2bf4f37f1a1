"""The record of a finished training beside its artifact: the same rows and plan are not trained twice."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from kickwheel.tuning.ports import TrainedAdapter
from kickwheel.workspace import write_atomically
from schemas.training import GuardEvent
from schemas.tuning import LossPoint


def write_record(path: Path, key: str, trained: TrainedAdapter) -> None:
    """Written last: the artifact is whole when it is there."""
    data = {
        **asdict(trained),
        "folder": trained.folder.name,
        "losses": [point.model_dump() for point in trained.losses],
        "events": [event.model_dump() for event in trained.events],
        "key": key,
    }
    write_atomically(path, json.dumps(data))


def read_record(path: Path, key: str, out: Path, weights: str) -> TrainedAdapter | None:
    """The finished training of just these rows and this plan, if its weights are still there."""
    if not path.is_file() or not (out / weights).is_file():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["key"] != key:
        return None
    return TrainedAdapter(
        out,
        tuple(LossPoint.model_validate(point) for point in data["losses"]),
        data["trained_tokens"],
        data["seconds"],
        tuple(data["reasons"]),
        tuple(GuardEvent.model_validate(event) for event in data.get("events", ())),
        tuple((int(step), float(loss)) for step, loss in data.get("validation", ())),
    )


def remove_others(work: Path, pattern: str) -> None:
    """Checkpoints of trainings that nobody will take up again: other rows, another plan."""
    for folder in work.parent.glob(pattern):
        if folder != work and folder.is_dir():
            shutil.rmtree(folder)
