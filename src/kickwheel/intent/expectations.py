"""The mapping table: statements beside what they are expected to become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from kickwheel.intent.documents import parse_document
from kickwheel.intent.fire_times import same_times
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.ports import Recogniser
from schemas.base import Contract
from schemas.task import Proposal, Rejection, RejectionReason, Schedule, TaskCatalog


class Expectation(Contract):
    """One row of ``expected.jsonl``: a statement and what it must become. Rows of one statement are its several outcomes."""

    statement: str = Field(min_length=1)
    status: Literal["mapped", "rejected"] = "mapped"
    action: str | None = None
    entity: str | None = Field(default=None, description="None: not checked")
    target: str | None = None
    cron: str | None = None
    rrule: str | None = None
    zone: str | None = None
    reason: RejectionReason | None = Field(default=None, description="Of a rejection; None: any")


class MappingLine(Contract):
    """One line of ``kickwheel intent map``: a task or a rejection."""

    document: str
    line: int
    quote: str
    status: Literal["mapped", "rejected"]
    action: str | None = None
    entity: str | None = None
    target: str | None = None
    cron: str | None = None
    rrule: str | None = None
    zone: str | None = None
    reason: str | None = None
    question: str | None = None
    intent: str | None = None
    flag: str | None = None
    notes: tuple[str, ...] = ()
    recognised_by: str | None = None
    confidence: float | None = None
    proposal: Proposal | None = None


class Verdict(Contract):
    """One row of the mapping table."""

    statement: str
    expected: tuple[Expectation, ...]
    got: tuple[MappingLine, ...]
    missed: tuple[str, ...] = Field(description="Fields that differ; empty: as expected")

    @property
    def wrongly_accepted(self) -> bool:
        """Something was mapped, and not as expected: worse than a miss that was refused."""
        return bool(self.missed) and any(line.status == "mapped" for line in self.got)


def lines_of(catalog: TaskCatalog) -> list[MappingLine]:
    """Tasks and rejections in the order in which they stand in their documents."""
    lines = [
        MappingLine(
            document=task.provenance[0].document,
            line=task.provenance[0].line,
            quote=task.provenance[0].quote,
            status="mapped",
            action=task.action,
            entity=task.entity,
            target=task.target,
            cron=task.schedule.cron if task.schedule else None,
            rrule=task.schedule.rrule if task.schedule else None,
            zone=task.schedule.zone if task.schedule else None,
            intent=task.intent,
            flag=task.flag,
            notes=task.notes,
            recognised_by=task.recognised_by,
            confidence=task.confidence,
        )
        for task in catalog.tasks
    ]
    lines += [_rejected(rejection) for rejection in catalog.rejections]
    documents = {name: order for order, name in enumerate(dict.fromkeys(line.document for line in lines))}
    return sorted(lines, key=lambda line: (documents[line.document], line.line))


def _rejected(rejection: Rejection) -> MappingLine:
    source = rejection.source
    return MappingLine(
        document=source.document,
        line=source.line,
        quote=source.quote,
        status="rejected",
        reason=rejection.reason,
        question=rejection.question,
        proposal=rejection.proposal,
        confidence=rejection.confidence,
    )


def check_expectations(
    expected: Iterable[Expectation], *, domain: str, zone: str | None, recogniser: Recogniser, min_interval_minutes: int = 5
) -> list[Verdict]:
    """Map each statement for itself and compare, outcome by outcome. ``zone`` is the one where a row names none."""
    by_statement: dict[str, list[Expectation]] = {}
    for row in expected:
        by_statement.setdefault(row.statement, []).append(row)
    recogniser.prepare(list(by_statement))
    verdicts = []
    for statement, rows in by_statement.items():
        document = parse_document(statement, "statement", markdown=False)
        catalog = map_documents(
            [document],
            domain=domain,
            zone=rows[0].zone or zone,
            recogniser=recogniser,
            min_interval_minutes=min_interval_minutes,
        )
        verdicts.append(_verdict(rows, lines_of(catalog)))
    return verdicts


def _verdict(rows: Sequence[Expectation], got: Sequence[MappingLine]) -> Verdict:
    """The comparison. Suggestions settle nothing: a refusal may have one or several of them and is the same refusal."""
    surplus = [line for line in got if line.proposal][1:][: max(0, len(got) - len(rows))]
    got = [line for line in got if line not in surplus]
    missed = [name for row, line in zip(rows, got, strict=False) for name in _differences(row, line)]
    if len(got) != len(rows):
        missed.append(f"{len(got)} outcomes, not {len(rows)}")
    return Verdict(statement=rows[0].statement, expected=tuple(rows), got=tuple(got), missed=tuple(missed))


def _differences(row: Expectation, line: MappingLine) -> list[str]:
    fields = ["status"]
    if row.status == "mapped":
        fields += ["action", "target", *(name for name in ("entity", "zone") if getattr(row, name))]
        fields += [] if _same_schedule(row, line) else ["schedule"]
    elif row.reason and line.proposal is None:
        fields.append("reason")
    return [name for name in fields if name == "schedule" or getattr(line, name) != getattr(row, name)]


def _same_schedule(row: Expectation, line: MappingLine) -> bool:
    """Times count, not the way in which they are written: a rule has several."""
    if row.cron == line.cron and row.rrule == line.rrule:
        return True
    if (row.cron is None) != (line.cron is None) or (row.rrule is None) != (line.rrule is None):
        return False
    zone = line.zone or "UTC"
    return same_times(
        Schedule(cron=row.cron, rrule=row.rrule, zone=zone), Schedule(cron=line.cron, rrule=line.rrule, zone=zone)
    )
