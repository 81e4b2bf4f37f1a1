"""``bindings.yaml``: what the targets of a domain's tasks are physically."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, RootModel

from kickwheel.execution.places import Output, Part, Source
from kickwheel.execution.rules import Rule
from kickwheel.yaml_document import read_yaml
from schemas.base import Slug


def _renaming(value: object) -> object:
    """``a``, ``[a, b]`` and ``{a: x}`` all as a mapping."""
    if isinstance(value, str):
        return {value: value}
    return {name: name for name in value} if isinstance(value, list) else value


Renaming = Annotated[dict[str, str], BeforeValidator(_renaming)]


class Lookup(Source):
    """What ``enrich`` joins on."""

    keys: Renaming = Field(min_length=1, description="Columns to join on: a name, names, or {source column: lookup column}")
    columns: Renaming = Field(default={}, description="Columns to add: names, or {lookup column: new name}; empty: all")


class Binding(Part):
    """What an action's executor works on."""

    source: Source
    output: Output | None = None
    lookup: Lookup | None = None
    rules: tuple[Rule, ...] = ()
    sample: int = Field(default=20, ge=0, description="Failing rows kept for each rule; all are counted")
    options: dict[str, Any] = Field(default={}, description="For executors that are plug-ins")


class BindingsDocument(RootModel[dict[Slug, Binding]]):
    """The whole file: intent, target or entity -> binding."""

    model_config = ConfigDict(frozen=True)


def load_bindings(path: Path | None) -> Mapping[str, Binding]:
    """Bindings by slug; none where the domain has no such file.

    Raises:
        YamlProblems: the file does not hold; names line and field of every problem.
    """
    return read_yaml(path, BindingsDocument).root if path else {}
