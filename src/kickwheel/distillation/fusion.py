"""Fuse the signals about each candidate frame of a case into one figure.

Mean strength within a source, then the weighted sum over the sources (white paper F12: operator 0.6, implicit 0.3,
A/B winner 0.1), the weights renormalised over the sources that spoke about the candidate. Sources that disagree in sign
about one candidate are a conflict: counted, and kept, as the weights settle it.

Out of scope here: a cap on what one user may move when several users speak about the same text. In feedback as it is
replayed each case has one user, whose signals are fused for that case alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from kickwheel.settings import DistillationSettings
from schemas.feedback import Signal, SignalSource
from schemas.frame import Frame


@dataclass(frozen=True)
class FusedCandidate:
    """What all sources together say about one frame, -1 to 1, and each by itself."""

    frame: Frame
    fused: float
    by_source: Mapping[SignalSource, float]

    @property
    def conflict(self) -> bool:
        """Whether one source is for the frame and another against it."""
        return min(self.by_source.values()) < 0 < max(self.by_source.values())


@dataclass(frozen=True)
class FusedCase:
    """The fused candidates of a case. ``evidence`` counts its independent signals: rules that fired, whatever they
    touched (a correction speaks about two frames and is one signal)."""

    case: str
    candidates: tuple[FusedCandidate, ...]
    evidence: int

    @property
    def conflict(self) -> bool:
        """Whether sources disagree about any candidate."""
        return any(candidate.conflict for candidate in self.candidates)

    def fused(self, frame: Frame) -> float:
        """Fused signal of a frame; 0 where nobody said anything about it."""
        return next((candidate.fused for candidate in self.candidates if candidate.frame == frame), 0.0)


def fuse(signals: Iterable[Signal], settings: DistillationSettings) -> dict[str, FusedCase]:
    """Cases by id, in the order in which their first signal came."""
    by_case: dict[str, list[Signal]] = defaultdict(list)
    for signal in signals:
        by_case[signal.case].append(signal)
    return {case: _fuse_case(case, found, settings) for case, found in by_case.items()}


def _fuse_case(case: str, signals: list[Signal], settings: DistillationSettings) -> FusedCase:
    strengths: dict[Frame, dict[SignalSource, list[float]]] = {}
    for signal in signals:
        strengths.setdefault(signal.candidate, {}).setdefault(signal.source, []).append(signal.strength)
    candidates = tuple(
        _fuse_candidate(frame, {source: fmean(values) for source, values in by_source.items()}, settings)
        for frame, by_source in strengths.items()
    )
    return FusedCase(case, candidates, evidence=len({(signal.source, signal.rule) for signal in signals}))


def _fuse_candidate(frame: Frame, by_source: Mapping[SignalSource, float], settings: DistillationSettings) -> FusedCandidate:
    weights = source_weights(settings)
    total = sum(weights[source] for source in by_source)
    fused = sum(weights[source] * mean for source, mean in by_source.items()) / total if total else 0.0
    return FusedCandidate(frame, fused, by_source)


def source_weights(settings: DistillationSettings) -> dict[SignalSource, float]:
    """Weight of each source, before renormalisation."""
    return {"operator": settings.operator_weight, "implicit": settings.implicit_weight, "ab_winner": settings.ab_weight}
