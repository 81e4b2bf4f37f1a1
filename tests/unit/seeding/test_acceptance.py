"""Accepted labels are checked by people in part, and acceptance ends where they are not right enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.ports import ChatRequest
from kickwheel.seeding.acceptance import Acceptance, audit_acceptance, is_stopped, summed
from kickwheel.seeding.gate import Gated
from kickwheel.seeding.rounds import run_round
from kickwheel.seeding.seed_set import assemble_seed_set
from kickwheel.seeding.sorting import Sorting
from kickwheel.settings import SeedingSettings
from kickwheel.testing.scripted_teacher import ScriptedTeacher
from schemas.frame import Frame
from schemas.seed_checks import AuditFigure, SeedChecks
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_world import POOL, TRUTH, asked_text, inputs, oracle, row

EASY = [row(f"easy-{n}", f"orders {n}", "sync_orders") for n in range(20)]
HARD = [row(f"hard-{n}", f"logs {n}", "fetch_logs") for n in range(20)]
SORTING = Sorting(accepted=[*EASY, *HARD], confidence={**{item.id: 0.9 for item in EASY}, **{item.id: 0.3 for item in HARD}})


def audit(
    answers: Sequence[Utterance] = (), earlier: Sequence[AuditFigure] = (), **settings: float
) -> tuple[Acceptance, SeedingSettings]:
    made = SeedingSettings(**{"accept_audit": 0.2, **settings})  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    return audit_acceptance(SORTING, 2, {item.id: item for item in answers}, earlier, made, rng), made


def wrong(rows: Sequence[Utterance]) -> list[Utterance]:
    return [item.model_copy(update={"frame": Frame(intent="enrich_profiles")}) for item in rows]


def test_a_share_of_hard_and_of_easy_rows_is_put_to_people_and_stays_accepted_meanwhile() -> None:
    outcome, _ = audit()
    assert [item.reasons for item in outcome.audit] == [("audit",)] * 8
    assert sorted(item.id.split("-")[0] for item in outcome.audit) == ["easy"] * 4 + ["hard"] * 4
    assert len(outcome.accepted) == 40
    assert outcome.held == []
    assert outcome.figures == (
        AuditFigure(rows="hard", accepted=20, checked=0, right=0),
        AuditFigure(rows="easy", accepted=20, checked=0, right=0),
    )


def test_what_people_have_answered_is_theirs() -> None:
    outcome, _ = audit([*EASY, *wrong(HARD)])
    assert [(figure.rows, figure.checked, figure.right) for figure in outcome.figures] == [("hard", 4, 0), ("easy", 4, 4)]
    assert len(outcome.accepted) == 32  # the eight that were answered are reviewed rows now
    assert not {item.id for item in outcome.audit} & {item.id for item in outcome.accepted}


def test_too_few_checked_labels_judge_nothing() -> None:
    outcome, settings = audit(wrong(HARD), min_audited=5)
    assert not is_stopped(outcome.figures, "hard", settings)
    assert outcome.held == []


def test_below_the_wanted_precision_acceptance_of_that_kind_stops_from_this_round_on() -> None:
    outcome, settings = audit([*EASY, *wrong(HARD)], min_audited=4)
    assert is_stopped(outcome.figures, "hard", settings)
    assert not is_stopped(outcome.figures, "easy", settings)
    assert {item.id for item in outcome.accepted} < {item.id for item in EASY}
    assert [item.reasons for item in outcome.held] == [("self_acceptance_stopped",)] * 16
    assert all(item.suggestion is not None for item in outcome.held)


def test_what_earlier_rounds_showed_counts() -> None:
    earlier = [AuditFigure(rows="easy", accepted=30, checked=10, right=8)]
    outcome, settings = audit(earlier=earlier)
    assert summed([*earlier, *outcome.figures], "easy") == AuditFigure(rows="easy", accepted=50, checked=10, right=8)
    assert is_stopped([*earlier, *outcome.figures], "easy", settings)
    assert {item.id.split("-")[0] for item in outcome.accepted} == {"hard"}


@pytest.mark.parametrize(("right", "stopped"), [(8, True), (9, False), (10, False)])
def test_nine_of_ten_are_enough(right: int, stopped: bool) -> None:
    figures = [AuditFigure(rows="hard", accepted=10, checked=10, right=right)]
    assert is_stopped(figures, "hard", SeedingSettings()) is stopped


def test_nothing_accepted_is_not_measured() -> None:
    outcome = audit_acceptance(Sorting(), 1, {}, [], SeedingSettings(), np.random.default_rng(0))
    assert (outcome.accepted, outcome.audit, outcome.held) == ([], [], [])
    assert [figure.precision for figure in outcome.figures] == [None, None]


def test_an_audit_share_of_nothing_asks_nobody() -> None:
    outcome, _ = audit(accept_audit=0.0)
    assert outcome.audit == []


def test_a_round_whose_labels_are_wrong_says_so_and_puts_them_to_people(tmp_path: Path) -> None:
    """Both labellers can be wrong in the same way: only people can tell."""

    def agreeable(request: ChatRequest) -> str:
        return oracle(request)

    liar = {key: item.model_copy(update={"frame": Frame(intent="enrich_profiles")}) for key, item in TRUTH.items()}
    settings = SeedingSettings(rounds=1, per_round=len(POOL), few_shot=2, accept_audit=0.5, min_audited=2)
    given = inputs(tmp_path, answers=liar, settings=settings)
    outcome = run_round(given, 1, ScriptedTeacher(agreeable))
    assert outcome.report.held_back > 0
    assert outcome.report.accepted_from_teacher == 0
    assert outcome.report.reviewed + outcome.report.waiting == len(POOL)
    seeds = assemble_seed_set(Gated(given, {}, SeedChecks()), teacher_model="m")
    assert any("self-acceptance of hard rows stopped: 0 of" in note for note in seeds.notes)
    assert "checked labels right" in seeds.audit_sentence()


def test_audits_without_an_answer_wait_in_the_queue_beside_their_accepted_rows(tmp_path: Path) -> None:
    outcome = run_round(inputs(tmp_path), 1, ScriptedTeacher(oracle))
    accepted = {item.id for item in outcome.accepted}
    assert outcome.audits
    assert {item.id for item in outcome.audits} <= accepted
    assert outcome.report.accepted_from_teacher + outcome.report.waiting == 10
    assert sum(figure.accepted for figure in outcome.report.audit) == len(accepted)


def test_a_teacher_that_gives_nothing_leaves_precision_unmeasured(tmp_path: Path) -> None:
    nonsense = encode_frame(Frame(intent="enrich_profiles"))
    rows = [item for item in POOL if TRUTH[item.id].frame != Frame(intent="enrich_profiles")]
    given = inputs(tmp_path, pool=rows, settings=SeedingSettings(rounds=1, per_round=10))
    outcome = run_round(given, 1, ScriptedTeacher(lambda request: nonsense if asked_text(request) else ""))
    assert outcome.report.accepted_from_teacher == 0
    seeds = assemble_seed_set(Gated(given, {}, SeedChecks()), teacher_model="m")
    assert seeds.audit_sentence() == "hard rows: not measured; easy rows: not measured"
    assert seeds.notes == ()
