"""Answers that went wrong, clustered by what went wrong and how the texts look (white paper F8).

Two bad cases are as far apart as their texts (normalised Levenshtein distance, code points), times a factor for what went
wrong: the same fingerprint, the same status with another fingerprint, another status. A bad case joins the nearest cluster
whose first member is near enough, else it begins one. The worst clusters come first, and only the top share is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from rapidfuzz.distance import Levenshtein

from kickwheel.feedback.evidence import evidence_of
from kickwheel.feedback.live import LiveCase, live_cases
from kickwheel.feedback.ports import EventStore
from kickwheel.settings import Settings
from kickwheel.spellings import normal_text
from schemas.events import InferenceRecord
from schemas.evidence import BadCaseReport, BadCluster
from schemas.frame import Frame
from schemas.utterance import language_of

ENTRY = "POST /v1/understand"
SAME_STATUS, OTHER_STATUS = 1.5, 2.0
"""Factors on the distance of texts, where fingerprints differ."""


@dataclass(frozen=True)
class BadAnswer:
    """One answer that went wrong."""

    case: str
    text: str
    fingerprint: str
    status: int
    weight: float
    suggestion: Frame | None = None

    @cached_property
    def words(self) -> str:
        """The text without what does not tell requests apart."""
        return normal_text(self.text).key


@dataclass
class _Cluster:
    first: BadAnswer
    members: list[BadAnswer] = field(default_factory=list)

    @property
    def severity(self) -> float:
        return sum(member.weight for member in self.members)


def bad_case_report(store: EventStore, settings: Settings, *, now: datetime) -> BadCaseReport:
    """The worst clusters among all answers of a store: failed ones, and ones that evidence speaks against."""
    records = {item.record.inference_id: item.record for item in store.exchanges()}
    live = {case.case: case for case in live_cases(store, settings.distillation, now=now)}
    keys = {item.record.inference_id: item.case for item in store.exchanges()}
    judged = {key: _judged(case, settings) for key, case in live.items()}
    bad = []
    for name, record in records.items():
        against, wanted = judged.get(keys[name], (frozenset(), None))
        if record.frame is None or record.status >= 400 or name in against:
            bad.append(bad_answer(record, keys[name], wanted))
    clusters = cluster(bad, similarity=settings.feedback.bad_case_similarity)
    kept = clusters[: math.ceil(len(clusters) * settings.feedback.bad_case_share)]
    return BadCaseReport(
        answers=len(records), bad=len(bad), all_clusters=len(clusters), clusters=tuple(_told(item) for item in kept)
    )


def _judged(case: LiveCase, settings: Settings) -> tuple[frozenset[str], Frame | None]:
    """Answers of a case that their own feedback speaks against, and the frame that evidence speaks for."""
    evidence = evidence_of(case, settings.distillation)
    balance: dict[str, float] = {}
    for event in case.observations:
        own = [s.strength for s in evidence.signals if s.inference_id == event.inference_id and s.candidate == event.answer]
        balance[event.inference_id] = sum(own)
    wanted = next((item.frame for item in evidence.candidates if item.fused > 0), None)
    return frozenset(name for name, total in balance.items() if total < 0), wanted


def bad_answer(record: InferenceRecord, case: str, wanted: Frame | None) -> BadAnswer:
    """An answer with its fingerprint: method, path, status, and the error or the intent with what was wanted instead."""
    if record.frame is None or record.status >= 400:
        what = record.error or "no frame"
    else:
        what = record.frame.intent
        if wanted is not None and wanted != record.frame:
            what += f" -> {wanted.intent}" if wanted.intent != record.frame.intent else " (slots)"
    weight = 3.0 if record.status >= 500 else 2.0 if record.status >= 400 or record.frame is None else 1.0
    suggestion = None if wanted == record.frame else wanted
    return BadAnswer(case, record.text, f"{ENTRY} {record.status} {what}", record.status, weight, suggestion)


def cluster(bad: Sequence[BadAnswer], *, similarity: float) -> list[_Cluster]:
    """Clusters, the most severe first. Deterministic in the order of the answers."""
    clusters: list[_Cluster] = []
    of_case: dict[tuple[str, str], _Cluster] = {}
    for item in bad:
        key = (item.case, item.fingerprint)
        if key not in of_case:
            near = [(distance(item, other.first), index) for index, other in enumerate(clusters)]
            best = min(near, default=(math.inf, 0))
            if best[0] > 1 - similarity:
                clusters.append(_Cluster(item))
                best = (0.0, len(clusters) - 1)
            of_case[key] = clusters[best[1]]
        of_case[key].members.append(item)
    return sorted(clusters, key=lambda item: -item.severity)


def distance(one: BadAnswer, other: BadAnswer) -> float:
    """0 for the same text and fingerprint; above 1 where they have nothing in common."""
    same = one.fingerprint == other.fingerprint
    factor = 1.0 if same else SAME_STATUS if one.status == other.status else OTHER_STATUS
    texts = float(Levenshtein.normalized_distance(one.words, other.words))
    return texts * factor + (0.0 if same else 0.1)


def _told(found: _Cluster) -> BadCluster:
    cases = {member.case: member for member in reversed(found.members)}
    ordered = [cases[case] for case in dict.fromkeys(member.case for member in found.members)]
    return BadCluster(
        fingerprint=found.first.fingerprint,
        answers=len(found.members),
        severity=found.severity,
        cases=tuple(member.case for member in ordered),
        texts=tuple(member.text for member in ordered),
        languages=tuple(language_of(member.text) for member in ordered),
        suggestions=tuple(member.suggestion for member in ordered),
    )
