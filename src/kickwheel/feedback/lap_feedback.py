"""What a lap takes from the event store: a copy at its start, and the cursor that keeps an event from counting twice.

The copy lies in the lap's folder and is taken once: a lap that is killed and taken up again works from the same events,
whatever has come since. A finished distillation stage has used the events of the cases that it trained on, unless the gate
threw the challenger away; all other evidence waits, adding up, for a later lap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from kickwheel.feedback.live import LiveCase, Used, labels_until, live_cases
from kickwheel.feedback.ports import EventStore
from kickwheel.seeding.carried_rows import stands
from kickwheel.settings import DistillationSettings
from kickwheel.workspace import Lap, read_jsonl, write_atomically, write_jsonl
from schemas.evidence import FeedbackWindow
from schemas.feedback import DistillationReport, DistillationRow, FeedbackEvent
from schemas.frame import Frame
from schemas.task import TaskCatalog
from schemas.utterance import Utterance, language_of


def window_file(lap: Lap) -> Path:
    """The lap's cursor, written after the copy; there is none where the domain had no event store."""
    return lap.folder / "distillation" / "feedback.json"


def copy_file(lap: Lap) -> Path:
    """The lap's copy of the observations."""
    return lap.folder / "distillation" / "feedback.jsonl"


def window_of(lap: Lap) -> FeedbackWindow | None:
    """The cursor of a lap; None: it took nothing."""
    path = window_file(lap)
    return FeedbackWindow.model_validate_json(path.read_text(encoding="utf-8")) if path.is_file() else None


def take_feedback(
    store: EventStore,
    settings: DistillationSettings,
    *,
    lap: Lap,
    before: Sequence[Lap],
    catalog: TaskCatalog,
    now: datetime,
) -> FeedbackWindow:
    """Take the lap's copy, if it has none. ``before`` are the earlier laps of the domain.

    Corrections and labels that the tasks do not take (an intent or slot that is not there) are left out.
    """
    if taken := window_of(lap):
        return taken
    until, identity = store.sequence(), store.identity()
    cases = live_cases(store, settings, now=now, until=until, used=used_before(before, identity))
    rows = [sound(event, catalog) for case in cases for event in case.observations]
    window = FeedbackWindow(
        store=identity,
        until=until,
        labels_until=labels_until(settings, now),
        cases=len({row.case for row in rows}),
        observations=write_jsonl(copy_file(lap), rows),
    )
    write_atomically(window_file(lap), window.model_dump_json(indent=1))
    return window


def used_before(laps: Sequence[Lap], store: int) -> dict[str, Used]:
    """Case -> what earlier laps have used of it. Laps whose challenger was rejected have used nothing."""
    used: dict[str, Used] = {}
    for lap in sorted(laps, key=lambda item: item.number):
        window = window_of(lap)
        if window is None or window.store != store or not lap.has("distillation"):
            continue
        report = lap.load("distillation", DistillationReport)
        if report.gate is not None and report.gate.decision == "reject":
            continue
        for row in read_jsonl(Path(report.batch.path), DistillationRow):
            used[row.case] = Used(window.until, window.labels_until)
    return used


def lap_cases(lap: Lap) -> list[LiveCase]:
    """The lap's copy, by case; none where it took nothing."""
    by_case: dict[str, list[FeedbackEvent]] = defaultdict(list)
    if window_file(lap).is_file():
        for row in read_jsonl(copy_file(lap), FeedbackEvent):
            by_case[row.case].append(row)
    return [LiveCase(case, rows[0].text, tuple(rows), len(rows)) for case, rows in by_case.items()]


def sound(event: FeedbackEvent, catalog: TaskCatalog) -> FeedbackEvent:
    """The observation without frames that the domain's tasks do not take."""

    def fits(frame: Frame | None) -> Frame | None:
        if frame is None:
            return None
        row = Utterance(id=event.case, text=event.text, language=language_of(event.text), frame=frame)
        return frame if stands(row, catalog) else None

    labels = tuple(label for label in event.operator_labels if fits(label.frame))
    return event.model_copy(
        update={
            "answer": fits(event.answer),
            "correction": fits(event.correction),
            "operator_labels": labels,
            "operator_label": labels[-1].frame if labels else None,
        }
    )
