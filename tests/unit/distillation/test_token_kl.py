"""Token-level distillation on tiny random models: the loss by hand, the pull towards the teacher, and who is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from kickwheel.distillation.distil_adapter import PeftDistiller, case_example
from kickwheel.distillation.token_kl_adapter import FrozenTeacher, token_kl
from kickwheel.distillation.token_teacher_adapter import find_token_teacher, teacher_contents, tokenizer_hash
from kickwheel.domain import load_domain, scaffold_domain
from kickwheel.errors import InputError, ModelUnavailable
from kickwheel.lineage import stage_inputs
from kickwheel.settings import DistillationSettings, get_settings
from kickwheel.testing.sample_report import sample_report
from kickwheel.tuning.batch_adapter import collate, completion_logits, completion_logprobs
from kickwheel.tuning.encoding import FrameEncoder
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_adapter
from kickwheel.tuning.ports import Progress
from kickwheel.workspace import open_lap
from schemas.feedback import CandidateTarget, DistillationRow, TokenTeacher
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.tuning import LoraPlan
from tests.tiny_model import write_tiny_model
from tests.unit.tuning.lora_run import rows as old_rows

FRAMES = (Frame(intent=OUT_OF_SCOPE), Frame(intent="sync_invoices"))
PLAN = LoraPlan(
    batch_size=2, learning_rate=2e-2, max_tokens=3_000, target_modules=("q_proj", "k_proj", "v_proj", "o_proj"), seed=3
)
ON = DistillationSettings(token_kl=1.0)


@pytest.fixture(scope="module")
def other(base: Path) -> Path:
    """A teacher of other weights and with more padding: the same tokens, other vocabulary sizes."""
    return write_tiny_model(base.parent / "teacher", seed=1, padding=38)


@pytest.fixture(scope="module")
def teacher(base: Path, other: Path) -> TokenTeacher:
    settings = ON.model_copy(update={"token_teacher": str(other)})
    found = find_token_teacher(settings, base_path=base, home=base.parent)
    assert found is not None
    return found


def case(name: str) -> DistillationRow:
    shares = (0.8, 0.2)
    candidates = tuple(
        CandidateTarget(frame=frame, fused=0.0, teacher=None, target=share) for frame, share in zip(FRAMES, shares, strict=True)
    )
    return DistillationRow(case=name, text="sync orders of monday", candidates=candidates, weight=0.75)


def distil(
    base: Path,
    champion: Path,
    out: Path,
    settings: DistillationSettings,
    teacher: TokenTeacher | None = None,
    progress: Progress | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """The weights that come of six cases and old rows."""
    rows = [case(f"c{index}") for index in range(6)]
    trained = PeftDistiller().distil(
        rows, old_rows(), PLAN, settings, base_path=base, parent=champion, out=out, progress=progress, token_teacher=teacher
    )
    weights: dict[str, np.ndarray[Any, Any]] = load_file(trained.folder / "adapter_model.safetensors")
    return weights


@pytest.fixture(scope="module")
def plain(base: Path, champion: Path) -> Path:
    """Distilled over whole frames alone."""
    distil(base, champion, base.parent / "plain", DistillationSettings())
    return base.parent / "plain"


def alike(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Bit for bit."""
    return left.keys() == right.keys() and all((left[name] == right[name]).all() for name in left)


def by_hand(student: Any, teacher: Any, temperature: float) -> float:
    """T^2 * KL of one token, in float64."""

    def softened(logits: Any) -> Any:
        powers = np.exp((logits - logits.max()) / temperature)
        return powers / powers.sum()

    q, p = softened(teacher.astype(np.float64)), softened(student.astype(np.float64))
    return float(temperature**2 * (q * np.log(q / p)).sum())


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("columns", [5, 7])
def test_term_is_what_numpy_finds(temperature: float, columns: int) -> None:
    # a case (weight 0.5, targets 0.9 and 0.1) with completions of 2 and 3 tokens, and an old row with one of 1 token
    rng = np.random.default_rng(4)
    student, teacher = rng.normal(0, 2, (3, 3, 5)).astype(np.float32), rng.normal(0, 2, (3, 3, columns)).astype(np.float32)
    labels = torch.tensor([[-100, 1, 2], [0, 1, 3], [-100, -100, 4]])
    batch = {
        "labels": labels,
        "example": torch.tensor([0, 0, 1]),
        "target": torch.tensor([0.9, 0.1, 1.0]),
        "weight": torch.tensor([0.5, 1.0]),
    }
    total = count = 0.0
    for row, weight in enumerate((0.45, 0.05, 1.0)):
        for place in range(3):
            if labels[row, place] != -100:
                total += weight * by_hand(student[row, place], teacher[row, place, :5], temperature)
                count += weight
    found = token_kl(torch.from_numpy(student), torch.from_numpy(teacher), batch, temperature=temperature)
    assert found.item() == pytest.approx(total / count, rel=1e-5)


