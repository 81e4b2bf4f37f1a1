"""What the understanding API takes and gives. Part of its OpenAPI description, so a change here is a change for its callers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from schemas.base import Contract, Rate
from schemas.frame import Frame

CallerId = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""An id of the caller's own making, any script, no control characters."""

MAX_TEXT = 2000
"""Code points of a text: what an inference record holds."""


class UnderstandRequest(Contract):
    """A text to be understood."""

    text: str = Field(
        min_length=1, max_length=MAX_TEXT, pattern=r"^[^\x00]+$", description="What the user said, as it was typed; data only"
    )
    user: CallerId | None = Field(
        default=None, description="Pseudonymous id of the user: the same user gets the same version, and can be erased"
    )
    session: CallerId | None = Field(
        default=None, description="Conversation or visit; assigns the version where no user is known"
    )
    position: int = Field(default=1, ge=1, le=1000, description="Place among the answers shown at once, from 1")


class UnderstandReply(Contract):
    """What was understood, by which version, and how far it may be believed."""

    schema_version: Literal["1"] = "1"
    inference_id: str = Field(description="Name it in feedback about this answer")
    model_version: str = Field(description="Name of the version that answered")
    arm: Literal["champion", "challenger"] = Field(description="Arm of the running trial that the unit was dealt to")
    propensity: float = Field(gt=0, le=1, description="Probability with which it was dealt to this arm")
    frame: Frame | None = Field(
        description="Intent, and slots in code points of the text as sent; null: nothing was understood"
    )
    error: str | None = Field(default=None, description="Why there is no frame: malformed, truncated, unknown_intent, …")
    confidence: Rate | None = Field(
        default=None, description="Probability that the frame is right; null: not known, which is not the same as low"
    )
    calibrated: bool = Field(description="confidence is calibrated on the validation split; false: as the model gave it")
    intent_confidence: Rate | None = Field(default=None, description="Of the intent alone, uncalibrated; null: not known")
    slot_confidence: dict[str, float] = Field(
        default_factory=dict,
        description="Slot -> probability of its value, uncalibrated; a slot that is not in it is not known",
    )
    out_of_scope: bool = Field(description="The text asks for none of the domain's tasks")
    low_confidence: bool | None = Field(description="confidence is below the threshold: ask the user; null: not known")
    degraded: bool = Field(default=False, description="The version did not answer, the probe did in its place")
    cached: bool = Field(default=False, description="Answered before, for this text or another spelling of it")
    note: str = Field(description="The same in a sentence, for logs and people")


class Problem(Contract):
    """An error as RFC 9457 problem details: what was wrong and what to do."""

    type: str = Field(description="Kind of the problem, a relative URI that stays the same")
    title: str = Field(description="The kind in words")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="What was wrong this time, and what to do")
    request_id: str = Field(description="Id of the request in the service's log")
    errors: tuple[str, ...] = Field(default=(), description="Field by field, where several things were wrong")


class Health(Contract):
    """Whether the service may be sent traffic."""

    status: Literal["alive", "ready", "not_ready"] = Field(description="alive: the process runs; ready: its versions are warm")
    detail: str = Field(default="", description="What it waits for")


class VersionInService(Contract):
    """A version as the service has it loaded."""

    name: str = Field(description="Name in answers")
    kind: str = Field(description="vllm, encoder or probe")
    role: Literal["champion", "challenger"] = Field(description="Its part in the routing")
    calibrated: bool = Field(description="Whether a calibration lies beside its artifact")
    warm_s: float = Field(ge=0, description="Seconds that loading and warming it took")
    in_flight: int = Field(ge=0, description="Requests that it works on now")


class ServiceState(Contract):
    """What is in service, for operators."""

    revision: int = Field(ge=0, description="Revision of the routing; 0: none")
    experiment: str = Field(default="", description="Name of the running trial")
    challenger_share: Rate = Field(default=0.0, description="Share of units that the challenger answers")
    shadow: bool = Field(default=False, description="The challenger is asked in the shadow")
    versions: tuple[VersionInService, ...] = Field(description="Loaded versions")
    problem: str = Field(default="", description="Why the newest routing is not in service; empty: it is")
    cache_hit_rate: Rate | None = Field(description="Of all lookups since the start; null: there was none")
    unwritten: int = Field(ge=0, description="Inference records that wait to be written")
    lost: int = Field(ge=0, description="Inference records that were dropped because the store did not keep up")
