"""When a distillation is due."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kickwheel.distillation.drift import low_share, stability_index
from kickwheel.distillation.trigger_state import note_used, one_distillation, used_so_far
from kickwheel.distillation.triggers import judge_triggers, split_evidence
from kickwheel.errors import DistillationRuns
from kickwheel.feedback.ports import Exchange, Kept
from kickwheel.settings import TriggerSettings
from schemas.events import DwellEvent, InferenceRecord, ThumbsEvent
from schemas.frame import Frame

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SETTINGS = TriggerSettings(min_answers=20, drift_answers=30)


def exchange(number: int, intent: str, *, judged: int | None = None, looked: int | None = None, sure: float = 0.9) -> Exchange:
    """An answer with sequence ``number``; ``judged``, ``looked``: sequence of a thumb, of a dwell."""
    record = InferenceRecord(
        inference_id=f"i{number}",
        text="t",
        frame=Frame(intent=intent),
        model_version="m",
        confidence=sure,
        at=NOW,
    )
    events = []
    if judged is not None:
        events.append(Kept(ThumbsEvent(event_id=f"t{number}", inference_id=f"i{number}", at=NOW, up=False), judged))
    if looked is not None:
        events.append(Kept(DwellEvent(event_id=f"d{number}", inference_id=f"i{number}", at=NOW, seconds=9), looked))
    return Exchange(record, "case", number, tuple(events))


def test_the_stability_index_by_hand() -> None:
    then, now = ["a"] * 60 + ["b"] * 40, ["a"] * 30 + ["b"] * 70
    old, new = [60.5 / 101, 40.5 / 101], [30.5 / 101, 70.5 / 101]
    assert stability_index(then, now) == pytest.approx(sum((n - o) * math.log(n / o) for o, n in zip(old, new, strict=True)))
    assert stability_index(then, then) == 0.0
    assert stability_index([], now) == 0.0
    assert stability_index(then, ["c"] * 100) > 1.0  # an intent that was never seen is finite, and large


def test_shares_of_low_confidence_leave_out_what_is_not_known() -> None:
    assert low_share([0.2, 0.9, None, 0.4], 0.5) == pytest.approx(2 / 3)
    assert low_share([None], 0.5) == 0.0


def test_without_evidence_nothing_is_due_whoever_asks() -> None:
    looked_at = [exchange(n, "a", looked=100 + n) for n in range(50)]
    assert not judge_triggers(split_evidence(looked_at, 0), SETTINGS, by_hand=True).due


def test_enough_judged_answers_are_due_and_a_few_are_by_hand_only() -> None:
    many = [exchange(n, "a", judged=100 + n) for n in range(20)]
    assert judge_triggers(split_evidence(many, 0), SETTINGS).fired == ("20 answers with new evidence, at least 20",)
    few = split_evidence(many[:3], 0)
    assert not judge_triggers(few, SETTINGS).due
    assert judge_triggers(few, SETTINGS, by_hand=True).fired == ("asked for by hand",)


def test_what_was_used_does_not_fire_again_and_late_feedback_about_old_answers_does() -> None:
    rows = [exchange(n, "a", judged=100 + n) for n in range(20)]
    assert judge_triggers(split_evidence(rows, 119), SETTINGS, by_hand=True).telling_answers == 0
    late = [exchange(n, "a", judged=200 + n) for n in range(20)]
    assert judge_triggers(split_evidence(late, 119), SETTINGS).telling_answers == 20


def test_drift_and_novelty_are_due_where_there_are_enough_answers_on_both_sides() -> None:
    before = [exchange(n, "a" if n % 2 else "b") for n in range(100)]
    moved = [exchange(1000 + n, "b", judged=1000 + n if n < 5 else None) for n in range(60)]
    verdict = judge_triggers(split_evidence(before + moved, 999), SETTINGS)
    assert "drift: stability index" in verdict.fired[0]
    unsure = [exchange(1000 + n, "a" if n % 2 else "b", judged=1000 if n == 0 else None, sure=0.3) for n in range(60)]
    assert "novelty: 100 %" in judge_triggers(split_evidence(before + unsure, 999), SETTINGS).fired[0]
    assert not judge_triggers(split_evidence(before[:10] + moved, 999), SETTINGS).due


def test_one_distillation_runs_at_a_time_and_the_cursor_belongs_to_one_store(tmp_path: Path) -> None:
    with one_distillation(tmp_path, "shop"), pytest.raises(DistillationRuns, match="running already"):
        one_distillation(tmp_path, "shop").__enter__()
    note_used(tmp_path, "shop", store=7, sequence=41)
    assert used_so_far(tmp_path, "shop", store=7) == 41
    assert used_so_far(tmp_path, "shop", store=8) == 0
