"""Requirement documents become a catalogue of tasks; what can't be mapped is rejected with a question."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.intent.asides import doubts, taken_back
from kickwheel.intent.documents import Document, Statement, read_document
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.phrasing_lines import read_phrasings
from kickwheel.intent.ports import Recognised, Recogniser, Refused
from kickwheel.intent.questions_zh import question_for
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.intent.schedule_writing import write_schedule
from kickwheel.intent.slot_lines import read_slots
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.zones import zone_problem
from schemas.task import Proposal, Rejection, Schedule, SourceQuote, TaskCatalog, TaskSchema

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/kickwheel/kickwheel")
"""Namespace of task ids; never changes."""


def map_requirements(
    files: Sequence[Path],
    *,
    domain: str,
    zone: str | None,
    glossary: Glossary,
    recogniser: Recogniser | None = None,
    min_interval_minutes: int = 5,
    versions: Mapping[uuid.UUID, str] | None = None,
) -> TaskCatalog:
    """Map documents.

    Args:
        zone: of times for which neither the statement nor its document names one; None: those are rejected.
        recogniser: default: the rules.
        versions: of the tasks that are published, by id.

    Raises:
        InputError: a document can't be read, or a line below a statement does not hold.
        ServiceError: the recogniser asks a model that does not answer.
    """
    documents = [read_document(path) for path in files]
    return map_documents(
        documents,
        domain=domain,
        zone=zone,
        recogniser=recogniser or RulesRecogniser(glossary),
        min_interval_minutes=min_interval_minutes,
        versions=versions,
    )


def map_documents(
    documents: Sequence[Document],
    *,
    domain: str,
    zone: str | None,
    recogniser: Recogniser,
    min_interval_minutes: int = 5,
    versions: Mapping[uuid.UUID, str] | None = None,
) -> TaskCatalog:
    """As :func:`map_requirements`, from documents that were read."""
    mapper = _Mapper(domain, zone, recogniser, min_interval_minutes, versions or {})
    recogniser.prepare([_text(statement) for document in documents for statement in document.statements])
    found = [outcome for document in documents for outcome in _outcomes(document, mapper)]
    return _settled(domain, found)


def _outcomes(document: Document, mapper: _Mapper) -> Iterator[TaskSchema | Rejection]:
    """Tasks and rejections of a document, the tasks flagged where something beside their statement bounds them."""
    read = [mapper.recognised(statement) for statement in document.statements]
    found = [
        [mapper.outcome(document, statement, outcome) for outcome in outcomes]
        for statement, outcomes in zip(document.statements, read, strict=True)
    ]
    mapped = [any(isinstance(outcome, TaskSchema) for outcome in outcomes) for outcomes in found]
    doubtful = doubts(document.statements, mapped)
    below = taken_back(document.statements, mapped)
    for index, outcomes in enumerate(found):
        for outcome in outcomes:
            if isinstance(outcome, TaskSchema):
                against = [other for other in below.get(index, ()) if _names(read[other], outcome)]
                if against:
                    yield _contradicted(outcome, document.statements[against[0]])
                    continue
            yield _flagged(outcome, doubtful[index]) if index in doubtful and isinstance(outcome, TaskSchema) else outcome


def _names(refused: Sequence[Recognised | Refused], task: TaskSchema) -> bool:
    """Whether a statement that was refused names this task."""
    about = {pair for outcome in refused if isinstance(outcome, Refused) for pair in outcome.about}
    target = task.target or ""
    return any(action == task.action and f"{target}_".startswith(f"{entity}_") for action, entity in about)


def _contradicted(task: TaskSchema, other: Statement) -> Rejection:
    question = f"Line {other.line} says {other.quote!r} about it: what is right for {task.action} {task.entity}?"
    return Rejection(source=task.provenance[0], reason="contradiction", question=question)


def _flagged(task: TaskSchema, doubt: str) -> TaskSchema:
    return task.model_copy(update={"flag": "; ".join(filter(None, (task.flag, doubt)))})


def task_id(domain: str, action: str, target: str, qualifier: str = "") -> uuid.UUID:
    """The same task keeps its id when its wording or its time changes."""
    return uuid.uuid5(NAMESPACE, "\0".join((domain, action, target, qualifier)))


def _text(statement: Statement) -> str:
    """What is read: the sentence, and the time that a field beside it or a line above it names."""
    timed = statement.fields.get("schedule")
    return ", ".join(filter(None, (statement.quote, timed.value if timed else None, statement.lead)))


@dataclass(frozen=True)
class _Mapper:
    domain: str
    zone: str | None
    recogniser: Recogniser
    min_interval_minutes: int
    versions: Mapping[uuid.UUID, str]

    def recognised(self, statement: Statement) -> list[Recognised | Refused]:
        """Triples and refusals of one statement."""
        found = self.recogniser.recognise(_text(statement))
        if statement.fields.keys() & {"intent", "slots", "description", "qualifier", "phrasings"} and len(found) > 1:
            raise InputError(
                f"{len(found)} tasks are named, so it is unclear whose intent and slots follow: write a statement for each",
                file=statement.document,
                line=statement.line,
            )
        return found

    def outcome(self, document: Document, statement: Statement, found: Recognised | Refused) -> TaskSchema | Rejection:
        """The task or the rejection that becomes of a triple or a refusal."""
        source = SourceQuote(document=statement.document, line=statement.line, quote=statement.quote)
        if isinstance(found, Refused):
            return self._rejection(document, statement, found, source)
        try:
            schedule = self._schedule(document, statement, found)
        except TimeRefused as refused:
            return Rejection(source=source, reason=refused.reason, question=str(refused))
        fields = {name: line.value for name, line in statement.fields.items()}
        qualifier = fields.get("qualifier", "")
        identity = task_id(self.domain, found.action, found.target or found.entity, qualifier)
        named = fields.get("intent", "").strip("` ")
        slots = read_slots(statement.fields["slots"], statement.document) if "slots" in statement.fields else ()
        said = statement.fields.get("phrasings")
        try:
            return TaskSchema(
                version=self.versions.get(identity, "1.0.0"),
                id=identity,
                intent=named or f"{found.action}_{found.target or 'unknown_' + identity.hex[:8]}",
                action=found.action,
                entity=found.entity,
                target=found.target,
                qualifier=qualifier,
                description=fields.get("description", statement.quote),
                phrasings=read_phrasings(said, statement.document) if said else (),
                slots=slots,
                schedule=schedule,
                notes=found.time.notes,
                flag=found.flag,
                recognised_by=found.by,
                confidence=found.confidence,
                provenance=(source,),
            )
        except ValueError as error:
            line = statement.fields["intent"].line if named else statement.line
            raise InputError(
                f"{named!r} is no name for an intent: lower-case letters, digits and _",
                file=statement.document,
                line=line,
                field="intent",
            ) from error

    def _rejection(self, document: Document, statement: Statement, found: Refused, source: SourceQuote) -> Rejection:
        """A refusal with what a model suggests; where its time can't be scheduled, with the question about that instead."""
        rejection = Rejection(source=source, reason=found.reason, question=found.question, confidence=found.confidence)
        if found.suggestion is None:
            return rejection
        suggested = found.suggestion.triple
        try:
            schedule = self._schedule(document, statement, suggested)
        except TimeRefused as refused:
            return rejection.model_copy(update={"reason": refused.reason, "question": f"{found.question}. {refused}"})
        proposal = Proposal(
            action=suggested.action,
            entity=suggested.entity,
            target=suggested.target,
            schedule=schedule,
            statement=found.suggestion.statement,
            model=found.suggestion.model,
            confidence=suggested.confidence,
        )
        return rejection.model_copy(update={"proposal": proposal})

    def _schedule(self, document: Document, statement: Statement, found: Recognised) -> Schedule | None:
        own = statement.fields.get("zone")
        if own and (problem := zone_problem(own.value)):
            raise TimeRefused(problem, "ambiguous_zone")
        if own and found.time.zone not in (None, own.value):
            problem = f"The statement says {found.time.zone}, and line {own.line} says {own.value}: which of the zones counts?"
            raise TimeRefused(problem, "contradiction")
        if found.time.when is None:
            return None
        zone = found.time.zone or (own.value if own else None) or document.front.zone or self.zone
        if zone is None:
            raise TimeRefused(
                "In which time zone? Name it in the statement, the document's front matter, --zone or domain.yaml",
                "ambiguous_zone",
            )
        return write_schedule(found.time.when, zone, min_interval_minutes=self.min_interval_minutes)


