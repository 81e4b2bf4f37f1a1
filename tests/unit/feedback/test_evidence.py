"""From events to evidence: joining, rules, fusion with its limits, sessions, rhythms, cursors of laps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kickwheel.distillation.batch import LiveAnswers, build_batch
from kickwheel.distillation.fusion import Limits, fuse, live_limits
from kickwheel.distillation.replay import ArmAnswers
from kickwheel.feedback.evidence import feedback_signals
from kickwheel.feedback.lap_erasure import erase_copies
from kickwheel.feedback.lap_feedback import copy_file, lap_cases, take_feedback
from kickwheel.feedback.live import live_cases
from kickwheel.feedback.live_winner import live_winner
from kickwheel.feedback.observe import observe
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import EVENT, SqlEventStore
from kickwheel.settings import DistillationSettings, TrialSettings
from kickwheel.spellings import case_key
from kickwheel.testing.sample_report import sample_report
from kickwheel.workspace import open_lap, write_jsonl
from schemas.events import Event, InferenceRecord
from schemas.feedback import Exposure, Signal
from schemas.frame import Frame, Prediction

SETTINGS = DistillationSettings()
LIVE = DistillationSettings(operator_rhythm="live")
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TEXT = "sync the EMEA orders"
SHOWN = Frame(intent="fetch_logs")
WANTED = Frame.from_values(TEXT, "sync_orders", {"region": "EMEA"})


def record(name: str, user: str | None, **given: Any) -> InferenceRecord:
    fields = {"text": TEXT, "frame": SHOWN, "model_version": "m", "at": NOW, **given}
    return InferenceRecord(inference_id=name, user=user, **fields)


def event(kind: str, about: str | None, name: str = "", **given: Any) -> Event:
    fields = {"kind": kind, "event_id": name or f"{about}-{kind}", "inference_id": about, "at": NOW, "received_at": NOW}
    return EVENT.validate_python({**fields, **given})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlEventStore]:
    opened = SqlEventStore(f"sqlite:///{tmp_path / 'events.sqlite3'}")
    yield opened
    opened.close()


def add(store: SqlEventStore, *facts: InferenceRecord | Event) -> None:
    records = tuple(item for item in facts if isinstance(item, InferenceRecord))
    store.add([Submission(records, tuple(item for item in facts if not isinstance(item, InferenceRecord)))])


def corrected_by(store: SqlEventStore, *users: str) -> None:
    for user in users:
        add(store, record(f"i-{user}", user), event("slot_edit", f"i-{user}", frame=WANTED))


EVENTS = (
    event("dwell", "i", "1", seconds=3),
    event("dwell", "i", "2", seconds=9),
    event("scroll", "i", "3", share=0.95),
    event("back_and_return", "i", "4", times=2),
    event("back_and_return", "i", "5"),
    event("thumbs", "i", "6", up=True),
    event("thumbs", "i", "7", up=False, at=NOW + timedelta(seconds=5)),
    event("slot_edit", "i", "8", frame=WANTED),
    event("outcome", "i", "9", completed=True, turns=3),
    event("operator_label", "i", "10", frame=SHOWN, operator="a"),
    event("operator_label", "i", "11", frame=WANTED, operator="a", at=NOW + timedelta(seconds=9)),
    event("rephrase", "i", "12", text="other words"),
)


@given(order=st.permutations(EVENTS), repeated=st.lists(st.sampled_from(EVENTS), max_size=4))
@settings(max_examples=30, deadline=None)
def test_observation_is_the_same_in_any_order_and_with_repetitions(order: list[Event], repeated: list[Event]) -> None:
    seen = observe(record("i", "u"), [*order, *repeated])
    behaviour = seen.behaviour
    assert (behaviour.dwell_s, behaviour.scroll, behaviour.back_and_return, behaviour.turns) == (9, 0.95, 3, 3)
    assert (behaviour.thumbs_up, behaviour.corrected, behaviour.rephrased) == (False, True, True)
    assert (seen.correction, seen.operator_label, seen.completed) == (WANTED, WANTED, False)


def test_one_user_moves_nothing_two_who_agree_do(store: SqlEventStore) -> None:
    corrected_by(store, "u1")
    for number in range(20):
        add(store, record(f"more-{number}", "u1"), event("slot_edit", f"more-{number}", frame=WANTED))
    (case,) = feedback_signals(store, SETTINGS, now=NOW).cases
    assert (case.moves, case.held_back) == (None, "1 of 2 users speak for it")
    assert case.candidates[0].fused <= SETTINGS.user_cap
    corrected_by(store, "u2")
    (case,) = feedback_signals(store, SETTINGS, now=NOW).cases
    assert case.moves == WANTED


def test_operator_s_label_counts_from_the_next_day(store: SqlEventStore) -> None:
    add(store, record("i", "u"), event("operator_label", "i", frame=WANTED))
    (case,) = feedback_signals(store, SETTINGS, now=NOW).cases
    assert (case.moves, case.labels_waiting) == (None, 1)
    (case,) = feedback_signals(store, SETTINGS, now=NOW + timedelta(days=1)).cases
    assert (case.moves, case.labels_waiting) == (WANTED, 0)
    assert feedback_signals(store, LIVE, now=NOW).moving == 1


def test_operators_who_differ_move_nothing_and_are_shown(store: SqlEventStore) -> None:
    add(store, record("i", "u"), event("operator_label", "i", "1", frame=WANTED, operator="a"))
    add(store, event("operator_label", "i", "2", frame=Frame(intent="sync_orders"), operator="b"))
    (case,) = feedback_signals(store, LIVE, now=NOW).cases
    assert case.moves is None
    assert case.held_back.startswith("two frames are level")


def test_conflicts_are_kept_and_shown(store: SqlEventStore) -> None:
    corrected_by(store, "u1", "u2")
    add(store, record("i3", "u3"), event("thumbs", "i3", up=True), event("dwell", "i3", seconds=9))
    result = feedback_signals(store, SETTINGS, now=NOW)
    shown = next(item for item in result.cases[0].candidates if item.frame == SHOWN)
    assert result.conflicts == 1
    assert (shown.supporters, shown.opponents, shown.conflict) == (1, 2, True)
    dwell = next(signal for signal in result.cases[0].signals if signal.rule == "dwell")
    assert (dwell.direction, dwell.evidence, dwell.exposure) == (
        "for",
        "9 s on the answer",
        Exposure(arm="champion", propensity=1),
    )


def test_session_s_outcome_speaks_about_its_last_answer(store: SqlEventStore) -> None:
    add(store, record("i1", "u", session="s"), record("i2", "u", session="s", text="other", at=NOW + timedelta(minutes=1)))
    later = NOW + timedelta(minutes=2)
    add(store, event("outcome", None, "o", session="s", completed=True, at=later))
    result = feedback_signals(store, SETTINGS, now=NOW)
    assert [(case.text, case.signals[0].rule) for case in result.cases] == [("other", "outcome")]


def test_spellings_are_one_case_and_frames_follow_the_text(store: SqlEventStore) -> None:
    other = "  Sync  the EMEA orders!"
    moved = Frame.from_values(other, "sync_orders", {"region": "EMEA"})
    add(store, record("i1", "u1"), event("slot_edit", "i1", frame=WANTED))
    add(store, record("i2", "u2", text=other), event("slot_edit", "i2", frame=moved))
    (case,) = feedback_signals(store, SETTINGS, now=NOW).cases
    assert (case.text, case.moves) == (TEXT, WANTED)


FRAMES = tuple(Frame(intent=name) for name in ("a", "b", "c"))
signals = st.builds(
    Signal,
    case=st.just("x"),
    candidate=st.sampled_from(FRAMES),
    source=st.just("implicit"),
    rule=st.sampled_from(["dwell", "correction", "thumbs"]),
    strength=st.floats(-1, 1).filter(bool),
    user=st.sampled_from(["u1", "u2", "u3", "u4", ""]),
    exposure=st.builds(Exposure, arm=st.just("a"), propensity=st.floats(0.01, 1), position=st.integers(1, 5)),
)


@given(found=st.lists(signals, min_size=1, max_size=12), noise=st.lists(signals, min_size=1, max_size=12))
@settings(max_examples=150, deadline=None)
def test_whatever_one_user_does_moves_no_label_alone_and_no_figure_beyond_the_cap(
    found: list[Signal], noise: list[Signal]
) -> None:
    limits = live_limits(SETTINGS)
    noisy = [signal.model_copy(update={"user": "noisy"}) for signal in noise]
    assert fuse(noisy, SETTINGS, limits)["x"].held_back
    without, with_noise = (fuse(rows, SETTINGS, limits)["x"] for rows in (found, [*found, *noisy]))
    for candidate in with_noise.candidates:
        others = [signal for signal in found if signal.candidate == candidate.frame]
        assert abs(candidate.fused) <= 1
        if not others:
            assert abs(candidate.fused) <= limits.user_cap + 1e-9
    if not with_noise.held_back:
        assert len(with_noise.best.supporters - {"noisy"}) >= limits.min_users - 1
    assert {c.frame for c in without.candidates} <= {c.frame for c in with_noise.candidates}


@given(found=st.lists(signals, min_size=1, max_size=12), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_fusion_does_not_know_the_order_of_signals(found: list[Signal], seed: int) -> None:
    mixed = random.Random(seed).sample(found, len(found))
    one, other = (fuse(rows, SETTINGS, Limits(2, 2, 0.0, 0.5))["x"] for rows in (found, mixed))
    for candidate in one.candidates:
        assert other.fused(candidate.frame) == pytest.approx(candidate.fused)


def test_rare_exposures_weigh_more_up_to_the_clip() -> None:
    def seen(user: str, strength: float, propensity: float, position: int = 1) -> Signal:
        exposure = Exposure(arm="a", propensity=propensity, position=position)
        frame = FRAMES[0]
        return Signal(case="x", candidate=frame, source="implicit", rule="r", strength=strength, user=user, exposure=exposure)

    free = Limits(user_cap=1.0)
    even = fuse([seen("u1", 1, 0.5), seen("u2", -1, 0.5)], SETTINGS, free)["x"].candidates[0]
    rare = fuse([seen("u1", 1, 0.25), seen("u2", -1, 0.75)], SETTINGS, free)["x"].candidates[0]
    low = fuse([seen("u1", 1, 1, position=3), seen("u2", -1, 1)], SETTINGS, free)["x"].candidates[0]
    clipped = fuse([seen("u1", 1, 0.0001), seen("u2", -1, 1)], SETTINGS, free)["x"].candidates[0]
    assert even.fused == 0
    assert rare.fused == pytest.approx(0.5)
    assert low.fused == pytest.approx(0.5)
    assert clipped.fused == pytest.approx(9 / 11)


def test_lap_takes_a_copy_once_and_counts_an_event_once(store: SqlEventStore, tmp_path: Path) -> None:
    home, catalog = tmp_path / "home", sample_report().intent
    task = catalog.tasks[0]
    wanted = Frame(intent=task.intent)
    for user in ("u1", "u2"):
        add(store, record(f"i-{user}", user), event("slot_edit", f"i-{user}", frame=wanted))
        add(store, record(f"o-{user}", user, text="other"), event("slot_edit", f"o-{user}", frame=Frame(intent="no_task")))

    def take(number: int, now: datetime = NOW) -> int:
        lap = open_lap(home, "d", number)
        before = [open_lap(home, "d", earlier) for earlier in range(1, number)]
        return take_feedback(store, SETTINGS, lap=lap, before=before, catalog=catalog, now=now).observations.rows

    assert take(1) == 4
    corrected = {row.text: row.correction for case in lap_cases(open_lap(home, "d", 1)) for row in case.observations}
    assert corrected == {TEXT: wanted, "other": None}
    add(store, record("late", "u3"), event("slot_edit", "late", frame=wanted))
    assert take(1) == 4, "a lap that is taken up again works from the same events"

    live = lap_cases(open_lap(home, "d", 1))
    answers = [Prediction(frame=SHOWN) for _ in live]
    batch = build_batch(
        [],
        champion=ArmAnswers("m", []),
        probe=ArmAnswers("probe", []),
        probe_rankings=[],
        live=LiveAnswers(live, answers, answers, [[task.intent] for _ in live]),
        teacher=None,
        settings=SETTINGS,
        experiment="e",
        folder=open_lap(home, "d", 1).stage("distillation") / "from-x",
    )
    assert [row.case for row in batch.rows] == [case_key(TEXT)]
    best = max(batch.rows[0].candidates, key=lambda item: item.target)
    assert best.frame == wanted

    report = sample_report().distillation
    assert report.gate is not None
    for decision, rows in (("reject", 5), ("promote", 3)):
        gate = report.gate.model_copy(update={"decision": decision})
        finished = report.model_copy(update={"batch": batch.batch_ref, "gate": gate})
        open_lap(home, "d", 1).finish("distillation", finished, "inputs")
        copy_file(open_lap(home, "d", 2)).unlink(missing_ok=True)
        (open_lap(home, "d", 2).folder / "distillation" / "feedback.json").unlink(missing_ok=True)
        assert take(2) == rows, "what a rejected challenger learned from waits; what was used is not used again"

    assert erase_copies(home, "d", "u1", dry_run=True) == (1, 2)
    assert erase_copies(home, "d", "u1") == (1, 2)
    assert {row.user for case in lap_cases(open_lap(home, "d", 1)) for row in case.observations} == {"u2"}
    assert erase_copies(home, "d", "u1") == ()


def test_label_that_waited_for_its_day_counts_in_a_later_lap(store: SqlEventStore, tmp_path: Path) -> None:
    home, catalog = tmp_path / "home", sample_report().intent
    wanted = Frame(intent=catalog.tasks[0].intent)
    for user in ("u1", "u2"):
        add(store, record(f"i-{user}", user), event("slot_edit", f"i-{user}", frame=wanted))
    add(store, event("operator_label", "i-u1", frame=wanted))
    first = open_lap(home, "d", 1)
    take_feedback(store, SETTINGS, lap=first, before=[], catalog=catalog, now=NOW)
    report = sample_report().distillation
    rows = write_jsonl(tmp_path / "batch.jsonl", [_row()])
    first.finish("distillation", report.model_copy(update={"batch": rows, "gate": None}), "inputs")
    second = open_lap(home, "d", 2)
    take_feedback(store, SETTINGS, lap=second, before=[first], catalog=catalog, now=NOW + timedelta(days=1))
    (case,) = lap_cases(second)
    assert [(item.correction, item.operator_label) for item in case.observations] == [(None, wanted)]


def _row() -> Any:
    from schemas.feedback import CandidateTarget, DistillationRow

    targets = tuple(CandidateTarget(frame=frame, fused=0, teacher=None, target=0.5) for frame in FRAMES[:2])
    return DistillationRow(case=case_key(TEXT), text=TEXT, candidates=targets, weight=1)


def test_winner_of_a_live_trial_speaks_for_its_answers(store: SqlEventStore) -> None:
    facts: list[InferenceRecord | Event] = []
    for number in range(300):
        new, name = number % 2 == 1, f"t-{number}"
        arm, frame = ("challenger", WANTED) if new else ("champion", SHOWN)
        facts.append(record(name, f"u{number}", arm=arm, propensity=0.5, frame=frame))
        facts.append(event("outcome", name, completed=new or number % 10 == 0))
    add(store, *facts)
    cases = live_cases(store, SETTINGS, now=NOW)
    winner, lead = live_winner(cases, TrialSettings())
    assert winner == "challenger"
    assert lead == pytest.approx(0.8, abs=0.01)
    assert live_winner(cases, TrialSettings(least_units=1000)) == (None, 0.0)
    assert live_winner([], TrialSettings()) == (None, 0.0)
