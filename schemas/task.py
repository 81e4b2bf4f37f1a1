"""Stage 1, intent: executable tasks, read out of requirement documents."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from schemas.base import Contract, Slug

SlotType = Literal["text", "date", "name", "code", "enum"]


class SlotSpec(Contract):
    """A slot that an intent may carry."""

    name: Slug
    type: SlotType = "text"
    description: str = ""
    values: tuple[str, ...] = Field(default=(), description="For enum: the values allowed; otherwise examples")


class Schedule(Contract):
    """When a task runs. The zone is required: a time without one is a rejected statement, never the host's guess."""

    cron: str = Field(description="Canonical 5-field cron: digits, Sunday 0, day fields never both set")
    zone: str = Field(description="IANA zone, e.g. Asia/Shanghai")


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
    target: Slug
    description: str = ""
    slots: tuple[SlotSpec, ...] = ()
    schedule: Schedule | None = None
    provenance: tuple[SourceQuote, ...] = ()


class Rejection(Contract):
    """A statement that became no task: a result, not a failure."""

    source: SourceQuote
    reason: Literal["not_a_task", "unknown_action", "unknown_target", "ambiguous_time", "contradiction", "duplicate"]
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
