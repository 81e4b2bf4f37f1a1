"""The worst clusters as work: questions for people, and rows that the next lap's seeding starts from.

One row a case, named by the case, so that writing them again changes nothing. They lie beside the laps: a review reads them as
questions of no lap, seeding reads them as rows of the pool. What people answer is a labelled row of the next lap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue
from kickwheel.workspace import read_jsonl, write_jsonl
from schemas.evidence import BadCaseReport
from schemas.frame import Frame
from schemas.utterance import Utterance


def targets_file(home: Path, domain: str) -> Path:
    """Rows for the pool of the domain's next lap; there is none before the first bad case was written."""
    return home / domain / "feedback" / "targets.jsonl"


def questions_file(home: Path, domain: str) -> Path:
    """Questions for people."""
    return home / domain / "feedback" / "review_items.jsonl"


def bad_case_targets(home: Path, domain: str) -> list[Utterance]:
    """The rows, without labels; none where none were written."""
    path = targets_file(home, domain)
    return read_jsonl(path, Utterance) if path.is_file() else []


def bad_case_questions(home: Path, domain: str) -> list[ReviewItem]:
    """The questions, in the order in which they came."""
    return ReviewQueue(questions_file(home, domain)).items()


def write_targets(
    report: BadCaseReport,
    home: Path,
    domain: str,
    *,
    pool: Sequence[Utterance] = (),
    masked: Callable[[Utterance], Utterance] | None = None,
) -> int:
    """Keep the report's cases as rows and questions, besides those of earlier reports; returns how many questions there are.

    Args:
        pool: The domain's own: a text that stands in it is asked about under the name that it has there.
        masked: Takes personal data out of a row, where the settings say so.
    """
    names = {row.text: row.id for row in pool}
    rows = {row.id: row for row in bad_case_targets(home, domain)}
    asked = {item.id for item in bad_case_questions(home, domain)}
    items = []
    for found in report.clusters:
        members = zip(found.cases, found.texts, found.languages, found.suggestions, strict=True)
        for case, text, language, suggestion in members:
            row = Utterance(id=names.get(text, f"bad-{case}"), text=text, language=language)
            row = masked(row) if masked else row
            if text not in names:
                rows.setdefault(row.id, row)
            if row.id not in asked:
                items.append(_question(row, suggestion, found.fingerprint, found.answers))
                asked.add(row.id)
    write_jsonl(targets_file(home, domain), rows.values())
    if items:
        ReviewQueue(questions_file(home, domain)).add(items)
    return len(asked)


def _question(row: Utterance, suggestion: Frame | None, fingerprint: str, answers: int) -> ReviewItem:
    fits = suggestion is not None and all(row.text[slot.start : slot.end] == slot.value for slot in suggestion.slots)
    return ReviewItem(
        id=row.id,
        text=row.text,
        language=row.language,
        suggestion=suggestion if fits else None,
        reasons=(f"bad case: {fingerprint}", f"{answers} answers alike"),
        probe_confidence=0.0,
        round=1,
    )


def with_targets(pool: Sequence[Utterance], targets: Sequence[Utterance]) -> list[Utterance]:
    """The pool behind the bad cases, which so come first where rows are equally worth a label; each text once."""
    texts = {row.text for row in pool}
    return [*(row for row in targets if row.text not in texts), *pool]
