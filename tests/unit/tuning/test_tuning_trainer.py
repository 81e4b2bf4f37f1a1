"""Training on a tiny random model: what carries loss, what it costs, how it survives being killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from kickwheel.errors import StageFailed
from kickwheel.testing.instant_trainer import write_untrained_adapter
from kickwheel.tuning.batch_adapter import collate
from kickwheel.tuning.encoding import Example, FrameEncoder, TokenSequence
from kickwheel.tuning.loop_adapter import last_checkpoint
from kickwheel.tuning.model_adapter import load_base, load_tokenizer
from kickwheel.tuning.ports import TrainedAdapter
from kickwheel.tuning.preflight import check_adapter
from kickwheel.tuning.trainer_adapter import PeftTrainer, token_cross_entropy, train_adapter
from schemas.tuning import LoraPlan
from tests.unit.tuning.lora_run import PLAN, rows

ROOT = Path(__file__).resolve().parents[3]
SHORT = PLAN.model_copy(update={"max_tokens": 2_000})


def train(base: Path, out: Path, plan: LoraPlan = SHORT, parent: Path | None = None) -> TrainedAdapter:
    return PeftTrainer().train(rows(), plan, base_path=base, out=out, parent=parent)


def weights(folder: Path) -> dict[str, bytes]:
    return {name: tensor.tobytes() for name, tensor in load_file(folder / "adapter_model.safetensors").items()}


def as_item(*sequences: tuple[list[int], list[int]]) -> dict[str, object]:
    made = [{"prompt": prompt, "completion": completion} for prompt, completion in sequences]
    return {"sequences": made, "target": [1.0] * len(made), "weight": 1.0}


def test_loss_is_on_the_completion_only() -> None:
    batch = collate([as_item(([1, 2, 3], [4, 5])), as_item(([6, 7], [8, 9, 10, 11]))], pad=0)
    assert batch["input_ids"].tolist() == [[1, 2, 3, 4, 5, 0], [6, 7, 8, 9, 10, 11]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
    # the last four positions; the first row's third prompt token and its padding carry no loss
    assert batch["labels"].tolist() == [[-100, 4, 5, -100], [8, 9, 10, 11]]


def test_loss_equals_the_one_computed_over_whole_logits(tiny_base: Path) -> None:
    import torch

    tokenizer = load_tokenizer(tiny_base)
    model = load_base(tiny_base, tokenizer).float().eval()
    encoder = FrameEncoder(tokenizer)
    sequences = [encoder.labelled(row).sequences[0] for row in rows(3)]
    items = [as_item((list(sequence.prompt), list(sequence.completion))) for sequence in sequences]
    with torch.no_grad():
        loss = token_cross_entropy(model, collate(items, pad=0))
        total, count = 0.0, 0
        for sequence in sequences:  # one by one, without padding
            ids = torch.tensor([[*sequence.prompt, *sequence.completion]])
            logprobs = model(input_ids=ids).logits.float().log_softmax(-1)[0, len(sequence.prompt) - 1 : -1]
            total -= logprobs.gather(1, torch.tensor(sequence.completion)[:, None]).sum().item()
            count += len(sequence.completion)
    assert loss.item() == pytest.approx(total / count, rel=1e-4)


def test_training_spends_the_budget_and_writes_an_adapter_that_vllm_takes(tiny_base: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    trained = PeftTrainer().train(
        rows(), SHORT, base_path=tiny_base, out=tmp_path / "a", progress=lambda done, total: seen.append((done, total))
    )
    assert SHORT.max_tokens - 2 * 200 < trained.trained_tokens <= SHORT.max_tokens
    assert seen == [(step + 1, len(seen)) for step in range(len(seen))]
    assert trained.losses[-1].tokens == trained.trained_tokens
    assert trained.losses[-1].loss < trained.losses[0].loss
    check_adapter(trained.folder, max_lora_rank=16)
    assert {name.rsplit(".", 2)[1] for name in weights(trained.folder)} == {"lora_A", "lora_B"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.training.json"]


def test_same_seed_gives_the_same_weights(tiny_base: Path, tmp_path: Path) -> None:
    first, second = (weights(train(tiny_base, tmp_path / name).folder) for name in "ab")
    other = weights(train(tiny_base, tmp_path / "c", SHORT.model_copy(update={"seed": 6})).folder)
    assert first == second
    assert first != other


def test_finished_training_is_not_done_again(tiny_base: Path, tmp_path: Path) -> None:
    first = train(tiny_base, tmp_path / "a")
    written = (tmp_path / "a" / "adapter_model.safetensors").stat().st_mtime_ns
    assert train(tiny_base, tmp_path / "a") == first
    assert (tmp_path / "a" / "adapter_model.safetensors").stat().st_mtime_ns == written
    again = train(tiny_base, tmp_path / "a", SHORT.model_copy(update={"learning_rate": 1e-3}))
    assert weights(again.folder) != {}
    assert again.losses != first.losses


def test_parent_adapter_goes_on(tiny_base: Path, tmp_path: Path) -> None:
    parent = train(tiny_base, tmp_path / "parent").folder
    gentle = SHORT.model_copy(update={"learning_rate": 1e-9, "warmup_share": 0.0})
    child = load_file(train(tiny_base, tmp_path / "child", gentle, parent).folder / "adapter_model.safetensors")
    for name, tensor in load_file(parent / "adapter_model.safetensors").items():
        assert child[name] == pytest.approx(tensor, abs=1e-6)
        assert abs(tensor).max() > 0


@pytest.mark.parametrize("change", [{"r": 4}, {"alpha": 8}, {"target_modules": ["q_proj"]}])
def test_parent_of_another_shape_is_refused(tiny_base: Path, tmp_path: Path, change: dict[str, object]) -> None:
    config = json.loads((tiny_base / "config.json").read_text())
    write_untrained_adapter(tmp_path / "parent", config, LoraPlan.model_validate({**LoraPlan().model_dump(), **change}))
    with pytest.raises(StageFailed, match=f"it has {next(iter(change))}"):
        train(tiny_base, tmp_path / "child", parent=tmp_path / "parent")


def test_parent_of_another_base_is_refused(tiny_base: Path, tmp_path: Path) -> None:
    config = {**json.loads((tiny_base / "config.json").read_text()), "hidden_size": 64}
    write_untrained_adapter(tmp_path / "parent", config, LoraPlan())
    with pytest.raises(StageFailed, match="does not fit the base"):
        train(tiny_base, tmp_path / "child", parent=tmp_path / "parent")


def test_loss_that_is_no_number_stops_the_training(tiny_base: Path, tmp_path: Path) -> None:
    def broken(model: object, batch: dict[str, object]) -> object:
        return token_cross_entropy(model, batch) * float("nan")  # type: ignore[arg-type]

    example = Example((TokenSequence((1, 2, 3), (4, 5)),))
    tokenizer = load_tokenizer(tiny_base)
    with pytest.raises(StageFailed, match="loss of step 1 is nan"):
        train_adapter(
            [example] * 4,
            SHORT,
            broken,  # type: ignore[arg-type]
            tokenizer=tokenizer,
            base_path=tiny_base,
            out=tmp_path / "a",
            parent=None,
        )
    assert not (tmp_path / "a").exists()


def checkpoint_of(out: Path) -> Path | None:
    (work,) = out.parent.glob(f".{out.name}.*")
    return last_checkpoint(work)


def test_training_killed_midway_ends_in_the_weights_of_an_undisturbed_one(tiny_base: Path, tmp_path: Path) -> None:
    undisturbed = train(tiny_base, tmp_path / "whole", PLAN)
    command = [sys.executable, "-m", "tests.unit.tuning.lora_run", str(tiny_base), str(tmp_path / "killed"), "15"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    checkpoint = checkpoint_of(tmp_path / "killed")
    assert checkpoint is not None
    torn = checkpoint.with_name("checkpoint-999")  # a checkpoint that the kill left half written
    torn.mkdir()
    (torn / "trainer_state.json").write_text("{")
    steps: list[int] = []
    resumed = PeftTrainer().train(
        rows(), PLAN, base_path=tiny_base, out=tmp_path / "killed", progress=lambda done, total: steps.append(done)
    )
    assert steps[0] > 10  # it did not begin anew
    assert weights(resumed.folder) == weights(undisturbed.folder)
    assert resumed.trained_tokens == undisturbed.trained_tokens
    assert [point.step for point in resumed.losses] == [point.step for point in undisturbed.losses]


@pytest.mark.parametrize("last", [False, True])
def test_sigterm_leaves_a_checkpoint_that_is_taken_up_again(tiny_base: Path, tmp_path: Path, last: bool) -> None:
    """NovaSky-AI/SkyRL 1516: after SIGTERM the checkpoint is whole, and the caller hears of the signal."""
    undisturbed = train(tiny_base, tmp_path / "whole")
    stopped_at: list[int] = []

    def terminate(done: int, total: int) -> None:
        if done == (total if last else 3):
            stopped_at.append(done)
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as stopped:
        PeftTrainer().train(rows(), SHORT, base_path=tiny_base, out=tmp_path / "a", progress=terminate)
    assert stopped.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    assert not (tmp_path / "a").exists()
    checkpoint = checkpoint_of(tmp_path / "a")
    assert checkpoint is not None
    assert checkpoint.name == f"checkpoint-{stopped_at[0]}"
    check_adapter(checkpoint, max_lora_rank=16)
    assert weights(train(tiny_base, tmp_path / "a").folder) == weights(undisturbed.folder)


def test_sigterm_reaches_who_was_to_hear_of_it_before(tiny_base: Path, tmp_path: Path) -> None:
    class Terminated(BaseException):
        pass

    def handler(number: int, frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(Terminated):
            PeftTrainer().train(
                rows(),
                SHORT,
                base_path=tiny_base,
                out=tmp_path / "a",
                progress=lambda done, total: os.kill(os.getpid(), signal.SIGTERM),
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert checkpoint_of(tmp_path / "a") is not None
