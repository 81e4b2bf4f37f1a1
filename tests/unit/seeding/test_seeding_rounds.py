"""Whole rounds: who is asked, what is accepted, what waits, and what a kill costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kickwheel.errors import StageFailed, StageInputMissing
from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.ports import ChatRequest
from kickwheel.seeding.gate import Gated
from kickwheel.seeding.label_log import TeacherCall
from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue
from kickwheel.seeding.rounds import RoundOutcome, SeedingInputs, run_round
from kickwheel.seeding.seed_set import assemble_seed_set
from kickwheel.settings import SeedingSettings
from kickwheel.testing.scripted_teacher import Answer, ScriptedTeacher
from kickwheel.workspace import read_jsonl, read_log
from schemas.frame import Frame
from schemas.seed_checks import SeedChecks
from schemas.task import TaskCatalog
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_process import flawed
from tests.unit.seeding.seeding_world import CATALOG, POOL, SEEDS, TRUTH, asked_text, inputs, oracle, shaky


def ungated(given: SeedingInputs) -> Gated:
    return Gated(given, {}, SeedChecks())


def run_both(given: SeedingInputs, teacher: ScriptedTeacher | None) -> list[RoundOutcome]:
    return [run_round(given, number, teacher, max_concurrency=4, sleep=lambda _: None) for number in (1, 2)]


def test_what_both_labellers_say_is_accepted_and_the_rest_waits(tmp_path: Path) -> None:
    first, second = run_both(inputs(tmp_path), ScriptedTeacher(shaky))
    assert first.report.scored == len(POOL)
    assert second.report.scored == len(POOL) - 10
    for outcome in (first, second):
        assert outcome.report.selected == 10
        assert outcome.report.accepted_from_teacher + outcome.report.waiting == 10
        assert all(row.frame == TRUTH[row.id].frame for row in outcome.accepted)
        assert outcome.report.teacher_calls == 10
    assert first.report.accepted_from_teacher > 0
    assert first.report.waiting == first.report.checks_failed["slots_disagree"] > 0
    chosen = [row.id for outcome in (first, second) for row in (*outcome.accepted, *outcome.waiting)]
    assert len(set(chosen)) == 20


def test_accepted_rows_say_who_labelled_them_with_which_prompt(tmp_path: Path) -> None:
    outcome = run_round(inputs(tmp_path), 1, ScriptedTeacher(oracle))
    calls = {call.utterance: call for call in read_log(tmp_path / "teacher_calls.jsonl", TeacherCall)}
    for row in outcome.accepted:
        assert row.provenance is not None
        assert (row.provenance.source, row.provenance.model, row.provenance.round) == ("teacher", "scripted-teacher", 1)
        assert row.provenance.prompt_sha256 == calls[row.id].prompt_sha256


def test_a_confident_but_wrong_teacher_gets_nothing_in(tmp_path: Path) -> None:
    nonsense = encode_frame(Frame(intent="enrich_profiles"))
    keep = {row.id: row for row in POOL if TRUTH[row.id].frame != Frame(intent="enrich_profiles")}
    outcome = run_round(inputs(tmp_path, pool=list(keep.values())), 1, ScriptedTeacher(lambda _: nonsense))
    assert outcome.report.accepted_from_teacher == 0
    assert outcome.report.checks_failed == {"intent_disagrees": 10}
    assert {item.suggestion for item in outcome.waiting} == {Frame(intent="enrich_profiles")}


def test_teacher_errors_are_counted_by_type_and_their_rows_wait(tmp_path: Path) -> None:
    def faulty(request: ChatRequest) -> Answer:
        return "" if "lunch" in asked_text(request) else "prose" if "logs" in asked_text(request) else oracle(request)

    given = inputs(tmp_path, settings=SeedingSettings(rounds=1, per_round=len(POOL), few_shot=2))
    outcome = run_round(given, 1, ScriptedTeacher(faulty))
    assert outcome.report.teacher_errors == {"empty": 6, "malformed": 6}
    assert outcome.report.teacher_calls == len(POOL) + 12
    assert Counter(reason for item in outcome.waiting for reason in item.reasons)["empty"] == 6
    assert {*(row.id for row in outcome.labelled), *(item.id for item in outcome.waiting)} == set(TRUTH)


def test_reviewers_answers_settle_what_waits(tmp_path: Path) -> None:
    outcomes = run_both(inputs(tmp_path, answers=TRUTH), ScriptedTeacher(shaky))
    for outcome in outcomes:
        assert outcome.report.waiting == 0
        assert outcome.report.accepted_from_teacher + outcome.report.reviewed == 10
        assert {row.provenance.source for row in outcome.reviewed if row.provenance} == {"reviewer"}
    asked = {item.id for item in ReviewQueue(tmp_path / "review_items.jsonl").items()}
    assert asked == {row.id for outcome in outcomes for row in outcome.reviewed}


def test_without_a_teacher_everything_chosen_goes_to_review(tmp_path: Path) -> None:
    outcome = run_round(inputs(tmp_path), 1, None)
    assert outcome.report.teacher_calls == outcome.report.accepted_from_teacher == 0
    assert [item.reasons for item in outcome.waiting] == [("no teacher",)] * 10
    assert outcome.report.teacher_errors == {}


def test_an_empty_pool_is_a_round_that_did_nothing(tmp_path: Path) -> None:
    teacher = ScriptedTeacher([])
    report = run_round(inputs(tmp_path, pool=[]), 1, teacher).report
    assert (report.scored, report.selected, report.teacher_calls, report.waiting) == (0, 0, 0, 0)
    assert teacher.requests == []
    assert report.probe.rows > 0


def test_a_domain_of_one_intent_goes_round_too(tmp_path: Path) -> None:
    catalog = TaskCatalog(domain="one", tasks=CATALOG.tasks[:1])

    def only(rows: list[Utterance]) -> list[Utterance]:
        return [row for row in rows if TRUTH.get(row.id, row).frame and TRUTH.get(row.id, row).frame.intent == "sync_orders"]  # type: ignore[union-attr]

    given = inputs(tmp_path, catalog=catalog, seeds=only(SEEDS), pool=only(POOL), valid=only(SEEDS))
    outcome = run_round(given, 1, ScriptedTeacher(oracle))
    assert outcome.report.selected == 10
    assert outcome.report.probe.intent_accuracy == 1.0


def test_no_labelled_row_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="labelled row"):
        run_round(inputs(tmp_path, seeds=[]), 1, None)


def test_the_same_seed_chooses_the_same_rows_and_another_seed_others(tmp_path: Path) -> None:
    chosen = [
        [item.id for item in run_round(inputs(tmp_path / str(n), seed=seed), 1, None).waiting]
        for n, seed in enumerate((7, 7, 8))
    ]
    assert chosen[0] == chosen[1]
    assert chosen[0] != chosen[2]


def test_the_teacher_never_sees_what_the_probe_thinks(tmp_path: Path) -> None:
    """Neither the words nor the order of what the teacher is asked depends on the probe's ranking."""
    asked = []
    for strategy in ("joint", "random"):
        settings = SeedingSettings(rounds=1, per_round=len(POOL), strategy=strategy, few_shot=3)  # type: ignore[arg-type]
        teacher = ScriptedTeacher(oracle)
        run_round(inputs(tmp_path / strategy, settings=settings), 1, teacher, max_concurrency=1)
        asked.append([request.messages for request in teacher.requests])
    assert asked[0] == asked[1]
    words = [message.content for messages in asked[0] for message in messages]
    assert not any("probe" in text or "confiden" in text or "entropy" in text for text in words)


