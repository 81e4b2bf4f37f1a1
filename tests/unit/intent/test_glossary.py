"""Business words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.intent.glossary import Window, load_glossary
from kickwheel.yaml_document import YamlProblems


def written(folder: Path, text: str) -> Path:
    path = folder / "glossary.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_domain_s_words_win_over_everybody_s(tmp_path: Path) -> None:
    glossary = load_glossary(written(tmp_path, "entities: {purchases: [订单, orders]}\nactions: {post: [同步]}"))
    assert (glossary.entity("订单"), glossary.entity("Orders"), glossary.action_of("同步")) == (
        "purchases",
        "purchases",
        "post",
    )
    assert glossary.entity("用户订单") == "orders", "other base words stay"


def test_names_are_found_in_singular_plural_and_any_width() -> None:
    glossary = load_glossary()
    assert glossary.entity("customer order") == glossary.entity("Customer Orders") == "orders"
    assert glossary.entity("ＡＰＩ日志") == glossary.entity("API Log") == "api_logs"


@pytest.mark.parametrize("form", ["sync", "Syncs", "synced", "syncing", "copies", "verified", "archiving", "同步"])
def test_action_words_are_found_in_their_regular_forms(form: str) -> None:
    glossary = load_glossary()
    match = glossary.action_pattern.search(f"x {form} y")
    assert match is not None
    assert glossary.action_of(match.group()) in {"sync", "validate", "archive"}


def test_action_words_are_whole_words() -> None:
    assert load_glossary().action_pattern.search("asynchronous checkout") is None


def test_nearest_entities_are_offered_for_an_unknown_one() -> None:
    assert load_glossary().nearest("order backlog")[0] == "orders"


def test_time_words_are_times_or_windows_and_can_be_taken_away(tmp_path: Path) -> None:
    glossary = load_glossary(written(tmp_path, 'time_words: {凌晨: "02:00", 值班: "08:00-20:00", business hours: null}'))
    assert glossary.time_meaning("凌晨") == 120
    assert glossary.time_meaning("值班") == Window(480, 1200)
    assert glossary.time_meaning("Business-Hours") is None
    assert load_glossary().time_meaning("Business-Hours") == Window(540, 1020, weekdays_only=True)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("entity: {}", "entity"),
        ("entities: {Orders: [订单]}", "entities.Orders.[key]"),
        ("time_words: {凌晨: 2}", "time_words.凌晨"),
        ('time_words: {凌晨: "25:00"}', "time_words.凌晨"),
        ("entities: {a: [订单], b: [订 单]}", None),
    ],
)
def test_glossary_that_does_not_hold_names_the_field(tmp_path: Path, text: str, field: str | None) -> None:
    with pytest.raises(YamlProblems) as error:
        load_glossary(written(tmp_path, text))
    assert error.value.field == field
