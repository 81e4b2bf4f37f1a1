"""Questions for people carry how sure the teacher was, where that is known."""

from __future__ import annotations

import pytest

from kickwheel.seeding.self_label import TeacherLabel
from kickwheel.seeding.sorting import sort_labels
from schemas.frame import Frame, Prediction
from tests.unit.seeding.seeding_world import CATALOG, POOL, TRUTH


@pytest.mark.parametrize(("intent", "slots"), [(0.9, {"region": 0.5, "date": 0.8}), (None, {})])
def test_a_question_carries_the_teachers_confidence_and_not_known_stays_not_known(
    intent: float | None, slots: dict[str, float]
) -> None:
    row = POOL[0]
    prediction = Prediction(frame=TRUTH[row.id].frame, intent_confidence=intent, slot_confidence=slots)
    guess = Prediction(frame=Frame(intent="out_of_scope"), confidence=0.4)
    (item,) = sort_labels(CATALOG, 1, [row], [guess], [TeacherLabel(row, prediction, ())]).items
    assert (item.suggestion, item.intent_confidence, item.slot_confidence) == (TRUTH[row.id].frame, intent, slots)
    assert item.probe_confidence == 0.4


def test_without_a_teacher_nothing_is_known() -> None:
    (item,) = sort_labels(CATALOG, 1, POOL[:1], [Prediction(frame=Frame(intent="out_of_scope"))], []).items
    assert (item.suggestion, item.intent_confidence, item.slot_confidence) == (None, None, {})
