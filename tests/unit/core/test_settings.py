"""Settings: defaults < domain < environment."""

from __future__ import annotations

import pytest

from kickwheel.errors import InputError
from kickwheel.settings import get_settings


def test_the_environment_wins_over_the_domain_and_the_domain_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = {"seeding": {"rounds": 5, "per_round": 7}}
    assert get_settings().seeding.rounds == 2
    assert get_settings(domain).seeding.rounds == 5
    monkeypatch.setenv("KICKWHEEL_SEEDING__ROUNDS", "3")
    assert (get_settings(domain).seeding.rounds, get_settings(domain).seeding.per_round) == (3, 7)


def test_an_unknown_name_in_a_group_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"seeding\.per_rnd"):
        get_settings({"seeding": {"per_rnd": 7}})


def test_a_key_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KICKWHEEL_TEACHER__API_KEY", "sk-very-secret")
    settings = get_settings()
    assert settings.teacher.api_key.get_secret_value() == "sk-very-secret"
    assert "very-secret" not in f"{settings!r} {settings.model_dump_json()}"
