"""Knowledge facts for a model's prompt (white paper F6): a small subgraph around what a statement names."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.normal_text import comparable
from kickwheel.text_file import read_text

HOPS = 2
"""Edges between what is named and the far end of a fact (F6)."""
MOST_FACTS = 3
"""Facts in a prompt (F6)."""


@dataclass(frozen=True)
class Fact:
    """One edge of the graph."""

    subject: str
    relation: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} {self.relation} {self.object}"


def read_facts(path: Path | None) -> tuple[Fact, ...]:
    """Facts of ``knowledge.csv`` in file order; none without a file.

    Raises:
        InputError: it is not UTF-8, or a line has not three cells.
    """
    if path is None:
        return ()
    facts = []
    lines = csv.reader(io.StringIO(read_text(path)))
    next(lines, None)
    for cells in filter(None, lines):
        if len(cells) != 3:
            raise InputError("expected three cells: subject,relation,object", file=path, line=lines.line_num)
        facts.append(Fact(*(" ".join(cell.split()) for cell in cells)))
    return tuple(facts)


def facts_about(text: str, facts: Sequence[Fact], glossary: Glossary, most: int = MOST_FACTS) -> tuple[Fact, ...]:
    """At most ``most`` facts within :data:`HOPS` of what the text names: the near ones first, then in file order."""
    reached = _named(text, facts, glossary)
    found: list[Fact] = []
    for _ in range(HOPS):
        ring = [fact for fact in facts if fact not in found and {comparable(fact.subject), comparable(fact.object)} & reached]
        found += ring
        reached = reached.union(*({comparable(fact.subject), comparable(fact.object)} for fact in ring))
    return tuple(found[:most])


def _named(text: str, facts: Sequence[Fact], glossary: Glossary) -> set[str]:
    """Nodes that the text names, by their own name or by a word of the glossary."""
    said = comparable(text)
    words = [*glossary.entities.items(), *glossary.destinations.items()]
    nodes = {comparable(slug) for word, slug in words if comparable(word) in said}
    return nodes | {comparable(end) for fact in facts for end in (fact.subject, fact.object) if comparable(end) in said}
