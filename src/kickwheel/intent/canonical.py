"""A triple as a sentence that the rules map to just that triple: what a person may put into the document."""

from __future__ import annotations

from collections.abc import Iterator

from kickwheel.intent.cron_text import write_cron
from kickwheel.intent.documents import parse_document
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.llm_reply import ReadTriple
from kickwheel.intent.ports import Recognised
from kickwheel.intent.recurrence import Recurrence
from kickwheel.intent.rules import RulesRecogniser


def canonical_sentence(read: ReadTriple, *, chinese: bool, rules: RulesRecogniser) -> str | None:
    """The sentence, in the statement's language and words of time where they serve; None: the rules map none to it."""
    return next(
        (sentence for sentence in _sentences(read, chinese, rules.glossary) if _holds(sentence, read.triple, rules)), None
    )


def same_task(one: Recognised, other: Recognised) -> bool:
    """Whether two triples are the same task at the same times, however they were found."""
    entities = {one.target or one.entity, other.target or other.entity}
    times = [(found.time.when, found.time.zone) for found in (one, other)]
    return one.action == other.action and len(entities) == 1 and times[0] == times[1]


def _holds(sentence: str, triple: Recognised, rules: RulesRecogniser) -> bool:
    """Whether a document with the sentence holds just the triple: as it is read from Markdown, by the rules."""
    statements = parse_document(f"- {sentence}\n", "proposal", markdown=True).statements
    if [(statement.quote, statement.fields) for statement in statements] != [(sentence, {})]:
        return False
    match rules.recognise(sentence):
        case [Recognised() as found]:
            return same_task(found, triple) and found.flag == triple.flag
    return False


def _sentences(read: ReadTriple, chinese: bool, glossary: Glossary) -> Iterator[str]:
    triple, destination = read.triple, read.destination
    words = [word for word, action in glossary.actions.items() if action == triple.action]
    words = [word for word in words if word.isascii() != chinese] or words
    for time in _times(read, chinese):
        if chinese:
            yield f"{time}{words[0]}{triple.entity}" + (f"至{destination}" if destination else "")
        else:
            sentence = f"{words[0]} {triple.entity}" + (f" to {destination}" if destination else "")
            for joint in (" ", " at "):
                yield _capitalised(f"{sentence}{joint}{time}" if time else sentence)


def _times(read: ReadTriple, chinese: bool) -> Iterator[str]:
    """Words of the triple's time: the statement's own, else a cron expression."""
    words = ("" if chinese else " ").join(read.time_words)
    yield words[:1].lower() + words[1:] if words[1:2].islower() else words  # 'Every day, …' may go to the end
    time = read.triple.time
    cron = write_cron(time.when) if isinstance(time.when, Recurrence) else None
    if cron:
        yield f"{cron} {time.zone} " if time.zone else f"{cron} "


def _capitalised(sentence: str) -> str:
    sentence = sentence.strip()
    return sentence[:1].upper() + sentence[1:]
