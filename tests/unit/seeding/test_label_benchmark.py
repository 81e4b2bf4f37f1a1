"""The label benchmark on a folder of our own: labels are counted, seeds are kept, bad folders are told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import labels
from benchmarks.few_shot_data import Reviewer, Split, read_split, seed_rows
from kickwheel.errors import InputError

TOPICS = {"Sync_orders?": "orders of region {}", "fetch_logs": "日志 {} 拉取", "lunch": "what is for lunch {}"}


def write_split(folder: Path, name: str, rows: int, start: int = 0) -> None:
    pairs = [(text.format(start + n), intent) for n in range(rows) for intent, text in TOPICS.items()]
    (folder / name).mkdir(parents=True)
    (folder / name / "seq.in").write_text("".join(f"{text}\n" for text, _ in pairs), encoding="utf-8")
    (folder / name / "label").write_text("".join(f"{intent}\n" for _, intent in pairs), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "TINY3"
    write_split(folder, "train", 20)
    write_split(folder, "train_5", 5, start=7)
    write_split(folder, "test", 6, start=50)
    return folder


def run(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, object]:
    arguments = ["labels", "--data", str(data), "--student", "probe", "--embedder", "ngrams", "--json"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--work", str(data.parent / "work"), "--seeds", "2", *more])
    labels.main()
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("strategy", ["joint", "diversity", "random"])
def test_one_object_tells_what_was_paid_for(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], strategy: str
) -> None:
    report = run(data, monkeypatch, capsys, "--budget", "27", "--strategy", strategy)
    assert report["accuracy"] == pytest.approx(1.0)
    assert report["human_labels"] == 27
    assert report["spread"] == 0
    assert (report["strategy"], report["student"], report["seeds"]) == (strategy, "probe", 2)


def test_a_finished_seed_is_not_run_again(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(data, monkeypatch, capsys, "--budget", "all")
    assert first["human_labels"] == 60
    kept = sorted((data.parent / "work" / "labels").glob("*.json"))
    assert len(kept) == 2
    stamps = [path.stat().st_mtime_ns for path in kept]
    assert run(data, monkeypatch, capsys, "--budget", "all")["by_seed"] == first["by_seed"]
    assert [path.stat().st_mtime_ns for path in kept] == stamps
    with (data / "test" / "label").open("a", encoding="utf-8") as file, (data / "test" / "seq.in").open("a") as texts:
        file.write("lunch\n")
        texts.write("lunch?\n")
    run(data, monkeypatch, capsys, "--budget", "all")
    assert len(list((data.parent / "work" / "labels").glob("*.json"))) == 4


def test_a_budget_below_the_seeds_is_told(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="a budget of 14 does not hold 5 rows of each of 3 intents"):
        run(data, monkeypatch, capsys, "--budget", "14")


def test_published_seeds_are_found_in_train_and_others_are_drawn(data: Path) -> None:
    train = read_split(data, "train")
    assert sorted(seed_rows(data, train, 0)) == list(range(21, 36))
    drawn = seed_rows(data, train, 1)
    assert drawn == seed_rows(data, train, 1) != seed_rows(data, train, 2)
    assert sorted(train.labels[row] for row in drawn) == sorted([*TOPICS] * 5)


def test_a_label_asked_for_twice_is_paid_once() -> None:
    reviewer = Reviewer(["a", "b", "c"])
    reviewer.label([0, 2])
    reviewer.label([2])
    assert reviewer.asked == {0: "a", 2: "c"}
    assert reviewer.human_labels == 2


def test_folders_that_do_not_hold_are_told(data: Path) -> None:
    with pytest.raises(InputError, match=r"valid.seq\.in: there is no such file"):
        read_split(data, "valid")
    (data / "train" / "label").write_text("one\n")
    with pytest.raises(InputError, match="60 texts, but 1 labels"):
        read_split(data, "train")
    with pytest.raises(InputError, match=r"train_5.seq\.in:1: this row is not among those of train"):
        seed_rows(data, Split(["x"], ["lunch"]), 0)