def test_a_finished_round_is_read_not_run_again(tmp_path: Path) -> None:
    first = run_round(inputs(tmp_path), 1, ScriptedTeacher(oracle))
    assert run_round(inputs(tmp_path), 1, ScriptedTeacher([])) == first


def test_rounds_are_run_in_order(tmp_path: Path) -> None:
    with pytest.raises(StageInputMissing, match="round 1 is not done"):
        run_round(inputs(tmp_path), 2, None)


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("replies", [3, 15])
def test_a_killed_run_is_taken_up_with_just_the_calls_it_lacks(
    replies: int, concurrency: int, tmp_path: Path, root: Path
) -> None:
    """argilla-io/distilabel 469, 52 and 1065."""
    undisturbed = ScriptedTeacher(flawed)
    expected = run_both(inputs(tmp_path / "undisturbed"), undisturbed)
    total = len(undisturbed.requests)
    assert total > 20  # some rows need their second attempt

    folder, calls = tmp_path / "killed", tmp_path / "calls.jsonl"
    command = [
        sys.executable,
        "-m",
        "tests.unit.seeding.seeding_process",
        str(folder),
        str(calls),
        str(replies),
        str(concurrency),
    ]
    path = os.pathsep.join([str(root), str(root / "src")])
    killed = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": path}, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    answered = len(read_log(folder / "teacher_calls.jsonl", TeacherCall))
    assert answered <= replies
    assert concurrency > 1 or answered == replies
    assert len(calls.read_text(encoding="utf-8").splitlines()) > replies

    resumed = ScriptedTeacher(flawed)
    assert run_both(inputs(folder), resumed) == expected
    assert len(resumed.requests) == total - answered


