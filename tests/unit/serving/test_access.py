"""Tokens: from a setting or hashed in a file, never in a message; and how often each may call."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from kickwheel.errors import InputError
from kickwheel.serving.access import CallerLimits, Tokens, read_tokens
from kickwheel.serving.server_adapter import is_loopback, refuse_open_door

TOKEN = "s3cret-" + "x" * 20


def test_a_token_of_the_setting_is_known_by_name_and_scopes() -> None:
    tokens = read_tokens(SecretStr(f"web:understand+feedback:{TOKEN}\n ops:admin:{TOKEN}2"), None)
    grant = tokens.grant_of(TOKEN)
    assert grant is not None
    assert (grant.name, grant.scopes) == ("web", {"understand", "feedback"})
    for guess in ("", TOKEN[:-1], TOKEN + " ", "ü", "\udcff"):
        assert tokens.grant_of(guess) is None
    assert TOKEN not in repr(tokens.__dict__)


def test_a_file_holds_hashes_only(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    grant = {"name": "web", "scopes": ["understand"], "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}
    file.write_text(json.dumps([grant]))
    found = read_tokens(SecretStr(""), file).grant_of(TOKEN)
    assert found is not None
    assert found.name == "web"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (f"web:understand:{TOKEN} web:admin:{TOKEN}2", "two tokens have the name web"),
        (f"web:everything:{TOKEN}", "entry 1 does not hold"),
        (f"a:admin:{TOKEN} {TOKEN}", "entry 2 does not hold"),
        ("web:understand:short-one", "fewer than 16"),
    ],
)
def test_what_does_not_hold_is_told_without_the_token(setting: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        read_tokens(SecretStr(setting), None)
    assert "s3cret" not in str(raised.value)
    assert "short-one" not in str(raised.value)


@pytest.mark.parametrize("content", ["{", "[{}]", '[{"name": "a", "scopes": ["root"], "sha256": "0"}]'])
def test_a_file_that_does_not_hold_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"tokens\.json"):
        read_tokens(SecretStr(""), file)
    with pytest.raises(InputError, match="no such file"):
        read_tokens(SecretStr(""), tmp_path / "other.json")


def test_without_tokens_only_this_machine_is_listened_to() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert is_loopback(host)
        refuse_open_door(host, Tokens([]))
    for host in ("0.0.0.0", "10.0.0.7", "::", "example.com"):  # noqa: S104 - what must be refused
        with pytest.raises(InputError, match="KICKWHEEL_SERVING__TOKENS"):
            refuse_open_door(host, Tokens([]))
        refuse_open_door(host, read_tokens(SecretStr(f"web:understand:{TOKEN}"), None))


def test_a_caller_may_save_up_twice_its_rate_and_others_have_their_own() -> None:
    now = [0.0]
    limits = CallerLimits(2.0, clock=lambda: now[0])
    assert [limits.wait("a") for _ in range(4)] == [0.0] * 4
    assert limits.wait("a") == pytest.approx(0.5)
    assert limits.wait("b") == 0.0
    now[0] = 0.5
    assert limits.wait("a") == 0.0
    assert limits.wait("a") > 0
    now[0] = 1_000.0
    assert [limits.wait("a") == 0.0 for _ in range(5)] == [True] * 4 + [False]


def test_no_rate_is_no_limit() -> None:
    limits = CallerLimits(0.0, clock=lambda: 0.0)
    assert {limits.wait("a") for _ in range(1_000)} == {0.0}
