"""Labels that the other rows speak against."""

from __future__ import annotations

from kickwheel.seeding.label_errors import label_suspects
from schemas.frame import Frame
from schemas.utterance import Utterance
from tests.unit.seeding.seeding_world import SEEDS, row


def test_a_wrong_label_is_found_by_models_that_have_not_seen_it() -> None:
    """cleanlab/cleanlab 52: a model that was trained on the row would believe it."""
    wrong = {"seeds-1a": "fetch_logs", "seeds-2b": "enrich_profiles", "seeds-3c": "sync_orders"}
    rows = [item.model_copy(update={"frame": Frame(intent=wrong[item.id])}) if item.id in wrong else item for item in SEEDS]
    found = label_suspects(rows, folds=5, seed=0)
    assert {suspect.id for suspect in found[:3]} == set(wrong)
    assert {(suspect.id, suspect.intent) for suspect in found[:3]} == set(wrong.items())
    truth = {item.id: item.frame.intent for item in SEEDS if item.frame}
    assert all(suspect.likely == truth[suspect.id] for suspect in found[:3])
    assert all(0 < suspect.likely_probability <= 1 for suspect in found)


def test_right_labels_are_left_alone_and_the_answer_is_the_same_twice() -> None:
    first = label_suspects(SEEDS, folds=5, seed=0)
    assert len(first) <= 1
    assert first == label_suspects(SEEDS, folds=5, seed=0)


def test_rare_intents_are_learned_from_and_not_judged() -> None:
    rare = [row("rare", "logs from kong yesterday", "drop_tables")]
    assert "rare" not in {suspect.id for suspect in label_suspects([*SEEDS, *rare], folds=5, seed=0)}


def test_where_there_is_nothing_to_compare_nothing_is_found() -> None:
    one: list[Utterance] = [item for item in SEEDS if item.frame and item.frame.intent == "sync_orders"]
    assert label_suspects(one, folds=5, seed=0) == label_suspects([], folds=5, seed=0) == []
    assert label_suspects(SEEDS, folds=0, seed=0) == label_suspects(SEEDS, folds=1, seed=0) == []
