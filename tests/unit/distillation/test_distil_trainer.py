"""Distillation on the tiny random model: the student moves where the targets say, from where the champion stood."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file

from kickwheel.distillation.distil_adapter import PeftDistiller, case_example
from kickwheel.errors import StageFailed
from kickwheel.settings import DistillationSettings
from kickwheel.tuning.batch_adapter import collate, completion_logprobs
from kickwheel.tuning.encoding import FrameEncoder
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_adapter
from kickwheel.tuning.ports import TrainedAdapter
from schemas.feedback import CandidateTarget, DistillationRow
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.tuning import LoraPlan
from tests.unit.tuning.lora_run import rows as old_rows

TEXT = "sync orders of monday"
FRAMES = (Frame(intent=OUT_OF_SCOPE), Frame(intent="sync_invoices"), Frame(intent="fetch_orders"))
"""Of about one length: a random model's score is little more than the length."""
PLAN = LoraPlan(batch_size=2, learning_rate=1e-2, max_tokens=12_000, seed=3)
SHORT = PLAN.model_copy(update={"max_tokens": 3_000})
"""Enough to tell trainings apart, not to have learnt."""


def case(name: str, *, favourite: int) -> DistillationRow:
    candidates = tuple(
        CandidateTarget(frame=frame, fused=0.0, teacher=None, target=0.9 if index == favourite else 0.05)
        for index, frame in enumerate(FRAMES)
    )
    return DistillationRow(case=name, text=TEXT, candidates=candidates, weight=0.75)


def distil(base: Path, champion: Path, out: Path, favourite: int, hard: float = 0.0, plan: LoraPlan = PLAN) -> TrainedAdapter:
    settings = DistillationSettings(hard_label_weight=hard, replay_share=0.3)
    rows = [case(f"c{index}", favourite=favourite) for index in range(6)]
    return PeftDistiller().distil(rows, old_rows(), plan, settings, base_path=base, parent=champion, out=out)


def probabilities(base: Path, adapter: Path) -> list[float]:
    """The student's posterior over the closed set."""
    import torch

    tokenizer = load_tokenizer(base)
    model = with_adapter(load_base(base, tokenizer), adapter, trainable=False).eval()
    example = case_example(case("c", favourite=1), FrameEncoder(tokenizer))
    sequences = [{"prompt": item.prompt, "completion": item.completion} for item in example.sequences]
    item = {"sequences": sequences, "target": example.target, "weight": 1.0}
    with torch.no_grad():
        logprobs, _ = completion_logprobs(model, collate([item], pad=0))
    shares: list[float] = logprobs.sum(dim=1).softmax(dim=0).tolist()
    return shares


@pytest.mark.parametrize("favourite", [1, 2])
def test_probability_moves_towards_the_target_candidate(base: Path, champion: Path, tmp_path: Path, favourite: int) -> None:
    before = probabilities(base, champion)
    trained = distil(base, champion, tmp_path / "a", favourite)
    after = probabilities(base, trained.folder)
    assert after[favourite] > before[favourite]
    assert after[favourite] == max(after)
    assert trained.trained_tokens <= PLAN.max_tokens


def test_budget_counts_every_candidate(base: Path, champion: Path, tmp_path: Path) -> None:
    encoder = FrameEncoder(load_tokenizer(base))
    example = case_example(case("c", favourite=1), encoder)
    assert example.tokens == sum(len(item.prompt) + len(item.completion) for item in example.sequences)
    assert example.tokens > 3 * len(encoder.prompt(TEXT))
    assert example.target == (0.05, 0.9, 0.05)


def test_it_starts_from_the_champion_and_is_reproducible(base: Path, champion: Path, tmp_path: Path) -> None:
    first, second = (distil(base, champion, tmp_path / name, 1, plan=SHORT).folder for name in "ab")
    tensors, again = (load_file(folder / "adapter_model.safetensors") for folder in (first, second))
    started = load_file(champion / "adapter_model.safetensors")
    assert tensors.keys() == started.keys()
    for name, tensor in tensors.items():
        assert (tensor == again[name]).all()
    name = next(name for name in started if "lora_A" in name)
    # A moved from the champion's, and has not been drawn anew
    assert not (tensors[name] == started[name]).all()
    assert abs(tensors[name] - started[name]).mean() < 2 * abs(started[name]).mean() + 0.1


def test_other_loss_settings_are_another_training(base: Path, champion: Path, tmp_path: Path) -> None:
    soft = distil(base, champion, tmp_path / "a", 1, hard=0.0, plan=SHORT).losses
    assert distil(base, champion, tmp_path / "a", 1, hard=1.0, plan=SHORT).losses != soft


def test_nothing_to_distil_is_refused(base: Path, champion: Path, tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="nothing to distil"):
        PeftDistiller().distil(
            [], old_rows(), PLAN, DistillationSettings(), base_path=base, parent=champion, out=tmp_path / "a"
        )
