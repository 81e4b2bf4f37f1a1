"""How the student benchmark trains and asks a causal student: the product's trainer, one recipe."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.inference.frame_codec import decode_frame
from kickwheel.tuning.accelerator_adapter import in_bf16
from kickwheel.tuning.encoding import Example, FrameEncoder
from kickwheel.tuning.inprocess_adapter import InProcessStudent
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_adapter
from kickwheel.tuning.ports import TrainedAdapter
from kickwheel.tuning.ranking_adapter import CompletionRanker, shortest_distinct
from kickwheel.tuning.soft_labels_adapter import soft_cross_entropy
from kickwheel.tuning.trainer_adapter import train_adapter
from schemas.frame import Frame
from schemas.task import TaskCatalog
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance

ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
BEAMS = 8
_BEAM_BATCH = 32
CANDIDATES = 3
"""Of a row with a belief: the likeliest intents; the rest is dropped and the shares made to sum to 1."""


@dataclass(frozen=True)
class Recipe:
    """Of one causal training."""

    epochs: float
    rate: float = 4e-4
    rows_per_step: int = 64
    rank: int = 16
    seed: int = 0

    def plan(self, examples: Sequence[Example]) -> LoraPlan:
        """As the product's trainer wants it: the budget holds just these passes."""
        tokens = sum(example.tokens for example in examples)
        return LoraPlan(
            r=self.rank,
            alpha=2 * self.rank,
            target_modules=ALL_LINEAR,
            learning_rate=self.rate,
            batch_size=self.rows_per_step,
            max_tokens=math.ceil(tokens * self.epochs),
            seed=self.seed,
        )


def labelled(encoder: FrameEncoder, rows: Sequence[Utterance], *, copies: int = 1, weight: float = 1.0) -> list[Example]:
    """Rows with one frame each."""
    made = [Example((encoder.sequence(row.text, row.frame),), weight=weight) for row in rows if row.frame is not None]
    return made * copies


def believed(
    encoder: FrameEncoder, texts: Sequence[str], intents: Sequence[str], beliefs: NDArray[np.float64], *, least: float
) -> list[Example]:
    """Rows with a teacher's belief (texts, intents); weighted by the likeliest, left out where that is below ``least``."""
    made = []
    for text, belief in zip(texts, beliefs, strict=True):
        if belief.max() < least:
            continue
        best = [int(k) for k in np.argsort(-belief)[:CANDIDATES] if belief[k] >= 0.02]
        shares = belief[best] / belief[best].sum()
        sequences = tuple(encoder.sequence(text, Frame(intent=intents[k])) for k in best)
        made.append(Example(sequences, target=tuple(float(share) for share in shares), weight=float(belief.max())))
    return made


def train(examples: Sequence[Example], recipe: Recipe, *, base: Path, out: Path) -> TrainedAdapter:
    """An adapter by the product's own trainer; taken up again where a call ended."""
    return train_adapter(
        examples,
        recipe.plan(examples),
        soft_cross_entropy,
        tokenizer=load_tokenizer(base),
        base_path=base,
        out=out,
        parent=None,
        progress=told(out.name),
        objective="soft cross-entropy",
    )


def intent_table(base: Path, adapter: Path, texts: Sequence[str], intents: Sequence[str]) -> NDArray[np.float64]:
    """(texts, intents): the student's probability of each frame among all of them, by the log-probability of its text."""
    tokenizer = load_tokenizer(base)
    encoder = FrameEncoder(tokenizer)
    model = with_adapter(load_base(base, tokenizer), adapter, trainable=False).eval()
    ranker = CompletionRanker(model, shortest_distinct([encoder.completion(Frame(intent=intent)) for intent in intents]))
    with in_bf16(model):
        scores = ranker.scores([encoder.prompt(text) for text in texts], told("ranked"))
    scores -= scores.max(axis=1, keepdims=True)
    table: NDArray[np.float64] = np.exp(scores)
    return table / table.sum(axis=1, keepdims=True)


def greedy(base: Path, adapter: Path, texts: Sequence[str], catalog: TaskCatalog) -> list[tuple[Frame | None, float]]:
    """The student's free greedy answers, and how sure it was of each (0 where it did not say)."""
    import torch

    student = InProcessStudent(base, adapter, catalog, "student", batch_size=512 if torch.cuda.is_available() else 16)
    return [(answer.frame, answer.confidence or 0.0) for answer in student.predict(texts, told("answered"))]


def first_frames(base: Path, adapter: Path, texts: Sequence[str], catalog: TaskCatalog) -> list[Frame | None]:
    """Of each text the likeliest of eight beams that is a frame: decoding that keeps to what can be parsed."""
    import torch

    tokenizer = load_tokenizer(base)
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    model = with_adapter(load_base(base, tokenizer), adapter, trainable=False).eval()
    encoder = FrameEncoder(tokenizer)
    found: list[Frame | None] = []
    for start in range(0, len(texts), _BEAM_BATCH):
        chosen = texts[start : start + _BEAM_BATCH]
        batch = tokenizer.pad({"input_ids": [list(encoder.prompt(text)) for text in chosen]}, return_tensors="pt")
        with torch.inference_mode():
            written = model.generate(
                **batch.to(model.device),
                max_new_tokens=96,
                num_beams=BEAMS,
                num_return_sequences=BEAMS,
                do_sample=False,
                eos_token_id=encoder.end_of_turn,
                pad_token_id=tokenizer.pad_token_id,
            )
        replies = tokenizer.batch_decode(written[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        for k, text in enumerate(chosen):
            beams = (decode_frame(text, reply, catalog).frame for reply in replies[BEAMS * k : BEAMS * (k + 1)])
            found.append(next((frame for frame in beams if frame is not None), None))
    return found


def told(what: str, every_s: float = 10.0) -> Any:
    """Progress on stderr, at most every few seconds."""
    last = time.monotonic()

    def progress(done: int, of: int) -> None:
        nonlocal last
        if done == of or time.monotonic() - last >= every_s:
            last = time.monotonic()
            print(f"{what} {done} of {of}", file=sys.stderr, flush=True)

    return progress
