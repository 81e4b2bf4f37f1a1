"""``${NAME}`` in bindings: filled in at the last moment, and hidden again in whatever is said about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, unquote, urlsplit

from kickwheel.errors import TaskRefused

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
FOLDERS = ("domain", "home")
"""Placeholders that are folders, not environment variables, and no secrets."""
_SHORTEST_SECRET = 3
"""Shorter values are not hidden: replacing every "1" would make messages unreadable and protect nothing."""


@dataclass(frozen=True)
class Placeholders:
    """Values by name: the folders, and those environment variables that a binding names."""

    values: Mapping[str, str]

    def fill(self, text: str) -> str:
        """The text with every ``${NAME}`` replaced. The result may hold secrets: use it, never show it.

        Raises:
            TaskRefused: a variable is not set.
        """
        missing = [name for name in PLACEHOLDER.findall(text) if name not in self.values]
        if missing:
            raise TaskRefused(
                f"the environment variable {missing[0]} is not set: bindings.yaml needs it for {text} "
                "(an unattended run takes it from the worker's environment)"
            )
        return PLACEHOLDER.sub(lambda found: self.values[found[1]], text)

    def hide(self, text: str) -> str:
        """The text with every value of a variable, and every password in one, put back to ``${NAME}``."""
        secrets = {form: name for name, value in self.values.items() if name not in FOLDERS for form in _forms(value)}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, f"${{{secrets[secret]}}}")
        return text


def placeholders_of(text: str, environment: Mapping[str, str], folders: Mapping[str, str]) -> Placeholders:
    """Values for the names that stand in a text; no other variable of the environment is touched."""
    named = {name: environment[name] for name in PLACEHOLDER.findall(text) if name in environment}
    return Placeholders({**named, **folders})


def _forms(value: str) -> Iterable[str]:
    """How a value may turn up in a driver's message: as it is, URL-quoted, or only the password in it."""
    found = [value]
    with suppress(ValueError):
        password = urlsplit(value).password
        found += [password, unquote(password)] if password else []
    return {form for item in found for form in (item, quote(item, safe=""), quote_plus(item)) if len(form) >= _SHORTEST_SECRET}
