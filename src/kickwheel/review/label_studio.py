"""The queue for Label Studio and back: tasks with pre-annotations, the labelling interface, exported annotations.

Its editor counts code points in a ``Text`` tag (its own test "NER - Emoji - Text"); older versions counted UTF-16 units
(HumanSignal/label-studio 1008, 1347; changed by 1559). Each exported region carries its text, so which of the two it was
is looked up, never guessed (HumanSignal/label-studio 1250, 645; label-studio-converter 254: shifted spans).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kickwheel.errors import InputError
from kickwheel.review.answering import answer_to, tightened
from kickwheel.review.exchange import Choice, asked, chosen
from kickwheel.review.standing import Standing
from kickwheel.review.text_units import from_utf16
from kickwheel.seeding.review_queue import ReviewItem
from kickwheel.text_file import not_utf8
from schemas.frame import OUT_OF_SCOPE, Frame, Slot
from schemas.review import ReviewAnswer
from schemas.task import TaskCatalog

SLOTS, INTENT, TEXT = "slots", "intent", "text"
_STYLE = "<Style>.htx-text{ white-space: pre-wrap; }</Style>"
"""Without it the editor trims white space and counts without it."""


@dataclass(frozen=True)
class TaskList:
    """A JSON list of tasks, and how many there are."""

    text: str
    rows: int


class _Value(BaseModel):
    start: int | None = None
    end: int | None = None
    text: str | None = None
    labels: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class _Region(BaseModel):
    from_name: str
    value: _Value = _Value()


class _Annotation(BaseModel):
    result: tuple[_Region, ...] = ()
    completed_by: int | dict[str, Any] | None = None
    was_cancelled: bool = False
    updated_at: datetime | None = None
    created_at: datetime | None = None


class _Data(BaseModel):
    id: str
    text: str


class _Task(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: _Data
    annotations: tuple[_Annotation, ...] = Field(description="The JSON export has them, JSON-MIN does not")


def interface(catalog: TaskCatalog) -> str:
    """The labelling interface (Settings > Labeling Interface > Code) for a domain's intents and slots."""
    slots = sorted({slot.name for task in catalog.tasks for slot in task.slots})
    lines = ["<View>", f"  {_STYLE}"]
    lines += [f'  <Labels name="{SLOTS}" toName="{TEXT}">', *_values("Label", slots), "  </Labels>"] if slots else []
    lines += [f'  <Text name="{TEXT}" value="$text" granularity="symbol"/>']
    lines += [f'  <Choices name="{INTENT}" toName="{TEXT}" choice="single" required="true">']
    lines += [*_values("Choice", [*catalog.intents, OUT_OF_SCOPE]), "  </Choices>", "</View>"]
    return "\n".join(lines) + "\n"


def tasks(standings: Sequence[Standing], choice: Choice) -> TaskList:
    """The rows of a choice as tasks; the suggestion is a prediction, which Label Studio shows as a draft."""
    listed = [_task(row.item) for row in chosen(standings, choice)]
    return TaskList(json.dumps(listed, ensure_ascii=False, indent=1) + "\n", len(listed))


def read_annotations(
    path: Path, standings: Sequence[Standing], catalog: TaskCatalog, *, reviewer: str, at: datetime
) -> tuple[list[ReviewAnswer], list[InputError]]:
    """The answers of a JSON export, and everything that does not hold, each with its place in the list.

    Args:
        reviewer: whose the answers are; empty: Label Studio's own account names.
        at: the time of annotations that carry none.
    """
    rows = {row.item.id: row.item for row in standings}
    answers: list[ReviewAnswer] = []
    problems: list[InputError] = []
    for place, task in _tasks(path, problems):
        try:
            item = asked(task.data.id, task.data.text, rows)
            answers += [_answer(annotation, item, catalog, reviewer, at) for annotation in task.annotations]
        except InputError as error:
            problems.append(InputError(error.message, file=path, field=f"{place}.{error.field}"))
    return answers, problems


def _values(tag: str, names: Iterable[str]) -> list[str]:
    return [f"    <{tag} value={quoteattr(name)}/>" for name in names]


