"""What is nearly an evaluation row is not trained on, and rows that say the same are one row."""

from __future__ import annotations

import pytest

from kickwheel.errors import StageFailed
from kickwheel.seeding.duplicates import duplicate_rows, repeated_texts
from kickwheel.seeding.leakage import HeldOut, leaked_rows, refuse_leaks
from kickwheel.seeding.similar_texts import most_similar, similar, trigrams
from schemas.seed_checks import LeakedRow
from schemas.utterance import LabelSource, Provenance, Utterance
from tests.unit.seeding.seeding_world import row, unlabelled

EVAL = row("eval-1", "please reload the orders of EMEA for yesterday", "sync_orders", region="EMEA", date="yesterday")
ZH = row("eval-2", "把昨天华东区的订单重新同步到数据湖里", "sync_orders", date="昨天", region="华东区")
HELD_OUT: HeldOut = {"valid": [row("valid-1", "what is for lunch?", "out_of_scope")], "eval": [EVAL, ZH]}


def leaks(*rows: Utterance, templates: bool = True) -> list[LeakedRow]:
    return leaked_rows(rows, HELD_OUT, threshold=0.8, templates=templates)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Please reload the orders of EMEA, for yesterday!", "eval-1"),
        ("please reload the orders of EMEA for yesterday 🙃", "eval-1"),
        ("please reload all the orders of EMEA for yesterday", "eval-1"),
        ("把昨天华东区的订单重新同步到数据湖里吧", "eval-2"),
        ("ＷＨＡＴ is for lunch", "valid-1"),
    ],
)
def test_a_near_duplicate_is_found_before_it_has_a_label(text: str, other: str) -> None:
    """NVIDIA's blueprint takes the equal query only; RasaHQ and cleanlab users met the rest."""
    found = leaks(unlabelled(row("pool-1", text, "out_of_scope")))
    assert [(leak.id, leak.other, leak.reason) for leak in found] == [("pool-1", other, "near_duplicate")]
    assert 0.8 <= found[0].similarity <= 1.0


def test_another_request_is_no_leak() -> None:
    assert leaks(row("a", "logs of kong since monday", "fetch_logs", service="kong"), row("b", "??", "out_of_scope")) == []


def test_the_same_words_around_other_values_are_a_leak_unless_the_settings_say_otherwise() -> None:
    text = "please reload the orders of southern Latin America for 28 February"
    twin = row("pool-9", text, "sync_orders", region="southern Latin America", date="28 February")
    found = leaks(twin)
    assert [(leak.other, leak.reason) for leak in found] == [("eval-1", "template")]
    assert found[0].similarity < 0.8
    assert leaks(twin, templates=False) == []
    assert leaks(unlabelled(twin)) == []  # without a label nobody knows what is a value


def test_a_text_of_nothing_but_values_has_no_template() -> None:
    held: HeldOut = {"valid": [row("v", "EMEA yesterday", "sync_orders", region="EMEA", date="yesterday")], "eval": []}
    other = row("a", "LATAM today", "sync_orders", region="LATAM", date="today")
    assert leaked_rows([other], held, threshold=0.8, templates=True) == []


def test_a_row_made_from_an_evaluation_row_is_a_leak_whatever_it_says() -> None:
    child = row("syn-1", "quite other words", "out_of_scope").model_copy(
        update={"provenance": Provenance(source="teacher", parent="eval-2")}
    )
    assert [(leak.other, leak.reason) for leak in leaks(child)] == [("eval-2", "parent")]


def test_training_stops_and_names_the_rows() -> None:
    injected = [row(f"pool-{n}", EVAL.text + "!" * n, "sync_orders", region="EMEA") for n in range(12)]
    with pytest.raises(StageFailed, match=r"12 training rows.*pool-0 is 100 % the same as eval row eval-1.*and 2 more"):
        refuse_leaks(injected, HELD_OUT, threshold=0.8, templates=True)
    refuse_leaks([row("a", "logs of kong", "fetch_logs", service="kong")], HELD_OUT, threshold=0.8, templates=True)


def test_similarity_is_the_share_of_common_trigrams() -> None:
    assert trigrams("A b-C!") == {"abc"}
    assert trigrams("") == {""}
    assert trigrams("?!") == {"?!"}
    pairs = list(similar(["abcd"], ["abce", "zzzz", "ABCD"], 0.3))
    assert [(pair.other, round(pair.similarity, 3)) for pair in pairs] == [(2, 1.0), (0, 0.333)]
    assert most_similar(["abcd"], ["abce"], 0.34) == {}
    assert most_similar([], ["a"], 0.1) == most_similar(["a"], [], 0.1) == {}


def test_places_hold_across_blocks() -> None:
    texts = [f"row number {n} of a long list" for n in range(4_500)]
    found = most_similar(texts, [texts[4_321]], 1.0)
    assert list(found) == [4_321]


def from_source(utterance: Utterance, source: LabelSource) -> Utterance:
    return utterance.model_copy(update={"provenance": Provenance(source=source)})


def test_of_rows_that_say_the_same_the_most_trusted_stays() -> None:
    teacher = from_source(row("a", "reload the orders of EMEA for yesterday", "sync_orders", region="EMEA"), "teacher")
    person = from_source(row("b", "Reload the orders of EMEA for yesterday.", "sync_orders", region="EMEA"), "reviewer")
    found = duplicate_rows([teacher, person], threshold=0.8)
    assert [(item.id, item.of, item.similarity, item.same_label) for item in found] == [("a", "b", 1.0, True)]


def test_equal_texts_with_two_labels_are_one_row_and_told_apart() -> None:
    teacher = from_source(row("a", "orders of EMEA", "fetch_logs"), "teacher")
    person = from_source(row("b", "orders of emea", "sync_orders"), "reviewer")
    assert [(item.id, item.same_label) for item in duplicate_rows([teacher, person], threshold=0.8)] == [("a", False)]


def test_nearly_equal_texts_are_two_lessons_unless_the_label_is_the_same() -> None:
    first = row("a", "please send me the logs from the checkout service now 1", "fetch_logs")
    second = row("b", "please send me the logs from the checkout service now 2", "fetch_logs")
    slot = row("c", "please send me the logs from the checkout service now 3", "fetch_logs", service="checkout")
    assert [(item.id, item.of) for item in duplicate_rows([first, second, slot], threshold=0.8)] == [("b", "a")]
    assert duplicate_rows([first, second], threshold=1.0) == []


def test_a_chain_of_duplicates_leaves_the_first() -> None:
    rows = [row(f"r{n}", "sync the orders" + "!" * n, "sync_orders") for n in range(4)]
    assert [(item.id, item.of) for item in duplicate_rows(rows, threshold=0.8)] == [("r1", "r0"), ("r2", "r0"), ("r3", "r0")]


def test_pool_rows_whose_text_is_there_already_need_no_answer() -> None:
    pool = [row("p1", "Sync orders!", "sync_orders"), row("p2", "拉日志", "fetch_logs"), row("p3", "拉 日志。", "fetch_logs")]
    assert repeated_texts(pool, [row("s", "sync orders", "sync_orders")]) == {"p1", "p3"}
