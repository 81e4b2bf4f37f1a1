"""Public intent and slot data as the product's rows: BANKING77 without slots, SNIPS with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from benchmarks.few_shot_data import read_split
from kickwheel.errors import InputError
from schemas.frame import Frame, Slot
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.utterance import Utterance

Span = tuple[str, int, int]
"""Slot name, first code point, one past the last."""


def slug(name: str) -> str:
    """A label or slot of the data as a slug: ``AddToPlaylist`` is ``add_to_playlist``, ``timeRange`` is ``time_range``."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()).strip("_")


def snips_split(folder: Path, name: str) -> list[Utterance]:
    """A split of SNIPS with gold frames; words are joined by single blanks.

    Raises:
        InputError: a row has more tags than words, or fewer.
    """
    split = read_split(folder, name)
    file = folder / name / "seq.out"
    tags = file.read_text(encoding="utf-8").rstrip("\n").split("\n")
    rows = []
    for line, (text, intent, tag) in enumerate(zip(split.texts, split.labels, tags, strict=True), start=1):
        words, marks = text.split(), tag.split()
        if len(words) != len(marks):
            raise InputError(f"{len(words)} words, but {len(marks)} tags", file=file, line=line)
        joined = " ".join(words)
        slots = tuple(Slot(name=n, value=joined[a:b], start=a, end=b) for n, a, b in bio_spans(words, marks))
        frame = Frame(intent=slug(intent), slots=slots)
        rows.append(Utterance(id=f"{name}-{line}", text=joined, language="en", frame=frame))
    return rows


def bio_spans(words: Sequence[str], marks: Sequence[str]) -> list[Span]:
    """Spans of BIO tags as seqeval's default reads them: an I- of another type, or after O, begins a span too."""
    spans: list[list[object]] = []
    place, before = 0, "O"
    for word, mark in zip(words, marks, strict=True):
        if mark != "O":
            name = slug(mark[2:])
            goes_on = mark.startswith("I-") and before != "O" and spans[-1][0] == name
            if goes_on:
                spans[-1][2] = place + len(word)
            else:
                spans.append([name, place, place + len(word)])
        place, before = place + len(word) + 1, mark
    return [(str(name), int(str(start)), int(str(end))) for name, start, end in spans]


def spans_of(frame: Frame | None) -> set[Span]:
    """The slots of a frame as spans; none of no frame."""
    return {(slot.name, slot.start, slot.end) for slot in frame.slots} if frame else set()


def frame_figures(gold: Sequence[Frame], found: Sequence[Frame | None]) -> dict[str, float]:
    """Intent accuracy, joint frame accuracy, slot F1 (micro, whole spans) and the share without a frame, all 0 to 1."""
    pairs = list(zip(gold, found, strict=True))
    right = sum(len(spans_of(want) & spans_of(got)) for want, got in pairs)
    wanted, gotten = (sum(len(spans_of(frame)) for frame in frames) for frames in (gold, found))
    return {
        "slot_f1": round(2 * right / max(1, wanted + gotten), 4),
        "joint_frame_accuracy": round(
            sum(got is not None and got.intent == want.intent and spans_of(got) == spans_of(want) for want, got in pairs)
            / len(pairs),
            4,
        ),
        "intent_accuracy": round(sum(got is not None and got.intent == want.intent for want, got in pairs) / len(pairs), 4),
        "unparsable": round(sum(got is None for got in found) / len(pairs), 4),
    }


def catalog_of(domain: str, frames: Iterable[Frame]) -> TaskCatalog:
    """The tasks that frames ask for, with the slots that were seen."""
    slots: dict[str, set[str]] = {}
    for frame in frames:
        slots.setdefault(frame.intent, set()).update(slot.name for slot in frame.slots)
    return TaskCatalog(
        domain=domain,
        tasks=tuple(
            TaskSchema(
                id=uuid5(NAMESPACE_URL, f"{domain}/{intent}"),
                intent=intent,
                action="answer",
                target=None,
                slots=tuple(SlotSpec(name=name) for name in sorted(names)),
            )
            for intent, names in sorted(slots.items())
        ),
    )