def _task(item: ReviewItem) -> dict[str, Any]:
    about = {"id": item.id, "text": item.text, "why": ", ".join(item.reasons), "confidence": item.probe_confidence}
    predictions = []
    if item.suggestion is not None:
        score = {} if item.intent_confidence is None else {"score": item.intent_confidence}
        predictions = [{"model_version": "suggestion", **score, "result": _result(item.suggestion)}]
    return {"data": about, "predictions": predictions}


def _result(frame: Frame) -> list[dict[str, Any]]:
    spans = [{"start": slot.start, "end": slot.end, "text": slot.value, "labels": [slot.name]} for slot in frame.slots]
    regions = [
        {"id": f"slot{number}", "from_name": SLOTS, "to_name": TEXT, "type": "labels", "value": span}
        for number, span in enumerate(spans)
    ]
    intent = {"choices": [frame.intent]}
    return [*regions, {"id": "intent", "from_name": INTENT, "to_name": TEXT, "type": "choices", "value": intent}]


def _tasks(path: Path, problems: list[InputError]) -> Iterator[tuple[str, _Task]]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError:
        problems.append(InputError("there is no such file", file=path))
        return
    except UnicodeDecodeError as error:
        problems.append(not_utf8(path, error))
        return
    except ValueError as error:
        problems.append(InputError(f"no JSON: {error}", file=path))
        return
    if not isinstance(listed, list):
        problems.append(InputError("expected a list of tasks: export the project as JSON", file=path))
        return
    for number, task in enumerate(listed):
        try:
            yield f"[{number}]", _Task.model_validate(task)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in (f"[{number}]", *first["loc"]))
            hint = ": export the project as JSON, not as JSON-MIN" if first["loc"] in (("data",), ("annotations",)) else ""
            problems.append(InputError(f"{first['msg']}{hint}", file=path, field=field))


def _answer(annotation: _Annotation, item: ReviewItem, catalog: TaskCatalog, reviewer: str, at: datetime) -> ReviewAnswer:
    when = annotation.updated_at or annotation.created_at or at
    name = reviewer or _account(annotation.completed_by)
    if annotation.was_cancelled:
        return answer_to(item, catalog, reviewer=name, at=when, via="label_studio", decision="skipped")
    intents = [name for region in annotation.result if region.from_name == INTENT for name in region.value.choices]
    if len(intents) != 1:
        raise InputError(f"expected one intent, got {', '.join(intents) or 'none'}", field=INTENT)
    regions = [region.value for region in annotation.result if region.from_name == SLOTS]
    slots = sorted((_slot(item.text, value) for value in regions), key=lambda slot: slot.start)
    try:
        frame = Frame(intent=intents[0], slots=tuple(slots))
    except ValidationError as error:
        raise InputError(error.errors()[0]["msg"], field=SLOTS) from error
    return answer_to(item, catalog, reviewer=name, at=when, via="label_studio", frame=frame)


def _slot(text: str, value: _Value) -> Slot:
    """A region as a slot: its offsets in the unit in which they give its text."""
    if len(value.labels) != 1 or value.start is None or value.end is None:
        raise InputError("a region has start, end and one label", field=SLOTS)
    name, seen = value.labels[0], value.text
    if seen is None:
        if any(ord(char) >= 0x10000 for char in text):
            raise InputError(f"slot {name!r}: without its text its offsets mean two things in a text with emoji", field=SLOTS)
        return tightened(text, name, value.start, value.end)
    seen = seen.replace("\\n", "\n")
    units = ((value.start, value.end), (from_utf16(text, value.start), from_utf16(text, value.end)))
    for start, end in units:
        if start is not None and end is not None and text[start:end] == seen:
            return tightened(text, name, start, end)
    raise InputError(f"slot {name!r}: {seen!r} does not stand at {value.start}:{value.end} of the text", field=SLOTS)


def _account(account: int | Mapping[str, Any] | None) -> str:
    """The name of who annotated: e-mail where the export has it, else the account's number."""
    if isinstance(account, Mapping):
        return str(account.get("email") or f"label-studio-{account.get('id', 'unknown')}")
    return f"label-studio-{'unknown' if account is None else account}"
