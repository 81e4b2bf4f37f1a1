"""What a served answer was, and what came back about it: inference records and feedback events.

Order is nobody's promise: an event may come before the record of its inference, long after it, twice, or never. So each is
a fact by itself, told apart by its id, and what belongs together is joined when it is read.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from schemas.base import Contract, Rate
from schemas.frame import Frame, Slot

EventId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""An id of the caller's own making, any script, no control characters."""


class InferenceRecord(Contract):
    """One answer as it was given: what later events speak about, and how it came to be shown."""

    schema_version: Literal["1"] = "1"
    inference_id: EventId = Field(description="Id that the answer carried")
    session: EventId | None = Field(default=None, description="Conversation or visit; None: not known")
    user: EventId | None = Field(default=None, description="Pseudonymous id of the user; what erasure goes by")
    text: str = Field(min_length=1, max_length=2000)
    frame: Frame | None = Field(description="The answer; None: the model's reply was no frame")
    model_version: str = Field(description="Served name of the model that answered")
    arm: str = Field(default="champion", max_length=64, description="Arm of the experiment: champion, challenger, …")
    experiment: str = Field(default="", max_length=256, description="Trial that assigned the arm; empty: none was running")
    propensity: float = Field(default=1.0, gt=0, le=1, description="Probability with which this arm was assigned")
    position: int = Field(default=1, ge=1, description="Place among the answers shown at once, from 1")
    confidence: Rate | None = Field(default=None, description="Calibrated, that the answer is right; None: not known")
    error: str | None = Field(default=None, max_length=200, description="Why there is no frame; None: there is one")
    status: int = Field(default=200, ge=100, le=599, description="HTTP status of the answer")
    latency_ms: float | None = Field(
        default=None, ge=0, description="What the version took; None: not known, or it was not asked (an answer from the cache)"
    )
    at: datetime = Field(description="Server's time of the answer, ISO 8601 with an offset")

    @model_validator(mode="after")
    def _holds(self) -> Self:
        _with_offset(self.at, "at")
        _spans_match(self.text, self.frame)
        return self


class FeedbackFact(Contract):
    """What all kinds of events share."""

    schema_version: Literal["1"] = "1"
    event_id: EventId = Field(description="The same event sent again has the same id and counts once")
    inference_id: EventId | None = Field(default=None, description="Answer that it speaks about; it need not be known yet")
    session: EventId | None = Field(default=None, description="Session that it speaks about, where it is about no one answer")
    user: EventId | None = Field(default=None, description="Pseudonymous id of the user; None: the user of the inference")
    at: datetime = Field(description="The client's time, ISO 8601 with an offset; it may be wrong")
    received_at: datetime | None = Field(default=None, description="The server's time; set by the server")

    @model_validator(mode="after")
    def _speaks_about_something(self) -> Self:
        if self.inference_id is None and self.session is None:
            raise ValueError("an event needs an inference_id or a session")
        _with_offset(self.at, "at")
        if self.received_at is not None:
            _with_offset(self.received_at, "received_at")
        return self


class DwellEvent(FeedbackFact):
    """How long the user has been on the answer."""

    kind: Literal["dwell"] = Field(default="dwell", description="Kind of the event")
    seconds: float = Field(ge=0, le=86_400, description="On the answer so far; of several reports the largest counts")


class ScrollEvent(FeedbackFact):
    """How much of the answer the user has seen."""

    kind: Literal["scroll"] = Field(default="scroll", description="Kind of the event")
    share: Rate = Field(description="Scrolled so far; of several reports the largest counts")


class BounceEvent(FeedbackFact):
    """The user left at once."""

    kind: Literal["bounce"] = Field(default="bounce", description="Kind of the event")


class BackAndReturnEvent(FeedbackFact):
    """The user left the answer and came back."""

    kind: Literal["back_and_return"] = Field(default="back_and_return", description="Kind of the event")
    times: int = Field(default=1, ge=1, le=1000, description="Since the report before; reports add up")


class RephraseEvent(FeedbackFact):
    """The user said it again in other words."""

    kind: Literal["rephrase"] = Field(default="rephrase", description="Kind of the event")
    text: str | None = Field(default=None, min_length=1, max_length=2000, description="The other words; None: not told")
    to_inference_id: EventId | None = Field(default=None, description="The answer that those got; None: not told")


