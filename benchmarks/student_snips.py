"""SNIPS with a tenth of its training rows: frames with slots, written as JSON by a causal student.

The tenth is drawn by seed, the same share of each intent. Arms, in order: ``student1-0``, ``student1-1``: LoRA on the tenth,
two seeds of the adapter. ``student2``: on the tenth and on those frames of the other rows' texts in which both agree (gold
labels are not read). ``valid`` is not read; ``test`` for the figures only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.student_data import catalog_of, frame_figures, snips_split
from benchmarks.student_training import Recipe, first_frames, greedy, labelled, train
from kickwheel.tuning.encoding import FrameEncoder
from kickwheel.tuning.model_adapter import load_tokenizer
from kickwheel.workspace import write_atomically
from schemas.frame import Frame
from schemas.task import TaskCatalog
from schemas.utterance import Utterance

SHARE = 0.1
FIRST = Recipe(epochs=8, rows_per_step=32)
SECOND = Recipe(epochs=3, seed=2)
COPIES = 2
POOL = 6000
"""Texts of the rest that are used, without their labels."""
ARMS = ("student1-0", "student1-1", "student2")


@dataclass
class Snips:
    """One draw of the tenth; every arm is kept in ``work`` and not run again."""

    data: Path
    base: Path
    work: Path
    seed: int
    epochs_scale: float = 1.0
    rows: int | None = None
    """Only so many rows of the rest and of test: to try the script."""

    @cached_property
    def split(self) -> tuple[list[Utterance], list[Utterance]]:
        """The tenth that is paid for, and the rest."""
        rows = snips_split(self.data, "train")
        rng = np.random.default_rng(self.seed)
        chosen: set[int] = set()
        for intent in sorted({_intent(row) for row in rows}):
            mine = [k for k, row in enumerate(rows) if _intent(row) == intent]
            chosen.update(int(k) for k in rng.permutation(mine)[: round(SHARE * len(mine))])
        paid = [_writable(row) for k, row in enumerate(rows) if k in chosen]
        return paid, [row for k, row in enumerate(rows) if k not in chosen][: self.rows or POOL]

    @cached_property
    def test(self) -> list[Utterance]:
        return snips_split(self.data, "test")[: self.rows]

    @cached_property
    def catalog(self) -> TaskCatalog:
        """Of the intents and slots that the tenth shows."""
        return catalog_of("snips", [row.frame for row in self.split[0] if row.frame])

    def run(self, arm: str) -> dict[str, Any]:
        """The figures of an arm, from disk if it was run before."""
        kept = self.work / f"snips-{self.seed}-{arm}.json"
        if kept.is_file():
            return dict(json.loads(kept.read_text(encoding="utf-8")))
        started = time.monotonic()
        paid, rest = self.split
        encoder = FrameEncoder(load_tokenizer(self.base))
        if arm == "student2":
            sure = self.agreed(rest)
            examples = [*labelled(encoder, paid, copies=COPIES), *labelled(encoder, sure)]
            recipe = SECOND
        else:
            sure, examples = [], labelled(encoder, paid)
            recipe = replace(FIRST, seed=int(arm[-1]))
        recipe = replace(recipe, epochs=recipe.epochs * self.epochs_scale, seed=recipe.seed + 10 * self.seed)
        trained = train(examples, recipe, base=self.base, out=self.work / f"snips-{self.seed}-{arm}")
        answers = greedy(self.base, trained.folder, [row.text for row in self.test], self.catalog)
        gold = [row.frame for row in self.test if row.frame]
        said = [frame for frame, _ in answers]
        failed = [k for k, frame in enumerate(said) if frame is None]
        second = first_frames(self.base, trained.folder, [self.test[k].text for k in failed], self.catalog)
        repaired = [second[failed.index(k)] if frame is None else frame for k, frame in enumerate(said)]
        if arm != "student2":
            self.keep(arm, greedy(self.base, trained.folder, [row.text for row in rest], self.catalog))
        figures: dict[str, Any] = {
            "arm": arm,
            "seed": self.seed,
            "human_labels": len(paid),
            "agreed_rows": len(sure),
            **frame_figures(gold, repaired),
            "free": frame_figures(gold, said),
            "training_seconds": round(trained.seconds, 1),
            "trained_tokens": trained.trained_tokens,
            "seconds": round(time.monotonic() - started, 1),
        }
        write_atomically(kept, json.dumps(figures))
        return figures

    def keep(self, arm: str, answers: Sequence[tuple[Frame | None, float]]) -> None:
        lines = [frame.model_dump_json() if frame else "" for frame, _ in answers]
        write_atomically(self.work / f"snips-{self.seed}-{arm}.frames", "\n".join(lines))

    def agreed(self, rest: Sequence[Utterance]) -> list[Utterance]:
        """Texts to which both first students give the same frame, with it."""
        one, other = (
            (self.work / f"snips-{self.seed}-student1-{k}.frames").read_text(encoding="utf-8").split("\n") for k in (0, 1)
        )
        pairs = zip(rest, one, other, strict=True)
        return [row.model_copy(update={"frame": Frame.model_validate_json(a)}) for row, a, b in pairs if a and a == b]


def _intent(row: Utterance) -> str:
    return row.frame.intent if row.frame else ""


def _writable(row: Utterance) -> Utterance:
    """A row whose frame says each slot once, since a JSON object cannot say it twice: of two the first is kept."""
    seen: set[str] = set()
    slots = []
    for slot in row.frame.slots if row.frame else ():
        if slot.name not in seen:
            slots.append(slot)
        seen.add(slot.name)
    return row.model_copy(update={"frame": Frame(intent=_intent(row), slots=tuple(slots))})
