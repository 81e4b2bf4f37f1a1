"""Stage 1, intent: executable tasks, read out of requirement documents."""

from __future__ import annotations

from typing import Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from schemas.base import Contract, Slug

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
]


class SlotSpec(Contract):
    """A slot that an intent may carry."""

    name: Slug
    type: SlotType = "text"
    description: str = ""
    values: tuple[str, ...] = Field(default=(), description="For enum: the values allowed; otherwise examples")


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
    id: UUID = Field(description="UUIDv5 of domain, action, target and qualifier: a changed wording or time is the same task")
    intent: Slug
    action: Slug
    entity: str = Field(default="", description="What the document calls the target")
    target: Slug | None = Field(description="None: the glossary doesn't know the entity, so the task can't be deployed yet")
    qualifier: str = Field(default="", description="Tells tasks of the same action and target apart; part of the id")
    description: str = ""
    slots: tuple[SlotSpec, ...] = ()
    schedule: Schedule | None = None
    notes: tuple[str, ...] = Field(
        default=(), description="Readings that rest on the domain's words, not on the statement's alone"
    )
    flag: str | None = Field(default=None, description="Why a person must look before this task is deployed")
    provenance: tuple[SourceQuote, ...] = ()


class Rejection(Contract):
    """A statement that became no task: a result, not a failure."""

    source: SourceQuote
    reason: RejectionReason
    question: str = Field(description="What would settle it")


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
