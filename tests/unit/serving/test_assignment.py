"""Who answers whom: sticky, uniform, with the right propensity, and moved by a growing share in one direction only."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from kickwheel.serving.assignment import assign, place_of, unit_of, version_of
from schemas.serving import Routing, ServedVersion

OLD, NEW = ServedVersion(name="old", kind="probe"), ServedVersion(name="new", kind="probe")
UNITS = st.text(min_size=1, max_size=40)
SHARES = st.floats(0.0, 1.0)


def trial(share: float, experiment: str = "first") -> Routing:
    return Routing(revision=1, champion=OLD, challenger=NEW, challenger_share=share, experiment=experiment)


@settings(deadline=None)
@given(UNITS, SHARES, SHARES)
def test_a_growing_share_only_ever_moves_units_to_the_challenger(unit: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    if assign(trial(low), unit).arm == "challenger":
        assert assign(trial(high), unit).arm == "challenger"


@settings(deadline=None)
@given(UNITS, SHARES)
def test_a_unit_keeps_its_arm_and_the_propensity_is_that_of_its_arm(unit: str, share: float) -> None:
    given_ = assign(trial(share), unit)
    assert given_ == assign(trial(share), unit)
    assert given_.propensity == (share if given_.arm == "challenger" else 1.0 - share)
    assert given_.propensity > 0
    assert 0.0 <= place_of("first", unit) < 1.0


@settings(deadline=None)
@given(UNITS)
def test_without_a_trial_or_in_the_shadow_the_champion_answers_for_certain(unit: str) -> None:
    shadow = Routing(revision=2, champion=OLD, challenger=NEW, shadow=True, experiment="first")
    for routing in (Routing(revision=1, champion=OLD), shadow):
        assert assign(routing, unit).arm == "champion"
        assert assign(routing, unit).propensity == 1.0


def test_places_are_uniform_also_for_units_that_look_alike() -> None:
    drawn = random.Random(7)
    for units in ([f"user:{n}" for n in range(20_000)], [f"session:{drawn.getrandbits(128):x}" for _ in range(20_000)]):
        counts = [0] * 50
        for unit in units:
            counts[int(place_of("first", unit) * 50)] += 1
        assert chisquare(counts).pvalue > 0.001


def test_another_experiment_deals_the_units_anew() -> None:
    units = [f"user:{n}" for n in range(20_000)]
    both = sum(place_of("first", unit) < 0.5 and place_of("second", unit) < 0.5 for unit in units)
    assert abs(both - 5_000) < 4 * math.sqrt(20_000 * 0.25 * 0.75)  # independent: a quarter, within four standard errors


def test_the_place_of_a_unit_is_the_same_for_ever() -> None:
    """An arm that changes with a release would break every trial that runs: these numbers may not change."""
    assert place_of("first", "user:ana") == pytest.approx(PLACES[0], abs=0)
    assert place_of("第一", "session:会话") == pytest.approx(PLACES[1], abs=0)


PLACES = (0.008412016691703772, 0.4181871219995341)


def test_the_unit_is_the_user_else_the_session_else_the_request() -> None:
    assert unit_of("ana", "s1", "i1") == "user:ana"
    assert unit_of(None, "ana", "i1") == "session:ana"
    assert unit_of("", "", "i1") == "inference:i1"


def test_an_arm_that_is_not_there_is_told() -> None:
    assert version_of(trial(0.5), "challenger") == NEW
    assert version_of(Routing(revision=3, champion=OLD), "champion") == OLD
    with pytest.raises(ValueError, match=r"revision 3 .* no challenger"):
        version_of(Routing(revision=3, champion=OLD), "challenger")
