"""``kickwheel review``: rows out, answers in, where the review stands."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.errors import InputError, StageInputMissing
from kickwheel.review.queue import DomainReview
from tests.unit.review.review_world import ITEMS, ZH, frame, world

RIGHT = frame(ZH, "sync_orders", date="昨天", region="２号仓")


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DomainReview:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    return world(tmp_path)


def run(review: DomainReview, command: str, *arguments: object, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["review", command, str(review.domain.folder), *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def fill(path: Path, number: int, **changes: object) -> None:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[number] |= changes
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def test_rows_go_out_and_answers_come_in(review: DomainReview, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert "10 rows" in run(review, "export", path)[1]
    fill(path, 1, frame=RIGHT.model_dump(mode="json"))
    assert "1 answers taken, 0 known" in run(review, "import", path, "--reviewer", "ana")[1]
    assert "0 answers taken, 1 known" in run(review, "import", path, "--reviewer", "ana")[1]
    assert "9 rows" in run(review, "export", path)[1]
    assert "1 rows" in run(review, "export", path, "--rows", "answered")[1]
    status = json.loads(run(review, "status", "--json")[0])
    assert (status["rows"], status["settled"], status["open"]) == (10, 1, 9)


def test_a_conflict_is_told_by_row_and_reviewer(review: DomainReview, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run(review, "export", path)
    fill(path, 1, frame=RIGHT.model_dump(mode="json"))
    run(review, "import", path, "--reviewer", "ana")
    fill(path, 1, frame={"intent": "out_of_scope"})
    told = run(review, "import", path, "--reviewer", "李雷")[1]
    assert f"conflict {ITEMS[1].id}" in told
    assert "李雷: out_of_scope" in told
    stdout, stderr = run(review, "status")
    assert "1 in conflict" in stdout
    assert "ana / 李雷" in stdout
    assert f"conflict {ITEMS[1].id}" in stderr


def test_a_line_that_does_not_hold_stops_the_whole_file(review: DomainReview, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run(review, "export", path)
    fill(path, 0, decision="accepted")
    fill(path, 4, frame={"intent": "dance"})
    told = run(review, "import", path, "--reviewer", "ana", code=2)[1]
    assert f"{path}:5" in told
    assert "nothing was taken" in told
    assert review.log.answers() == []


def test_label_studio_gets_tasks_and_its_interface(review: DomainReview, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    told = run(review, "export", path, "--format", "label-studio")[1]
    assert "10 rows" in told
    listed = json.loads(path.read_text(encoding="utf-8"))
    assert len(listed) == 10
    assert '<Choice value="sync_orders"/>' in path.with_suffix(".xml").read_text(encoding="utf-8")
    annotated = [task | {"annotations": [{"result": task["predictions"][0]["result"]}]} for task in listed[:1]]
    path.write_text(json.dumps(annotated), encoding="utf-8")
    assert "1 answers taken" in run(review, "import", path, "--format", "label-studio", "--reviewer", "ana")[1]


def test_the_page_says_which_port_is_taken_and_nothing_is_served_before_a_lap(review: DomainReview) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        folder = str(review.domain.folder)
        result = CliRunner().invoke(app, ["review", folder, "--port", port, "--no-browser"])  # the same as review serve
    assert isinstance(result.exception, InputError)
    assert port in str(result.exception)


def test_without_a_lap_it_says_what_to_run(review: DomainReview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "empty"))
    result = CliRunner().invoke(app, ["review", "serve", str(review.domain.folder)])
    assert isinstance(result.exception, StageInputMissing)
    assert "kickwheel run" in str(result.exception)


@pytest.mark.parametrize("command", ["serve", "export", "import", "status", "wait", "resume"])
def test_every_command_has_help_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, ["review", command, "--help"])
    assert result.exit_code == 0
    assert "kickwheel review" in result.stdout
