"""How well and how fast statements are read: ``python -m benchmarks.intent [--recogniser llm] [--statements FILE…]``.

Rows of FILE are those of a domain's ``expected.jsonl``; without one, the checked statements of the tests, half by half. The
model of ``llm`` and ``hybrid`` is that of ``KICKWHEEL_TEACHER__BASE_URL`` and ``KICKWHEEL_TEACHER__MODEL``; its replies are
remembered below ``KICKWHEEL_HOME``, so that only the first run pays. Prints one JSON object, with an object a file:

- ``right``: every triple, schedule and refusal as expected. ``triples`` and ``schedules``: of the statements that ask for
  tasks, those whose actions and targets, and those whose times as well, are right.
- ``wrongly_accepted``: something was mapped, and not as expected. ``refused``: tasks that became a question.
- ``suggested``: refusals with a model's suggestion, and how many of those suggestions are what was expected.
- ``statements_per_second``: on one core, of mapping alone: a model's replies are there by then. ``asking``: what they took.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kickwheel.intent.documents import parse_document
from kickwheel.intent.expectations import Expectation, MappingLine, Verdict, check_expectations
from kickwheel.intent.fire_times import same_times
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.hybrid import HybridRecogniser
from kickwheel.intent.llm import LlmRecogniser
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.ports import Recogniser
from kickwheel.intent.recogniser_adapter import CALL_LOG, open_recogniser
from kickwheel.settings import Settings, get_settings
from kickwheel.workspace import read_jsonl
from schemas.task import Proposal

CHECKED = Path("tests/unit/intent/statements")
LEAST_S = 1.0
"""Mapping is repeated for at least so long: one pass over a hundred statements is over too soon to be timed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recogniser", choices=("rules", "llm", "hybrid"), default="rules")
    parser.add_argument("--statements", type=Path, nargs="+", default=[CHECKED / "development.jsonl", CHECKED / "frozen.jsonl"])
    parser.add_argument("--glossary", type=Path, help="default: glossary.yaml beside each FILE")
    parser.add_argument("--knowledge", type=Path, help="knowledge.csv; default: none")
    parser.add_argument("--zone", default="UTC", help="of rows that name none")
    options = parser.parse_args()
    settings = get_settings()
    report: dict[str, Any] = {"recogniser": options.recogniser}
    if options.recogniser != "rules":
        report["model"] = settings.teacher.model or None
    for file in options.statements:
        glossary = load_glossary(options.glossary or file.with_name("glossary.yaml"))
        with open_recogniser(settings, glossary, knowledge=options.knowledge, choice=options.recogniser) as recogniser:
            report[file.stem] = measure(read_jsonl(file, Expectation), recogniser, settings, options.zone)
    print(json.dumps(report, ensure_ascii=False, indent=1))


def measure(rows: Sequence[Expectation], recogniser: Recogniser, settings: Settings, zone: str) -> dict[str, Any]:
    """Figures of one file."""
    statements = list(dict.fromkeys(row.statement for row in rows))
    asking = _asking(statements, recogniser, settings)
    verdicts = check_expectations(rows, domain="benchmark", zone=zone, recogniser=recogniser)
    chinese = [verdict for verdict in verdicts if any("一" <= char <= "鿿" for char in verdict.statement)]
    english = [verdict for verdict in verdicts if verdict not in chinese]
    return {
        **figures(verdicts),
        "right_chinese": share(not verdict.missed for verdict in chinese),
        "right_english": share(not verdict.missed for verdict in english),
        "statements_per_second": round(rate(statements, recogniser, zone)),
        **asking,
    }


def figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Shares are of statements; see the module."""
    asked = [verdict for verdict in verdicts if any(row.status == "mapped" for row in verdict.expected)]
    lines = [(verdict, line) for verdict in verdicts for line in verdict.got if line.proposal]
    triples = {"status", "action", "target", "entity"}
    return {
        "statements": len(verdicts),
        "right": share(not verdict.missed for verdict in verdicts),
        "triples": share(len(v.got) == len(v.expected) and not triples & set(v.missed) for v in asked),
        "schedules": share(not verdict.missed for verdict in asked),
        "wrongly_accepted": sum(verdict.wrongly_accepted for verdict in verdicts),
        "refused": share(all(line.status == "rejected" for line in verdict.got) for verdict in asked),
        "suggested": len(lines),
        "suggested_rightly": sum(any(suits(row, line) for row in verdict.expected) for verdict, line in lines),
    }


def suits(row: Expectation, line: MappingLine) -> bool:
    """Whether a suggestion is the task that the row expects."""
    proposal: Proposal | None = line.proposal
    if proposal is None or row.status != "mapped" or (proposal.action, proposal.target) != (row.action, row.target):
        return False
    schedule = proposal.schedule
    if schedule is None or not (row.cron or row.rrule):
        return schedule is None and not (row.cron or row.rrule)
    expected = schedule.model_copy(update={"cron": row.cron, "rrule": row.rrule, "zone": row.zone or schedule.zone})
    return same_times(expected, schedule)


def rate(statements: Sequence[str], recogniser: Recogniser, zone: str) -> float:
    """Statements a second of processor time, parsing and schedules included."""
    document = parse_document("\n".join(statements), "benchmark", markdown=False)
    started, done = time.process_time(), 0
    while time.process_time() - started < LEAST_S:
        map_documents([document], domain="benchmark", zone=zone, recogniser=recogniser)
        done += len(document.statements)
    return done / (time.process_time() - started)


def _asking(statements: Sequence[str], recogniser: Recogniser, settings: Settings) -> dict[str, Any]:
    """Have the model read the statements: what that took, and what became of its replies."""
    llm = recogniser.llm if isinstance(recogniser, HybridRecogniser) else recogniser
    if not isinstance(llm, LlmRecogniser):
        return {}
    log = settings.home / CALL_LOG
    before, started = _lines(log), time.monotonic()
    recogniser.prepare(statements)
    seconds, calls = time.monotonic() - started, _lines(log) - before
    kinds = Counter(llm.read(statement).problem or "usable" for statement in statements) if llm is recogniser else None
    return {"asking": {"calls": calls, "seconds": round(seconds, 1), **({"replies": dict(kinds)} if kinds else {})}}


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.is_file() else 0


def share(flags: Iterable[bool]) -> str:
    """'73 of 80'."""
    counted = list(flags)
    return f"{sum(counted)} of {len(counted)}"


if __name__ == "__main__":
    main()
