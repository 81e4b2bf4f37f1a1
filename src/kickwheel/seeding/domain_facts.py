"""Facts of a domain's ``knowledge.csv`` for the teacher's prompt (white paper F6), found as the recogniser finds them."""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.domain import Domain
from kickwheel.intent.knowledge import facts_about, read_facts
from kickwheel.seeding.teacher_prompt import FactsAbout, no_facts


def facts_of(domain: Domain, most: int) -> FactsAbout:
    """At most so many facts about what a text names.

    Raises:
        InputError: a line of the file has not three cells.
    """
    facts, glossary = read_facts(domain.knowledge), domain.glossary()
    if not facts or not most:
        return no_facts

    def about(text: str) -> Sequence[str]:
        return [str(fact) for fact in facts_about(text, facts, glossary, most)]

    return about
