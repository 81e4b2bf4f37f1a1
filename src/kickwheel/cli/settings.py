"""``kickwheel settings``: every setting with its environment variable, default and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from kickwheel.settings import Settings

_HEAD = """\
# Settings

Written by `kickwheel settings`. Each is an environment variable; a group may also stand under `settings:` in a domain's
`domain.yaml` (`seeding: {rounds: 3}`), over which the environment wins. Lists and objects are JSON.
"""


def command() -> None:
    """Print every setting as Markdown.

    Examples:

        kickwheel settings

        kickwheel settings | grep TEACHER
    """
    typer.echo(reference(), nl=False)


def reference() -> str:
    """The reference as Markdown, a table a group."""
    lines = [_HEAD, "## General", "", *_table("KICKWHEEL_", Settings, groups=False)]
    for name, field in Settings.model_fields.items():
        group = _group(field)
        if group is not None:
            intro = (group.__doc__ or "").strip().splitlines()[0]
            lines += ["", f"## {name}", "", intro, "", *_table(f"KICKWHEEL_{name.upper()}__", group)]
    return "\n".join(lines) + "\n"


def _table(prefix: str, group: type[BaseModel], *, groups: bool = True) -> Iterator[str]:
    yield "| variable | default | meaning |"
    yield "|---|---|---|"
    for name, field in group.model_fields.items():
        if groups or _group(field) is None:
            yield f"| `{prefix}{name.upper()}` | {_default(field)} | {field.description or ''} |"


def _group(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _default(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, SecretStr) or value in ("", ()):
        return "empty"
    if isinstance(value, BaseModel):
        return f"`{value.model_dump_json()}`"
    return f"`{value}`"