class SlotEditEvent(FeedbackFact):
    """The user edited the answer into what was wanted."""

    kind: Literal["slot_edit"] = Field(default="slot_edit", description="Kind of the event")
    frame: Frame = Field(description="The frame after the edit, whole; of several edits the latest counts")


class AbandonEvent(FeedbackFact):
    """The user gave the task up."""

    kind: Literal["abandon"] = Field(default="abandon", description="Kind of the event")


class ThumbsEvent(FeedbackFact):
    """The user judged the answer."""

    kind: Literal["thumbs"] = Field(default="thumbs", description="Kind of the event")
    up: bool = Field(description="Thumbs up; of several the latest counts")


class OperatorLabelEvent(FeedbackFact):
    """An operator says what would have been right."""

    kind: Literal["operator_label"] = Field(default="operator_label", description="Kind of the event")
    frame: Frame = Field(description="The label; of several by one operator the latest counts")
    operator: EventId = Field(default="operator", description="Who labelled; not the user")


class OutcomeEvent(FeedbackFact):
    """What the business saw of it in the end."""

    kind: Literal["outcome"] = Field(default="outcome", description="Kind of the event")
    completed: bool | None = Field(default=None, description="The task was done; None: not known")
    turns: int | None = Field(default=None, ge=1, le=1000, description="Turns until then; None: not known")
    conversion: bool | None = Field(default=None, description="The business event that counts took place; None: not known")


Event = Annotated[
    DwellEvent
    | ScrollEvent
    | BounceEvent
    | BackAndReturnEvent
    | RephraseEvent
    | SlotEditEvent
    | AbandonEvent
    | ThumbsEvent
    | OperatorLabelEvent
    | OutcomeEvent,
    Field(discriminator="kind"),
]
"""Any feedback event, told by its ``kind``."""


class FeedbackBatch(Contract):
    """Several events posted at once: all of them are kept, or none."""

    events: tuple[Event, ...] = Field(min_length=1, max_length=1000, description="Of any kinds and order")


class Received(Contract):
    """What became of a batch that was handed to a store: it is on disk, all of it, or an error was raised instead."""

    added: int = Field(ge=0, description="Events that were new")
    duplicates: int = Field(default=0, ge=0, description="Events that were there before")
    differing: tuple[str, ...] = Field(
        default=(), description="Ids among the duplicates that were there with other content; the first content stays"
    )


class StoreStatus(Contract):
    """How much an event store holds."""

    schema_version: Literal["1"] = "1"
    store: str = Field(description="Address, without credentials")
    inferences: int = Field(ge=0, description="Answers on record")
    events: int = Field(ge=0, description="Events on record")
    by_kind: dict[str, int] = Field(description="Kind of event -> events")
    waiting: int = Field(ge=0, description="Events whose inference is not known (yet)")
    session_level: int = Field(ge=0, description="Events about a session as a whole")
    users: int = Field(ge=0, description="Different users on record")
    sequence: int = Field(ge=0, description="Number of the last change; cursors are such numbers")
    oldest: datetime | None = Field(default=None, description="Server's time of the first event; None: there is none")
    newest: datetime | None = Field(default=None, description="Server's time of the last event; None: there is none")


class Erased(Contract):
    """What an erasure or the retention took out of a store (dry_run: would have taken)."""

    schema_version: Literal["1"] = "1"
    dry_run: bool = Field(description="Nothing was changed")
    inferences: int = Field(ge=0, description="Answers")
    events: int = Field(ge=0, description="Events, of others too where they speak about such an answer")
    laps: tuple[int, ...] = Field(default=(), description="Laps whose folders hold copies of it")


def _with_offset(moment: datetime, field: str) -> None:
    if moment.utcoffset() is None:
        raise ValueError(f"{field} needs an offset, e.g. 2026-11-30T08:15:00+00:00")


def _spans_match(text: str, frame: Frame | None) -> None:
    slots: tuple[Slot, ...] = frame.slots if frame else ()
    for slot in slots:
        seen = text[slot.start : slot.end]
        if seen != slot.value:
            raise ValueError(f"slot {slot.name!r}: text[{slot.start}:{slot.end}] is {seen!r}, not {slot.value!r}")
