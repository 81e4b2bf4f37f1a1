"""The encoder student: learns frames in two languages, is saved and loaded, survives kills, and refuses what does not fit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from kickwheel.errors import StageFailed
from kickwheel.probe.tokens import tokenize
from kickwheel.tuning.encoder_features import Labels, pieces_of
from kickwheel.tuning.encoder_student_adapter import load_encoder_student
from kickwheel.tuning.encoder_trainer_adapter import EncoderStudentTrainer
from kickwheel.tuning.ports import TrainedAdapter
from schemas.student import EncoderStudentPlan
from schemas.task import TaskCatalog
from schemas.training import RobustPlan
from tests.unit.tuning.encoder_run import DAYS, PLAN, around, catalog, rows

ROOT = Path(__file__).resolve().parents[3]
SHORT = PLAN.model_copy(update={"epochs": 2.0})


def train(base: Path, out: Path, plan: EncoderStudentPlan = SHORT, robust: RobustPlan | None = None) -> TrainedAdapter:
    surroundings = replace(around(), robust=robust or RobustPlan())
    return EncoderStudentTrainer().train(rows(), plan, base_path=base, out=out, around=surroundings)


def weights(folder: Path) -> dict[str, bytes]:
    return {name: tensor.tobytes() for name, tensor in load_file(folder / "weights.safetensors").items()}


def test_labels_are_those_of_the_rows() -> None:
    labels = Labels.of(rows())
    assert labels.intents == ("fetch_logs", "out_of_scope", "sync_orders")
    assert labels.tags == ("O", "B-date", "I-date")


def test_word_pieces_are_pooled_by_code_points() -> None:
    tokens = tokenize("同步 𝄞orders")  # the note lies outside the basic plane: one code point
    assert [(token.start, token.end) for token in tokens][:2] == [(0, 1), (1, 2)]
    places = pieces_of(tokens, [(0, 0), (0, 1), (1, 2), (2, 4), (4, 7), (7, 10), (0, 0)])
    assert places[0] == [1]
    assert places[1] == [2]
    assert places[-1] == [4, 5]
    assert pieces_of(tokens, [(0, 0), (0, 1)])[-1] == []  # beyond what the encoder read


@pytest.mark.parametrize("method", ["lora", "full"])
def test_frames_are_learned_in_both_languages_and_survive_saving(tiny_encoder: Path, tmp_path: Path, method: str) -> None:
    plan = PLAN.model_copy(update={"method": method, "learning_rate": 5e-3 if method == "lora" else 1e-3})
    trained = train(tiny_encoder, tmp_path / "a", plan)
    assert trained.losses[-1].loss < trained.losses[0].loss
    assert trained.validation
    student = load_encoder_student(trained.folder, catalog(), base=tiny_encoder)
    found = student.predict([row.text for row in rows()])
    assert [prediction.frame for prediction in found] == [row.frame for row in rows()]
    first = found[0]
    assert first.error is None
    assert first.slot_confidence.keys() == {"date"}
    assert 0.5 < first.confidence <= first.intent_confidence <= 1  # type: ignore[operator]
    (alone,) = student.predict([rows()[0].text])
    assert alone.confidence == pytest.approx(first.confidence, abs=1e-5)  # whatever the batch
    assert student.predict([]) == []
    assert student.predict([" "])[0].frame is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.training.json"]
    assert not list(trained.folder.rglob("*.bin")) + list(trained.folder.rglob("*.pkl"))


def test_lexical_features_carry_a_language_that_the_encoder_cannot_read(tiny_encoder: Path, tmp_path: Path) -> None:
    """The tiny encoder's letters do not hold 拉取: it sees unknown signs there."""
    wide = load_encoder_student(train(tiny_encoder, tmp_path / "a", PLAN).folder, base=tiny_encoder)
    assert wide.predict(["拉取周一日志"])[0].frame == next(row.frame for row in rows() if row.text == "拉取周一日志")
    record = json.loads((tmp_path / "a" / "student.json").read_text())
    assert record["catalog"]["domain"] == "tiny"
    assert record["train_sha256"] == "0" * 64


