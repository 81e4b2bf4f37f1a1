"""What live feedback says about a case: signals, fused figures, conflicts, and whether the label moves."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from schemas.base import Contract, DataRef
from schemas.feedback import Signal
from schemas.frame import Frame


class CandidateEvidence(Contract):
    """What all sources together say about one frame."""

    frame: Frame
    fused: float = Field(description="Weighted sum over the sources, -1 (wrong) to 1 (right)")
    by_source: dict[str, float] = Field(description="Source -> its figure")
    supporters: int = Field(ge=0, description="Users whose behaviour speaks for it")
    opponents: int = Field(ge=0, description="Users whose behaviour speaks against it")
    conflict: bool = Field(description="Sources, or users, disagree about it")


class CaseEvidence(Contract):
    """The evidence about one case of live traffic."""

    schema_version: Literal["1"] = "1"
    case: str
    text: str = Field(description="The spelling that was seen first")
    answers: int = Field(ge=0, description="Answers to it")
    candidates: tuple[CandidateEvidence, ...] = Field(description="Frames that signals speak about, the best first")
    signals: tuple[Signal, ...] = Field(description="Every signal, with what was seen")
    conflict: bool = Field(description="Sources or users disagree about a frame")
    moves: Frame | None = Field(description="The label that the evidence moves the case to; None: it moves nothing")
    held_back: str = Field(description="Why it moves nothing; empty: it does")
    labels_waiting: int = Field(default=0, ge=0, description="Operators' labels that count from the next day (T+1)")


class FeedbackSignals(Contract):
    """Evidence about several cases."""

    schema_version: Literal["1"] = "1"
    cases: tuple[CaseEvidence, ...] = Field(description="Those with the most signals first")
    moving: int = Field(ge=0, description="Cases whose label moves")
    conflicts: int = Field(ge=0, description="Cases with a conflict")
    signals_by_rule: dict[str, int] = Field(description="Rule -> signals")


class FeedbackWindow(Contract):
    """What a lap took from the event store: its cursor, and the copy that it works from."""

    schema_version: Literal["1"] = "1"
    store: int = Field(ge=0, description="Identity of the store; a cursor holds for one store")
    until: int = Field(ge=0, description="Number of the last change that is in the copy")
    labels_until: datetime | None = Field(description="Operators' labels received from then on are not; None: all are")
    cases: int = Field(ge=0, description="Cases about which something came back")
    observations: DataRef = Field(description="The copy: FeedbackEvent, one an answer")


class BadCluster(Contract):
    """Answers that went wrong alike."""

    fingerprint: str = Field(description="Of its first member: method, path, status, error or intent -> what was wanted")
    answers: int = Field(ge=1, description="Answers in it")
    severity: float = Field(gt=0, description="Sum over its answers: 1 each, 2 for replies without a frame and 4xx, 3 for 5xx")
    cases: tuple[str, ...] = Field(description="Its cases, each once")
    texts: tuple[str, ...] = Field(description="One text a case, in the order of the cases")
    languages: tuple[Literal["en", "zh"], ...] = Field(description="Of the texts")
    suggestions: tuple[Frame | None, ...] = Field(description="What evidence speaks for, a case; None: for nothing")


class BadCaseReport(Contract):
    """The worst clusters of answers that went wrong (white paper F8)."""

    schema_version: Literal["1"] = "1"
    answers: int = Field(ge=0, description="Answers that were looked at")
    bad: int = Field(ge=0, description="Of these, answers that went wrong")
    all_clusters: int = Field(ge=0, description="Clusters that they fall into")
    clusters: tuple[BadCluster, ...] = Field(description="The worst ones, worst first")


class ImportReport(Contract):
    """What an import of events read and what was new."""

    schema_version: Literal["1"] = "1"
    records: int = Field(ge=0, description="Inference records read")
    events: int = Field(ge=0, description="Events read")
    added: int = Field(ge=0, description="Events that were new")
    duplicates: int = Field(ge=0, description="Events that were there before")
    differing: tuple[str, ...] = Field(default=(), description="Ids among these that were there with other content")
    dry_run: bool = Field(default=False, description="Nothing was written, so nothing is known of duplicates")
