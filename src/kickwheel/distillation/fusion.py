"""Fuse the signals about each candidate frame of a case into one figure, and say whether they move the label.

Within a source, users are heard as one voice each (the mean of their signals about the candidate); the figure is the mean of
the voices, then the weighted sum over the sources (white paper F12: operator 0.6, implicit 0.3, A/B winner 0.1), the weights
renormalised over the sources that spoke about the candidate. Sources, or users, that disagree in sign about one candidate are
a conflict: counted, and kept, as the weights settle it.

**One noisy user moves nothing alone.** In the implicit source a voice accounts for at most ``user_cap`` of the figure,
however many signals stand behind it: figure = sum(w v) / max(sum(w), max(w) / cap). And a label moves only where
``min_users`` users with ``min_evidence`` signals speak for it, or an operator does, with a lead over the next frame. Users of
whom nothing is known are one.

**Exposure.** Of a candidate that several arms showed, or at several places, voices from rare exposures weigh more: w is the
inverse of propensity times the probability that its place was looked at (1 / place ** ``position_bias``; Joachims et al.,
WSDM 2017), clipped at ``max_inverse_propensity``, self-normalised (Hájek). Where all exposures are alike the weights are too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kickwheel.settings import DistillationSettings
from schemas.feedback import Signal, SignalSource
from schemas.frame import Frame


@dataclass(frozen=True)
class Limits:
    """How much evidence a label needs. The defaults are for bundled cases: whoever wrote the file stands behind each, one user
    acts in it, and any support counts."""

    min_users: int = 1
    min_evidence: int = 1
    min_margin: float = 0.0
    user_cap: float = 1.0


def live_limits(settings: DistillationSettings) -> Limits:
    """What live traffic needs."""
    return Limits(settings.min_users, settings.min_evidence, settings.min_margin, settings.user_cap)


@dataclass(frozen=True)
class FusedCandidate:
    """What all sources together say about one frame, -1 to 1, and each by itself.

    ``supporters`` are the users whose implicit voice is for it, ``opponents`` those against it; ``support`` counts the
    supporters' different signals."""

    frame: Frame
    fused: float
    by_source: Mapping[SignalSource, float]
    supporters: frozenset[str] = frozenset()
    opponents: frozenset[str] = frozenset()
    support: int = 0

    @property
    def conflict(self) -> bool:
        """Whether one source is for the frame and another against it."""
        return min(self.by_source.values()) < 0 < max(self.by_source.values())

    @property
    def disputed(self) -> bool:
        """Whether users disagree about it."""
        return bool(self.supporters and self.opponents)


@dataclass(frozen=True)
class FusedCase:
    """The fused candidates of a case. ``evidence`` counts its independent signals: rules that fired, a user each, whatever they
    touched (a correction speaks about two frames and is one signal). ``held_back`` says why the label does not move; empty: it
    does."""

    case: str
    candidates: tuple[FusedCandidate, ...]
    evidence: int
    held_back: str = ""

    @property
    def conflict(self) -> bool:
        """Whether sources disagree about any candidate."""
        return any(candidate.conflict for candidate in self.candidates)

    @property
    def best(self) -> FusedCandidate:
        """The frame with the largest figure; the first of equal ones."""
        return max(self.candidates, key=lambda candidate: candidate.fused)

    def fused(self, frame: Frame) -> float:
        """Fused signal of a frame; 0 where nobody said anything about it."""
        return next((candidate.fused for candidate in self.candidates if candidate.frame == frame), 0.0)


def fuse(signals: Iterable[Signal], settings: DistillationSettings, limits: Limits | None = None) -> dict[str, FusedCase]:
    """Cases by id, in the order in which their first signal came. Without limits: those of bundled cases."""
    by_case: dict[str, list[Signal]] = defaultdict(list)
    for signal in signals:
        by_case[signal.case].append(signal)
    return {case: _fuse_case(case, found, settings, limits or Limits()) for case, found in by_case.items()}