def test_the_seed_set_accounts_for_every_row(tmp_path: Path) -> None:
    given = inputs(tmp_path, answers=TRUTH)
    outcomes = run_both(given, ScriptedTeacher(shaky))
    seeds = assemble_seed_set(ungated(given), teacher_model="scripted-teacher")
    train = read_jsonl(Path(seeds.train.path), Utterance)
    assert len(train) == seeds.train.rows == sum(seeds.labels_by_source.values())
    assert len(train) + len(seeds.checks.duplicates) == len(SEEDS) + 20
    assert seeds.teacher.labels == seeds.labels_by_source["teacher"]
    assert seeds.teacher.right == seeds.teacher.labels
    assert seeds.labels_by_source["reviewer"] > 0
    assert seeds.review_queue.rows == 0
    assert seeds.reviewer == "bundled answers (demo)"
    assert seeds.agreement == sum(outcome.agreed for outcome in outcomes) / 20
    assert seeds.rounds == tuple(outcome.report for outcome in outcomes)


def test_rows_that_nobody_settled_are_in_the_review_queue(tmp_path: Path) -> None:
    given = inputs(tmp_path)
    outcomes = run_both(given, ScriptedTeacher(shaky))
    seeds = assemble_seed_set(ungated(given), teacher_model="scripted-teacher")
    assert seeds.reviewer == "people"
    assert seeds.teacher.right is None
    left_out = {duplicate.id for duplicate in seeds.checks.duplicates}
    assert read_jsonl(Path(seeds.review_queue.path), ReviewItem) == [
        item for outcome in outcomes for item in (*outcome.waiting, *outcome.audits) if item.id not in left_out
    ]


def test_the_contribution_is_told_even_if_there_was_no_teacher(tmp_path: Path) -> None:
    given = inputs(tmp_path)
    run_both(given, None)
    seeds = assemble_seed_set(ungated(given), teacher_model="", unavailable_reason="no vLLM on this machine")
    assert seeds.teacher.sentence() == "the LLM contributed 0 labels, nothing to check"
    assert (seeds.teacher.model, seeds.teacher.unavailable_reason) == ("none", "no vLLM on this machine")
    assert seeds.agreement is None


def test_a_seed_set_needs_all_its_rounds(tmp_path: Path) -> None:
    run_round(inputs(tmp_path), 1, None)
    with pytest.raises(StageInputMissing, match="round 2"):
        assemble_seed_set(ungated(inputs(tmp_path)), teacher_model="")
