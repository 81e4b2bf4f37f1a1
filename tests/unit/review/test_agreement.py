"""Agreement beyond chance, against worked examples."""

from __future__ import annotations

import pytest

from kickwheel.review.agreement import cohen_kappa, krippendorff_alpha, pair_agreements
from schemas.frame import Frame
from tests.unit.review.review_world import frame

# Krippendorff's example of four observers, twelve units and gaps ("C" data of the R packages irr and DescTools); nominal: 0.743
OBSERVERS = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
)


def test_alpha_of_the_worked_example() -> None:
    units = [[value for value in unit if value is not None] for unit in zip(*OBSERVERS, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_one_where_all_agree_and_nothing_where_nothing_can_be_told() -> None:
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1.0
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert krippendorff_alpha([["a"], []]) is None


def test_kappa_of_a_worked_example() -> None:
    # Cohen's textbook table: 20 yes-yes, 15 no-no, 5 and 10 off the diagonal: 0.4
    pairs = [("yes", "yes")] * 20 + [("no", "no")] * 15 + [("yes", "no")] * 5 + [("no", "yes")] * 10
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([("a", "a")] * 3) is None


def test_a_pair_is_compared_on_the_rows_of_both() -> None:
    text = "orders of EMEA"
    with_slot, without = frame(text, "sync_orders", region="EMEA"), Frame(intent="sync_orders")
    other = Frame(intent="out_of_scope")
    rows = [
        {"bo": with_slot, "ana": with_slot},
        {"bo": without, "ana": with_slot},
        {"bo": other, "ana": other},
        {"bo": other},
        {"cy": other},
    ]
    (pair,) = pair_agreements(rows)
    assert pair.reviewers == ("ana", "bo")
    assert (pair.shared, pair.same_intent, pair.same_frame) == (3, 1.0, pytest.approx(2 / 3))
    assert pair.kappa == 1.0
