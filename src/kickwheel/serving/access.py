"""Who may call what: bearer tokens with scopes, and how often each may call.

Tokens are configured, not issued. A setting holds them as they are (an environment variable, a secret of the platform); a file
holds their SHA-256 only. Held in memory as hashes; a caller's token is hashed and compared with each in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from kickwheel.errors import InputError
from schemas.base import Sha256

Scope = Literal["understand", "feedback", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SHORTEST_TOKEN = 16
_FORM = re.compile(r"^(?P<name>[\w.-]{1,64}):(?P<scopes>[a-z+]+):(?P<token>[\x21-\x7e]+)$")
_WANTED = f"expected NAME:SCOPE+SCOPE:TOKEN, with scopes out of {', '.join(SCOPES)}"


class Grant(BaseModel):
    """A token by its hash, and what it is good for. ``name`` is what logs say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=64)
    scopes: frozenset[Scope] = Field(min_length=1)
    sha256: Sha256


_GRANTS: TypeAdapter[list[Grant]] = TypeAdapter(list[Grant])


class Tokens:
    """The tokens of a service. Without any, everybody who can reach it may do everything: on this machine only."""

    def __init__(self, grants: Sequence[Grant]):
        self._grants = tuple(grants)

    def __bool__(self) -> bool:
        return bool(self._grants)

    @property
    def names(self) -> list[str]:
        """Names of the tokens."""
        return [grant.name for grant in self._grants]

    def grant_of(self, token: str) -> Grant | None:
        """What a token is good for; None: it is none. Takes as long for a good one as for a bad one."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        found = None
        for grant in self._grants:
            if hmac.compare_digest(grant.sha256, digest):
                found = grant
        return found


def read_tokens(setting: SecretStr, file: Path | None) -> Tokens:
    """Tokens of a setting (``NAME:SCOPE+SCOPE:TOKEN``, separated by blanks) and of a file (a JSON list of grants).

    Raises:
        InputError: one does not hold. The message names the token by its name or place, never the token.
    """
    grants = [_of_setting(entry, number) for number, entry in enumerate(setting.get_secret_value().split(), start=1)]
    if file is not None:
        grants += _of_file(file)
    names = [grant.name for grant in grants]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"two tokens have the name {', '.join(twice)}", field="KICKWHEEL_SERVING__TOKENS")
    return Tokens(grants)


def _of_setting(entry: str, number: int) -> Grant:
    form = _FORM.match(entry)
    scopes = form["scopes"].split("+") if form else []
    if form is None or not set(scopes) <= set(SCOPES):
        raise InputError(f"entry {number} does not hold: {_WANTED}", field="KICKWHEEL_SERVING__TOKENS")
    if len(form["token"]) < SHORTEST_TOKEN:
        raise InputError(
            f"the token {form['name']!r} has fewer than {SHORTEST_TOKEN} characters: make one with openssl rand -hex 24",
            field="KICKWHEEL_SERVING__TOKENS",
        )
    return Grant.model_validate(
        {"name": form["name"], "scopes": scopes, "sha256": hashlib.sha256(form["token"].encode()).hexdigest()}
    )


def _of_file(file: Path) -> list[Grant]:
    try:
        return _GRANTS.validate_python(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=file) from error
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error.msg}", file=file, line=error.lineno) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InputError(first["msg"], file=file, field=".".join(str(part) for part in first["loc"])) from error


@dataclass
class _Bucket:
    tokens: float
    filled_at: float


class CallerLimits:
    """A token bucket a caller: ``per_second`` calls on average, twice as many at once. 0: no limit.

    Args:
        clock: seconds, rising.
    """

    def __init__(self, per_second: float, *, clock: Callable[[], float]):
        self._rate, self._burst, self._clock = per_second, max(1.0, 2 * per_second), clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, caller: str) -> float:
        """Take a call: 0.0, or seconds after which there will be one to take. Callers are few: those that have a token."""
        if not self._rate:
            return 0.0
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled_at) * self._rate)
        bucket.filled_at = now
        if bucket.tokens < 1.0:
            return (1.0 - bucket.tokens) / self._rate
        bucket.tokens -= 1.0
        return 0.0