def test_gradient_is_that_of_hinton_and_zero_where_student_and_teacher_agree() -> None:
    batch = {"labels": torch.tensor([[0]]), "example": torch.tensor([0]), "target": torch.ones(1), "weight": torch.ones(1)}
    student, teacher = torch.tensor([[[1.0, 0.0, -2.0]]], requires_grad=True), torch.tensor([[[0.0, 1.0, 0.5]]])
    token_kl(student, teacher, batch, temperature=2.0).backward()
    assert student.grad is not None
    torch.testing.assert_close(student.grad, 2.0 * (torch.softmax(student / 2, -1) - torch.softmax(teacher / 2, -1)).detach())
    assert token_kl(teacher, teacher.clone(), batch, temperature=2.0).item() == pytest.approx(0, abs=1e-6)


def distance(base: Path, adapter: Path, teacher: TokenTeacher) -> float:
    """The term between a student and the teacher on a case."""
    tokenizer = load_tokenizer(base)
    model = with_adapter(load_base(base, tokenizer), adapter, trainable=False).eval()
    example = case_example(case("c"), FrameEncoder(tokenizer))
    sequences = [{"prompt": item.prompt, "completion": item.completion} for item in example.sequences]
    batch = collate([{"sequences": sequences, "target": example.target, "weight": 1.0}], pad=0)
    frozen = FrozenTeacher(teacher)
    with torch.no_grad():
        logits = completion_logits(model, batch)
        logprobs, mask = completion_logprobs(model, batch)
    picked = torch.log_softmax(logits, -1).gather(2, batch["labels"].clamp_min(0).unsqueeze(2)).squeeze(2)
    torch.testing.assert_close(logprobs[mask], picked[mask])  # the logits are those that the frames' scores are made of
    said = frozen.logits(batch)
    assert not said.requires_grad
    return token_kl(logits, said, batch, temperature=2.0).item()


def test_student_is_pulled_to_the_teacher(
    base: Path, champion: Path, plain: Path, teacher: TokenTeacher, tmp_path: Path
) -> None:
    distil(base, champion, tmp_path / "tokens", ON.model_copy(update={"token_kl": 20.0}), teacher)
    before, frames, tokens = (distance(base, folder, teacher) for folder in (champion, plain, tmp_path / "tokens"))
    assert tokens < 0.8 * before
    assert tokens < 0.8 * frames


def test_weight_0_changes_nothing_and_loads_no_teacher(
    base: Path, champion: Path, plain: Path, teacher: TokenTeacher, tmp_path: Path
) -> None:
    gone = teacher.model_copy(update={"path": str(tmp_path / "gone")})
    off = DistillationSettings(token_kl=0.0, token_teacher="somewhere")
    assert alike(distil(base, champion, tmp_path / "plain", off, gone), load_file(plain / "adapter_model.safetensors"))
    keys = [json.loads((folder / "plain.training.json").read_text())["key"] for folder in (tmp_path, plain.parent)]
    assert keys[0] == keys[1]


class Killed(Exception):
    """In place of a signal."""


def killed_at(step: int) -> Progress:
    def progress(done: int, total: int) -> None:
        if done == step:
            raise Killed

    return progress


def test_killed_and_taken_up_again_ends_in_the_same_weights_and_another_teacher_is_another_training(
    base: Path, champion: Path, teacher: TokenTeacher, tmp_path: Path
) -> None:
    whole = distil(base, champion, tmp_path / "whole", ON, teacher)
    with pytest.raises(Killed):
        distil(base, champion, tmp_path / "cut", ON, teacher, killed_at(4))
    assert list(tmp_path.glob(".cut.*/checkpoint-3"))
    assert alike(distil(base, champion, tmp_path / "cut", ON, teacher, killed_at(2)), whole)  # step 2 does not come again
    itself = find_token_teacher(ON.model_copy(update={"token_teacher": str(base)}), base_path=base, home=tmp_path)
    assert itself is not None
    assert itself.sha256 != teacher.sha256
    assert itself.tokenizer_sha256 == teacher.tokenizer_sha256
    with pytest.raises(Killed):  # neither the finished weights nor the checkpoints are taken for its own
        distil(base, champion, tmp_path / "cut", ON, itself, killed_at(1))


