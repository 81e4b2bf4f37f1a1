"""The encoder student: batches known before, rows that are refused, a real fine-tuning of a tiny encoder."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kickwheel.errors import StageFailed
from kickwheel.tuning.encoder import EncoderPlan, Head, SoftRows
from kickwheel.tuning.encoder_adapter import EncoderClassifier, TorchEncoderTrainer
from kickwheel.tuning.encoder_batches import plan_batches

LABELLED = ["sync orders", "fetch logs", "订单同步", "日志"]
POOL = ["sync the orders", "fetch the logs", "昨天订单", "昨天日志", "orders", "logs"]
BELIEFS = np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])
PLAN = EncoderPlan(epochs=12, batch_size=4, learning_rate=5e-3, seed=1)


def rows(beliefs: np.ndarray = BELIEFS) -> SoftRows:
    return SoftRows.of(LABELLED, [0, 1, 0, 1], 2, POOL[: len(beliefs)], beliefs)


def train(base: Path, plan: EncoderPlan = PLAN, found: SoftRows | None = None, width: int = 32) -> EncoderClassifier:
    return TorchEncoderTrainer().train(found or rows(), plan, base=base, head=Head(np.zeros((width, 2)), np.zeros(2)))


def test_beliefs_are_sharpened_and_weighted_by_the_likeliest() -> None:
    found = rows()
    assert found.targets[4] == pytest.approx([0.81 / 0.82, 0.01 / 0.82], abs=1e-6)
    assert found.weights[4] == pytest.approx(0.81 / 0.82)
    assert found.weights[:4].tolist() == [1, 1, 1, 1]
    assert found.labelled.sum() == 4
    assert len(rows(np.empty((0, 2))).texts) == 4


def test_rows_that_teach_nothing_are_refused() -> None:
    with pytest.raises(StageFailed, match="no numbers"):
        rows(np.full((6, 2), np.nan))
    with pytest.raises(StageFailed, match="at least one row"):
        replace(rows(), weights=np.zeros(10, dtype=np.float32))
    with pytest.raises(StageFailed, match="one target, one weight and one mark"):
        replace(rows(), texts=["only one"])


def batches(plan: EncoderPlan, labelled: int = 20, others: int = 90) -> list[np.ndarray]:
    lengths = np.random.default_rng(0).integers(3, 40, size=labelled + others).tolist()
    weights = np.ones(labelled + others, dtype=np.float32)
    weights[-1] = 0
    return plan_batches(lengths, np.arange(labelled + others) < labelled, weights, plan)


def test_each_batch_holds_its_share_of_labelled_rows() -> None:
    plan = EncoderPlan(epochs=4, batch_size=12, labelled_share=0.25)
    found = batches(plan)
    assert len(found) == 40  # four passes over 89 rows, nine in a batch
    assert {(int((batch < 20).sum()), len(batch)) for batch in found} == {(3, 12)}
    seen = Counter(np.concatenate(found).tolist())
    assert 109 not in seen
    assert len(batches(replace(plan, max_steps=7))) == 7
    assert len(batches(replace(plan, max_steps=70))) == 40
    assert {seen[row] for row in range(20, 109)} <= {3, 4, 5}
    assert max(seen[row] for row in range(20)) - min(seen[row] for row in range(20)) <= 1
    assert [batch.tolist() for batch in found] == [batch.tolist() for batch in batches(plan)]
    assert [batch.tolist() for batch in found] != [batch.tolist() for batch in batches(replace(plan, seed=1))]


@pytest.mark.parametrize(("labelled", "others", "steps"), [(20, 1, 5), (0, 21, 5), (3, 1, 1)])
def test_rows_of_one_kind_fill_the_batches_alone(labelled: int, others: int, steps: int) -> None:
    found = batches(EncoderPlan(epochs=2, batch_size=8), labelled, others)
    assert len(found) == steps
    assert {len(batch) for batch in found} == {8}


@pytest.mark.parametrize("plan", [PLAN, replace(PLAN, lora_rank=8, learning_rate=2e-2, epochs=40)], ids=["whole", "lora"])
def test_encoder_learns_what_it_is_shown(tiny_encoder: Path, plan: EncoderPlan) -> None:
    model = train(tiny_encoder, plan)
    table = model.probabilities([*LABELLED, *POOL[:4]])
    assert table.sum(axis=1) == pytest.approx(1)
    assert table.argmax(axis=1).tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    alone = model.probabilities([POOL[3]])[0]
    assert alone == pytest.approx(table[7], abs=0.02)  # bf16: a batch of another length rounds otherwise
    assert model.probabilities([]).shape == (0, 2)


def test_frozen_parts_stay_as_they_are(tiny_encoder: Path) -> None:
    from kickwheel.embedding.encoder_adapter import load_encoder

    before = dict(load_encoder(tiny_encoder).named_parameters())
    after = train(tiny_encoder, replace(PLAN, epochs=1, frozen_layers=1)).encoder.named_parameters()
    changed = {name for name, parameter in after if not parameter.equal(before[name])}
    assert {name.split(".")[0] for name in changed} == {"encoder"}
    assert {name.split(".")[2] for name in changed} == {"1"}


def test_training_repeats_under_a_seed_and_tells_its_steps(tiny_encoder: Path) -> None:
    steps: list[tuple[int, int]] = []
    head = Head(np.zeros((32, 2)), np.zeros(2))
    first = TorchEncoderTrainer().train(rows(), PLAN, base=tiny_encoder, head=head, progress=lambda *step: steps.append(step))
    assert steps[0] == (1, 24)
    assert steps[-1] == (24, 24)
    assert first.probabilities(POOL).tolist() == train(tiny_encoder).probabilities(POOL).tolist()


def test_head_of_another_width_and_a_rate_that_explodes_are_told(tiny_encoder: Path) -> None:
    with pytest.raises(StageFailed, match="vectors of 8 numbers does not fit an encoder of 32"):
        train(tiny_encoder, width=8)
    with pytest.raises(StageFailed, match=r"the loss of step \d+ is nan: lower the learning rate 1e\+30"):
        train(tiny_encoder, replace(PLAN, learning_rate=1e30))
