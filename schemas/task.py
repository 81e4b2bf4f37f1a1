"""Stage 1, intent: executable tasks, read out of requirement documents."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from schemas.base import Contract, RegularExpression, Slug

SlotType = Literal["text", "date", "name", "code", "enum"]
RejectionReason = Literal[
    "not_a_task",
    "unknown_action",
    "unknown_target",
    "ambiguous_time",
    "ambiguous_zone",
    "invalid_schedule",
    "contradiction",
    "duplicate",
    "suspicious",
    "needs_review",
]
RecogniserName = Literal["rules", "llm"]
SemanticVersion = Annotated[str, Field(pattern=r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$")]
"""major.minor.patch, as https://semver.org has it, without pre-release and build."""


class SlotSpec(Contract):
    """A slot that an intent may carry."""

    name: Slug
    type: SlotType = "text"
    description: str = ""
    values: tuple[str, ...] = Field(default=(), description="For enum: the values allowed; otherwise examples")
    pattern: RegularExpression = Field(default="", description="Regular expression that a whole value must match; empty: any")


class Schedule(Contract):
    """When a task runs. The zone is required: a time without one is a rejected statement, never the host's guess."""

    cron: str | None = Field(default=None, description="Canonical 5-field cron: digits, Sunday 0, day fields never both set")
    rrule: str | None = Field(default=None, description="RFC 5545 rule on the zone's wall clock, where cron can't say it")
    zone: str = Field(description="IANA zone, e.g. Asia/Shanghai")

    @model_validator(mode="after")
    def _cron_or_rrule(self) -> Self:
        if (self.cron is None) == (self.rrule is None):
            raise ValueError("a schedule has a cron or an rrule: exactly one of them")
        return self


class SourceQuote(Contract):
    """The place in a document that something was read from."""

    document: str
    line: int = Field(ge=1)
    quote: str


class TaskSchema(Contract):
    """One executable task and the intent by which users ask for it."""

    schema_version: Literal["1"] = "1"
    version: SemanticVersion = Field(
        default="1.0.0", description="Of this task in the domain's registry; 1.0.0 until it is published"
    )
    id: UUID = Field(description="UUIDv5 of domain, action, target and qualifier: a changed wording or time is the same task")
    intent: Slug
    action: Slug
    entity: str = Field(default="", description="What the document calls the target")
    target: Slug | None = Field(description="None: the glossary doesn't know the entity, so the task can't be deployed yet")
    qualifier: str = Field(default="", description="Tells tasks of the same action and target apart; part of the id")
    description: str = ""
    phrasings: tuple[str, ...] = Field(default=(), description="How users may ask for it, as the domain's text says")
    slots: tuple[SlotSpec, ...] = ()
    schedule: Schedule | None = None
    recognised_by: RecogniserName = Field(default="rules", description="Which recogniser mapped the statement")
    confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Rules: share of the statement's letters that they explain; model: mean probability of its reply's tokens "
        "(geometric); None: not known",
    )
    notes: tuple[str, ...] = Field(
        default=(), description="Readings that rest on the domain's words, not on the statement's alone"
    )
    flag: str | None = Field(default=None, description="Why a person must look before this task is deployed")
    provenance: tuple[SourceQuote, ...] = ()


class Proposal(Contract):
    """What a model makes of a statement that the rules refused. It binds nothing until the document says it."""

    action: Slug
    entity: str = Field(description="As the document writes it")
    target: Slug | None = Field(description="None: the glossary doesn't know the entity")
    schedule: Schedule | None = None
    statement: str = Field(description="The same in words that the rules map; in the document, it is a task")
    model: str = Field(default="", description="Served name of the model that suggests it")
    confidence: float | None = Field(
        default=None, ge=0, le=1, description="Mean probability of its reply's tokens (geometric); None: the server gave none"
    )


class Rejection(Contract):
    """A statement that became no task: a result, not a failure."""

    source: SourceQuote
    reason: RejectionReason
    question: str = Field(description="What would settle it")
    proposal: Proposal | None = Field(default=None, description="What a model suggests; None: no model was asked, or none fits")
    confidence: float | None = Field(
        default=None, ge=0, le=1, description="That there is no task, as a model puts it; None: not known"
    )


class TaskCatalog(Contract):
    """What the intent stage hands on."""

    schema_version: Literal["1"] = "1"
    domain: str
    tasks: tuple[TaskSchema, ...]
    rejections: tuple[Rejection, ...] = ()

    @property
    def intents(self) -> tuple[str, ...]:
        """Intent slugs in catalogue order, ``out_of_scope`` not among them."""
        return tuple(task.intent for task in self.tasks)

    def slots_of(self, intent: str) -> tuple[SlotSpec, ...]:
        """Slots of an intent; empty for ``out_of_scope`` and unknown ones."""
        return next((task.slots for task in self.tasks if task.intent == intent), ())