def changed(base: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The base's folder with another ``tokenizer.json``."""
    shutil.copytree(base, folder)
    said = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    change(said)
    (folder / "tokenizer.json").write_text(json.dumps(said), encoding="utf-8")
    return folder


def swap_added(said: dict[str, Any]) -> None:
    first, second = said["added_tokens"]
    first["content"], second["content"] = second["content"], first["content"]


def merge_two(said: dict[str, Any]) -> None:
    said["model"]["vocab"]["as"] = 300
    said["model"]["merges"] = [["a", "s"]]


def cut_otherwise(said: dict[str, Any]) -> None:
    said["pre_tokenizer"]["add_prefix_space"] = True


def say_less(said: dict[str, Any]) -> None:
    """As older versions wrote it."""
    del said["model"]["ignore_merges"]


@pytest.mark.parametrize("change", [swap_added, merge_two])
def test_teacher_of_other_tokens_is_refused_before_a_step(
    base: Path, champion: Path, teacher: TokenTeacher, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    folder = changed(base, tmp_path / "stranger", change)
    with pytest.raises(InputError, match=r"stranger.*other tokens.*base.*token_kl to 0"):
        find_token_teacher(ON.model_copy(update={"token_teacher": str(folder)}), base_path=base, home=tmp_path)
    stranger = teacher.model_copy(update={"path": str(folder), "tokenizer_sha256": tokenizer_hash(folder)})
    with pytest.raises(InputError, match="other tokens"):
        distil(base, champion, tmp_path / "a", ON, stranger)
    assert not list(tmp_path.glob(".a.*"))


@pytest.mark.parametrize("change", [cut_otherwise, say_less])
def test_what_is_about_text_or_said_in_older_words_is_no_other_tokenizer(
    base: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    assert tokenizer_hash(changed(base, tmp_path / "same", change)) == tokenizer_hash(base)


def test_merges_of_older_files_are_the_same_merges(base: Path, tmp_path: Path) -> None:
    def older(said: dict[str, Any]) -> None:
        merge_two(said)
        said["model"]["merges"] = ["a s"]

    assert tokenizer_hash(changed(base, tmp_path / "old", older)) == tokenizer_hash(changed(base, tmp_path / "new", merge_two))


def test_no_teacher_is_told_before_anything_runs(base: Path, champion: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"distillation\.token_teacher.*token_kl is 0\.5"):
        get_settings({"distillation": {"token_kl": 0.5}})
    with pytest.raises(InputError, match="no teacher"):
        distil(base, champion, tmp_path / "a", ON)
    with pytest.raises(ModelUnavailable, match=r"token-level teacher.*no such folder.*DISTILLATION__TOKEN_TEACHER"):
        find_token_teacher(ON.model_copy(update={"token_teacher": "./nothing"}), base_path=base, home=tmp_path)


def test_weights_of_the_same_size_are_another_teacher_and_the_stage_is_done_again(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(base, folder)
    assert teacher_contents(folder) == teacher_contents(base)
    lap, domain = open_lap(tmp_path / "home", "claims"), load_domain(scaffold_domain("claims", tmp_path))
    tuned = sample_report().tuning
    assert tuned is not None
    lap.finish("tuning", tuned, "inputs")
    settings = get_settings({"distillation": {"token_kl": 0.5, "token_teacher": str(folder)}})
    inputs = stage_inputs("distillation", domain, settings, lap)
    assert stage_inputs("distillation", domain, settings, lap) == inputs
    weights = load_file(folder / "model.safetensors")
    name = next(iter(weights))
    weights[name] = weights[name] * 2
    size = (folder / "model.safetensors").stat().st_size
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert (folder / "model.safetensors").stat().st_size == size
    assert teacher_contents(folder) != teacher_contents(base)
    assert stage_inputs("distillation", domain, settings, lap) != inputs
