"""Which of a domain's data a text names, in the glossary's words: what a label may be held against.

"check the stock of Leeds" names the inventory, so that a label about invoices is doubtful. Texts that deny what they name ("not
the orders, the cash") are wrongly doubted and cost a look: of the example's 296 rows that name one target (services such as
``inventory-api`` among them), 16 are about another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.normal_text import normalise
from schemas.frame import Frame
from schemas.task import TaskCatalog

NamedTargets = Callable[[str], Set[str]]
"""Targets of the catalogue that a text names."""


def names_nothing(_text: str) -> Set[str]:
    """Of a domain whose words nobody has written down."""
    return frozenset()


def named_targets(glossary: Glossary, catalog: TaskCatalog) -> NamedTargets:
    """Finds the words of the catalogue's targets; English ones as whole words, ``inventory-api`` being none."""
    targets = {task.target for task in catalog.tasks if task.target}
    words = {normalise(word).lower(): slug for word, slug in glossary.entities.items() if slug in targets}
    if not words:
        return names_nothing
    longest_first = sorted(words, key=len, reverse=True)
    parts = [rf"(?<![\w-]){re.escape(word)}(?![\w-])" if word.isascii() else re.escape(word) for word in longest_first]
    pattern = re.compile("|".join(parts), re.ASCII)

    def find(text: str) -> Set[str]:
        return {words[match.group()] for match in pattern.finditer(normalise(text).lower())}

    return find


def contradicts(text: str, frame: Frame, catalog: TaskCatalog, named: NamedTargets) -> bool:
    """Whether a text names one target, and the label is about another."""
    found = named(text)
    target = next((task.target for task in catalog.tasks if task.intent == frame.intent), None)
    return len(found) == 1 and target is not None and target not in found