def test_what_the_catalogue_does_not_know_is_never_answered(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = train(tiny_encoder, tmp_path / "a", PLAN).folder
    whole = catalog()
    fewer = TaskCatalog(domain="tiny", tasks=(whole.tasks[0].model_copy(update={"slots": ()}),))
    found = load_encoder_student(folder, fewer, base=tiny_encoder).predict([row.text for row in rows()])
    assert {prediction.frame.intent for prediction in found if prediction.frame} <= {"sync_orders", "out_of_scope"}
    assert all(not prediction.frame.slots for prediction in found if prediction.frame)


def test_artifacts_that_do_not_fit_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = train(tiny_encoder, tmp_path / "a").folder
    with pytest.raises(StageFailed, match=r"no student\.json"):
        load_encoder_student(tmp_path, base=tiny_encoder)
    other = shutil.copytree(tiny_encoder, tmp_path / "other")
    (other / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes() + b" ")
    with pytest.raises(StageFailed, match="trained on an encoder whose"):
        load_encoder_student(folder, base=other)
    record = json.loads((folder / "student.json").read_text())
    record["intents"] = record["intents"][1:]
    (folder / "student.json").write_text(json.dumps(record))
    with pytest.raises(StageFailed, match="does not fit its record"):
        load_encoder_student(folder, base=tiny_encoder)
    record["surprise"] = 1
    (folder / "student.json").write_text(json.dumps(record))
    with pytest.raises(StageFailed, match="surprise"):
        load_encoder_student(folder, base=tiny_encoder)


def test_module_names_that_the_encoder_lacks_are_told(tiny_encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="KICKWHEEL_ENCODER__TARGET_MODULES"):
        train(tiny_encoder, tmp_path / "a", SHORT.model_copy(update={"target_modules": ("q_proj",)}))


def test_same_seed_same_weights_and_finished_work_is_not_done_again(tiny_encoder: Path, tmp_path: Path) -> None:
    first, second = (train(tiny_encoder, tmp_path / name) for name in "ab")
    assert weights(first.folder) == weights(second.folder)
    assert weights(train(tiny_encoder, tmp_path / "c", SHORT.model_copy(update={"seed": 4})).folder) != weights(first.folder)
    before = (tmp_path / "a" / "weights.safetensors").stat().st_mtime_ns
    assert train(tiny_encoder, tmp_path / "a") == first
    assert (tmp_path / "a" / "weights.safetensors").stat().st_mtime_ns == before


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums are added in another order by other numbers of threads; the killed process has one."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_training_killed_midway_ends_in_the_weights_of_an_undisturbed_one(tiny_encoder: Path, tmp_path: Path) -> None:
    undisturbed = train(tiny_encoder, tmp_path / "whole", PLAN)
    command = [sys.executable, "-m", "tests.unit.tuning.encoder_run", str(tiny_encoder), str(tmp_path / "killed"), "40"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}", "OMP_NUM_THREADS": "1"}
    killed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (work,) = tmp_path.glob(".killed.*")
    assert [path.name for path in work.glob("checkpoint-*")]
    assert not (tmp_path / "killed").exists()
    resumed = train(tiny_encoder, tmp_path / "killed", PLAN)
    assert weights(resumed.folder) == weights(undisturbed.folder)
    assert resumed.losses == undisturbed.losses
    assert resumed.validation == undisturbed.validation


def test_sigterm_leaves_a_checkpoint_that_is_taken_up_again(tiny_encoder: Path, tmp_path: Path) -> None:
    undisturbed = train(tiny_encoder, tmp_path / "whole")

    def terminate(done: int, total: int) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit):
        EncoderStudentTrainer().train(
            rows(), SHORT, base_path=tiny_encoder, out=tmp_path / "a", progress=terminate, around=around()
        )
    assert [path.name for path in tmp_path.glob(".a.*/checkpoint-*")] == ["checkpoint-3"]
    assert weights(train(tiny_encoder, tmp_path / "a").folder) == weights(undisturbed.folder)


ARMS = {
    "contrastive": RobustPlan(contrastive=0.2),
    "mc_dropout": RobustPlan(mc_passes=10),
    "smoothing": RobustPlan(smoothing={"seed": 0.2}),
    "source_weights": RobustPlan(source_weights={"seed": 0.5}),
}


def test_every_arm_changes_what_is_learned_and_is_named(tiny_encoder: Path, tmp_path: Path) -> None:
    plain = weights(train(tiny_encoder, tmp_path / "plain").folder)
    for name, robust in ARMS.items():
        assert robust.arms == (name,)
        trained = train(tiny_encoder, tmp_path / name, robust=robust)
        # One weight for all rows cancels out of a weighted mean.
        assert (weights(trained.folder) != plain) == (name != "source_weights"), name
        assert any(name in reason for reason in trained.reasons)


def test_self_training_reads_the_pool(tiny_encoder: Path, tmp_path: Path) -> None:
    plan = SHORT.model_copy(update={"self_training": True})
    assert weights(train(tiny_encoder, tmp_path / "a", plan).folder) != weights(train(tiny_encoder, tmp_path / "b").folder)
    assert len(DAYS) * 5 == len(rows())


@pytest.mark.manual
def test_two_processes_train_one_student(tiny_encoder: Path, tmp_path: Path) -> None:
    """Each takes half of every batch; the step is the same but for what dropout draws, so the losses are near."""
    alone = train(tiny_encoder, tmp_path / "alone", PLAN)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    command += ["-m", "tests.unit.tuning.encoder_run", str(tiny_encoder), str(tmp_path / "both"), "0"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    both = train(tiny_encoder, tmp_path / "both", PLAN)  # finished: only its record is read
    assert both.trained_tokens == alone.trained_tokens
    assert both.losses[-1].loss == pytest.approx(alone.losses[-1].loss, abs=0.05)
    student = load_encoder_student(both.folder, catalog(), base=tiny_encoder)
    assert [prediction.frame for prediction in student.predict([row.text for row in rows()])] == [row.frame for row in rows()]