def _fuse_case(case: str, signals: list[Signal], settings: DistillationSettings, limits: Limits) -> FusedCase:
    by_frame: dict[Frame, list[Signal]] = defaultdict(list)
    for signal in signals:
        by_frame[signal.candidate].append(signal)
    candidates = tuple(_fuse_candidate(frame, found, settings, limits) for frame, found in by_frame.items())
    evidence = len({(signal.source, signal.rule, signal.user) for signal in signals})
    return FusedCase(case, candidates, evidence, _held_back(candidates, limits))


def _fuse_candidate(frame: Frame, signals: Sequence[Signal], settings: DistillationSettings, limits: Limits) -> FusedCandidate:
    by_source: dict[SignalSource, list[Signal]] = defaultdict(list)
    for signal in signals:
        by_source[signal.source].append(signal)
    figures: dict[SignalSource, float] = {
        source: _figure(found, settings, limits.user_cap if source == "implicit" else 1.0)
        for source, found in by_source.items()
    }
    weights = source_weights(settings)
    total = sum(weights[source] for source in figures)
    fused = sum(weights[source] * figure for source, figure in figures.items()) / total if total else 0.0
    voices = {user: fmean(signal.strength for signal in found) for user, found in _by_user(by_source["implicit"]).items()}
    supporters = frozenset(user for user, voice in voices.items() if voice > 0)
    opponents = frozenset(user for user, voice in voices.items() if voice < 0)
    support = len({(s.rule, s.user) for s in by_source["implicit"] if s.strength > 0 and s.user in supporters})
    return FusedCandidate(frame, fused, figures, supporters, opponents, support)


def _figure(signals: Sequence[Signal], settings: DistillationSettings, cap: float) -> float:
    """Mean of the users' voices, weighed by exposure, none accounting for more than ``cap``."""
    voices, weights = [], []
    for found in _by_user(signals).values():
        voices.append(fmean(signal.strength for signal in found))
        weights.append(fmean(exposure_weight(signal, settings) for signal in found))
    whole = max(sum(weights), max(weights) / cap)
    return sum(weight * voice for weight, voice in zip(weights, voices, strict=True)) / whole


def exposure_weight(signal: Signal, settings: DistillationSettings) -> float:
    """Inverse of the probability that the answer was shown by this arm and looked at in this place, clipped."""
    seen = signal.exposure
    if seen is None:
        return 1.0
    chance = seen.propensity / seen.position**settings.position_bias
    return min(1 / chance, settings.max_inverse_propensity) if chance else settings.max_inverse_propensity


def _held_back(candidates: Sequence[FusedCandidate], limits: Limits) -> str:
    """Why the label does not move; empty: it does."""
    ranked = sorted(candidates, key=lambda candidate: -candidate.fused)
    best = ranked[0]
    if best.fused <= 0:
        return "nothing speaks for any frame"
    if len(ranked) > 1 and best.fused - ranked[1].fused < limits.min_margin:
        return f"two frames are level: {best.fused:.2f} and {ranked[1].fused:.2f}"
    if best.by_source.get("operator", 0.0) > 0:
        return ""
    if not best.supporters and limits.min_users <= 1:
        return ""  # the A/B winner alone: enough for a bundled case
    if len(best.supporters) < limits.min_users:
        return f"{len(best.supporters)} of {limits.min_users} users speak for it"
    if best.support < limits.min_evidence:
        return f"{best.support} of {limits.min_evidence} signals speak for it"
    return ""


def _by_user(signals: Sequence[Signal]) -> dict[str, list[Signal]]:
    found: dict[str, list[Signal]] = defaultdict(list)
    for signal in signals:
        found[signal.user].append(signal)
    return found


def source_weights(settings: DistillationSettings) -> dict[SignalSource, float]:
    """Weight of each source, before renormalisation."""
    return {"operator": settings.operator_weight, "implicit": settings.implicit_weight, "ab_winner": settings.ab_weight}