def _settled(domain: str, found: Sequence[TaskSchema | Rejection]) -> TaskCatalog:
    """One task an id. Statements that repeat one are rejected; where they name different times, all of them are."""
    by_id: dict[uuid.UUID, list[TaskSchema]] = {}
    for outcome in found:
        if isinstance(outcome, TaskSchema):
            by_id.setdefault(outcome.id, []).append(outcome)
    tasks: list[TaskSchema] = []
    rejections = [outcome for outcome in found if isinstance(outcome, Rejection)]
    for same in by_id.values():
        schedules = {task.schedule for task in same if task.schedule}
        if len(schedules) > 1:
            places = " and ".join(f"{task.provenance[0].document}:{task.provenance[0].line}" for task in same)
            question = f"{places} name different times for {same[0].action} {same[0].entity}: which is right?"
            rejections += [Rejection(source=task.provenance[0], reason="contradiction", question=question) for task in same]
            continue
        kept = next((task for task in same if task.schedule), same[0])
        tasks.append(kept)
        question = (
            f"{kept.provenance[0].document}:{kept.provenance[0].line} says the same: is this another task (name a qualifier)?"
        )
        rejections += [
            Rejection(source=task.provenance[0], reason="duplicate", question=question) for task in same if task is not kept
        ]
    _refuse_shared_intents(tasks)
    asked = (item.model_copy(update={"question": question_for(item.source.quote, item.question)}) for item in rejections)
    return TaskCatalog(domain=domain, tasks=tuple(tasks), rejections=tuple(asked))


def _refuse_shared_intents(tasks: Sequence[TaskSchema]) -> None:
    owners: dict[str, TaskSchema] = {}
    for task in tasks:
        other = owners.setdefault(task.intent, task)
        if other is not task:
            source, first = task.provenance[0], other.provenance[0]
            problem = f"{task.intent!r} already names the task of {first.document}:{first.line}"
            raise InputError(problem, file=source.document, line=source.line, field="intent")
