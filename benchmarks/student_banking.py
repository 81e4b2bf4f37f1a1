"""BANKING77 at 770 labels: what a linear probe, a fine-tuned encoder and a causal student make of the same labels.

Arms of a label seed, in order. ``labels``: which rows are paid for (margin, as :mod:`benchmarks.labels`), and the probe with
and without self-training. ``encoder0``: fine-tuned on the labels alone. ``encoder1-K``: on the labels and the probe's beliefs
about the rest, K of 0, 1 (order of the rows). ``causal1``: LoRA on the labels and the mean belief of probe and encoders.
``causal2``: the same with ``causal1`` among the teachers. ``encoder2``: taught by the same. No arm reads a label of ``test`` or
``valid``, nor of a pool row that was not paid for.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.few_shot_data import SHOTS, Reviewer, Split, read_split, seed_rows
from benchmarks.label_students import ROUNDS, Pool, acquire, fit_probe
from benchmarks.student_data import catalog_of, slug
from benchmarks.student_training import Recipe, believed, greedy, intent_table, labelled, told, train
from kickwheel.embedding.encoder_folder_adapter import ensure_encoder
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.probe.embedding_probe import SelfTraining
from kickwheel.tuning.encoder import EncoderPlan, Head, SoftRows
from kickwheel.tuning.encoding import FrameEncoder
from kickwheel.tuning.model_adapter import load_tokenizer
from kickwheel.workspace import write_atomically
from schemas.frame import Frame
from schemas.utterance import Utterance

Table = NDArray[np.float64]
BUDGET = 770
CAUSAL1 = Recipe(epochs=3)
CAUSAL2 = Recipe(epochs=4, seed=1)
LEAST = 0.25
"""Of the teacher's belief in the likeliest intent; below it a row of the pool is left out of the causal student's training."""
ENCODERS = ("encoder1-0", "encoder1-1")
ARMS = ("labels", "encoder0", *ENCODERS, "causal1", "causal2", "encoder2")


@dataclass
class Banking:
    """One label seed of the comparison; every arm is kept in ``work`` and not run again."""

    data: Path
    base: Path
    embedder: str
    work: Path
    seed: int
    epochs_scale: float = 1.0
    rows: int | None = None
    """Only so many rows of pool and test: to try the script."""

    @cached_property
    def train(self) -> Split:
        return read_split(self.data, "train")

    @cached_property
    def test(self) -> Split:
        return read_split(self.data, "test")

    @cached_property
    def intents(self) -> list[str]:
        return sorted(set(self.train.labels))

    @property
    def names(self) -> list[str]:
        return [intent.replace("_", " ").replace("?", "") for intent in self.intents]

    @cached_property
    def paid(self) -> dict[int, str]:
        return {int(row): self.train.labels[int(row)] for row in self.tables("labels")["rows"]}

    @cached_property
    def rest(self) -> NDArray[np.intp]:
        rest = np.array([row for row in range(len(self.train.texts)) if row not in self.paid], dtype=np.intp)
        return rest[: self.rows]

    @property
    def asked(self) -> list[str]:
        return self.test.texts[:: self.every]

    @property
    def gold(self) -> list[str]:
        return self.test.labels[:: self.every]

    @property
    def every(self) -> int:
        """Test rows are in order of their intents: fewer are taken evenly."""
        return 1 if self.rows is None else max(1, len(self.test.texts) // self.rows)

    def run(self, arm: str) -> dict[str, Any]:
        """The figures of an arm, from disk if it was run before."""
        kept = self.place(arm, "json")
        if kept.is_file():
            return dict(json.loads(kept.read_text(encoding="utf-8")))
        make: dict[str, Callable[[], dict[str, Any]]] = {"labels": self.labels, "encoder0": self.encoder0}
        started = time.monotonic()
        figures = make[arm]() if arm in make else self.taught(arm)
        figures = {"arm": arm, "seed": self.seed, **figures, "seconds": round(time.monotonic() - started, 1)}
        write_atomically(kept, json.dumps(figures))
        return figures

    def place(self, arm: str, ending: str) -> Path:
        return self.work / f"banking-{self.seed}-{arm}.{ending}"

    def tables(self, arm: str) -> dict[str, Any]:
        """``pool`` and ``test`` beliefs of a finished arm."""
        with np.load(self.place(arm, "npz"), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    def keep(self, arm: str, **tables: Any) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(self.place(arm, "npz"), **tables)

    def accuracy(self, table: Table) -> float:
        found = table.argmax(axis=1)
        return round(float(np.mean([self.intents[k] == want for k, want in zip(found, self.gold, strict=True)])), 5)

    def labels(self) -> dict[str, Any]:
        embedder = open_embedder(self.embedder, self.work, told("embedded"))
        vectors, names = embedder.embed(self.train.texts), embedder.embed(self.names)
        pool = Pool(self.train.texts, vectors, self.intents, self.names, names)
        reviewer = Reviewer(self.train.labels)
        reviewer.label(seed_rows(self.data, self.train, self.seed, SHOTS))
        probe = fit_probe(pool, reviewer.asked, SelfTraining())
        for left in range(ROUNDS, 0, -1):
            more = round((BUDGET - reviewer.human_labels) / left)
            reviewer.label(acquire(pool, reviewer.asked, more, probe, strategy="margin", entropy_weight=0.0, seed=self.seed))
            probe = fit_probe(pool, reviewer.asked, SelfTraining())
        alone = fit_probe(pool, reviewer.asked, SelfTraining(weight=0.0))
        self.keep(
            "labels",
            rows=np.array(list(reviewer.asked)),
            pool=probe.probabilities(pool.vectors[pool.rest(reviewer.asked)]).astype(np.float32),
            test=probe.probabilities(embedder.embed(self.asked)).astype(np.float32),
            weights=probe.weights,
            biases=probe.biases,
            alone_weights=alone.weights,
            alone_biases=alone.biases,
        )
        return {
            "human_labels": reviewer.human_labels,
            "accuracy": self.accuracy(probe.probabilities(embedder.embed(self.asked))),
            "accuracy_without_self_training": self.accuracy(alone.probabilities(embedder.embed(self.asked))),
        }

    def encoder0(self) -> dict[str, Any]:
        kept = self.tables("labels")
        rows = self.soft_rows(np.zeros((0, len(self.intents))), [])
        plan = replace(EncoderPlan(), epochs=30.0 * self.epochs_scale, seed=self.seed)
        return self.encoder("encoder0", rows, plan, Head(kept["alone_weights"], kept["alone_biases"]))

    def taught(self, arm: str) -> dict[str, Any]:
        first = list(ENCODERS)
        if arm in first:
            plan = replace(EncoderPlan(), seed=10 * self.seed + int(arm[-1]), epochs=EncoderPlan.epochs * self.epochs_scale)
            return self.encoder(arm, self.soft_rows(self.belief(["labels"])), plan)
        if arm == "causal1":
            return self.causal(arm, self.belief(["labels"], first), CAUSAL1)
        fused = self.belief(["labels"], first, ["causal1"])
        if arm == "causal2":
            return self.causal(arm, fused, CAUSAL2)
        plan = replace(EncoderPlan(), seed=10 * self.seed, epochs=EncoderPlan.epochs * self.epochs_scale)
        return self.encoder(arm, self.soft_rows(fused), plan)

    def belief(self, *groups: list[str], what: str = "pool") -> Table:
        """Mean over groups of the mean over their arms."""
        until = self.rows if what == "pool" else None
        means = [np.mean([self.tables(arm)[what][:until] for arm in group], axis=0) for group in groups]
        table: Table = np.mean(means, axis=0).astype(np.float64)
        return table

    def soft_rows(self, beliefs: Table, texts: list[str] | None = None) -> SoftRows:
        column = {intent: k for k, intent in enumerate(self.intents)}
        return SoftRows.of(
            [*(self.train.texts[row] for row in self.paid), *self.names],
            [*(column[intent] for intent in self.paid.values()), *range(len(self.intents))],
            len(self.intents),
            [self.train.texts[row] for row in self.rest] if texts is None else texts,
            beliefs,
        )

    def encoder(self, arm: str, rows: SoftRows, plan: EncoderPlan, head: Head | None = None) -> dict[str, Any]:
        from kickwheel.tuning.encoder_adapter import TorchEncoderTrainer

        kept = self.tables("labels")
        head = head or Head(kept["weights"], kept["biases"])
        base = ensure_encoder(self.embedder)
        model = TorchEncoderTrainer().train(rows, plan, base=base, head=head, progress=told(arm))
        test = model.probabilities(self.asked)
        pool = model.probabilities([self.train.texts[row] for row in self.rest])
        self.keep(arm, pool=pool.astype(np.float32), test=test.astype(np.float32))
        return {"accuracy": self.accuracy(test)}

    def causal(self, arm: str, beliefs: Table, recipe: Recipe) -> dict[str, Any]:
        recipe = replace(recipe, epochs=recipe.epochs * self.epochs_scale, seed=recipe.seed + 10 * self.seed)
        encoder = FrameEncoder(load_tokenizer(self.base))
        intents = [slug(intent) for intent in self.intents]
        frames = [(self.train.texts[row], slug(label)) for row, label in self.paid.items()]
        rows = [*zip(self.names, intents, strict=True)]
        texts = [self.train.texts[row] for row in self.rest]
        examples = [
            *labelled(encoder, [_row(text, intent) for text, intent in frames], copies=2),
            *labelled(encoder, [_row(text, intent) for text, intent in rows]),
            *believed(encoder, texts, intents, _sharpened(beliefs), least=LEAST),
        ]
        trained = train(examples, recipe, base=self.base, out=self.work / f"banking-{self.seed}-{arm}")
        test = intent_table(self.base, trained.folder, self.asked, intents)
        print(f"{arm} seed {self.seed}: {self.accuracy(test):.4f}", file=sys.stderr, flush=True)
        pool = intent_table(self.base, trained.folder, texts, intents) if arm == "causal1" else np.zeros((0, 0))
        self.keep(arm, pool=pool.astype(np.float32), test=test.astype(np.float32))
        catalog = catalog_of("banking", [Frame(intent=intent) for intent in intents])
        free = greedy(self.base, trained.folder, self.asked, catalog)
        others = self.belief(["labels"], list(ENCODERS), what="test")
        said = [frame.intent if frame else None for frame, _ in free]
        gold = [slug(label) for label in self.gold]
        return {
            "accuracy": self.accuracy(test),
            "unparsable": 0.0,
            "free_accuracy": round(float(np.mean([one == want for one, want in zip(said, gold, strict=True)])), 5),
            "free_unparsable": round(said.count(None) / len(said), 5),
            "fused_with_teachers": self.accuracy(test + others),
            "training_seconds": round(trained.seconds, 1),
            "trained_tokens": trained.trained_tokens,
            "examples": len(examples),
        }


def _row(text: str, intent: str) -> Utterance:
    return Utterance(id=text[:40], text=text, language="en", frame=Frame(intent=intent))


def _sharpened(beliefs: Table) -> Table:
    """Squared and made to sum to 1 again, as the encoder's targets."""
    soft = beliefs**2
    return np.asarray(soft / soft.sum(axis=1, keepdims=True))
