"""Labels held against what the text names in the glossary's words."""

from __future__ import annotations

import pytest

from kickwheel.intent.glossary import Glossary
from kickwheel.seeding.checks import failed_checks
from kickwheel.seeding.named_targets import contradicts, named_targets
from schemas.frame import Frame
from tests.unit.seeding.seeding_world import CATALOG

WORDS = {"orders": "orders", "订单": "orders", "access logs": "logs", "日志": "logs", "profiles": "profiles", "rates": "rates"}
NAMED = named_targets(Glossary(actions={}, entities=WORDS, destinations={}, time_words={}), CATALOG)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("reload the ORDERS of EMEA", {"orders"}),
        ("把华东的订单同步一下😀", {"orders"}),
        ("网关日志和订单", {"logs", "orders"}),
        ("logs of orders-api", set()),
        ("preorders", set()),
        ("access logs please", {"logs"}),
        ("what are the rates", set()),  # no task of the catalogue is about them
    ],
)
def test_finds_targets_of_the_catalogue(text: str, targets: set[str]) -> None:
    assert NAMED(text) == targets


@pytest.mark.parametrize(
    ("text", "intent", "doubtful"),
    [
        ("reload the orders", "sync_orders", False),
        ("reload the orders", "fetch_logs", True),
        ("access logs of orders", "fetch_logs", False),
        ("access logs of orders", "enrich_profiles", False),  # two are named: nothing can be said
        ("reload it", "fetch_logs", False),
        ("reload the orders", "out_of_scope", False),
    ],
)
def test_one_named_target_contradicts_a_label_about_another(text: str, intent: str, doubtful: bool) -> None:
    assert contradicts(text, Frame(intent=intent), CATALOG, NAMED) is doubtful


def test_a_doubtful_label_fails_even_if_both_labellers_agree() -> None:
    frame = Frame(intent="fetch_logs")
    assert failed_checks("reload the orders", frame, CATALOG, frame, NAMED) == ("entity_disagrees",)
