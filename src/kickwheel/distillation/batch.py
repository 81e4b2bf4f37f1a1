"""From feedback and real answers to a distillation batch on disk: replay, signals, fusion, closed sets, targets.

``events.jsonl`` (:class:`FeedbackEvent`) and ``batch.jsonl`` (:class:`DistillationRow`) are written to the stage's folder;
``teacher_calls.jsonl`` beside them is the log of what the teacher said: a lap that is taken up again asks nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kickwheel.distillation.ab_test import AbResult, ab_test
from kickwheel.distillation.business import ServingUse, business_metrics
from kickwheel.distillation.candidates import ClosedSet, closed_set, live_set
from kickwheel.distillation.fusion import FusedCase, fuse, live_limits
from kickwheel.distillation.replay import Arm, ArmAnswers, replay
from kickwheel.distillation.signals import ab_winner_signals, signals_of
from kickwheel.distillation.targets import distillation_row, has_support
from kickwheel.distillation.teacher_scores import TeacherScores, score_closed_sets
from kickwheel.errors import StageFailed
from kickwheel.evaluation import evaluate
from kickwheel.feedback.live import LiveCase
from kickwheel.inference.ports import ChatClient
from kickwheel.inference.remembering_client import RememberingClient
from kickwheel.settings import DistillationSettings
from kickwheel.workspace import write_jsonl
from schemas.base import DataRef
from schemas.feedback import BusinessMetrics, DistillationRow, FeedbackCase, FeedbackEvent, Signal
from schemas.frame import Frame, Prediction
from schemas.quality import Evaluation
from schemas.utterance import Utterance, language_of


@dataclass(frozen=True)
class LiveAnswers:
    """Cases of live traffic, each with the champion's and the probe's present answer to its text; ``rankings`` as for the
    replay.
    """

    cases: Sequence[LiveCase] = ()
    champion: Sequence[Prediction] = ()
    probe: Sequence[Prediction] = ()
    rankings: Sequence[Sequence[str]] = ()
    winner: str | None = None
    lead: float = 0.0


@dataclass(frozen=True)
class Batch:
    """A distillation batch with what the stage's report needs of how it came about."""

    events: tuple[FeedbackEvent, ...]
    signals: tuple[Signal, ...]
    rows: tuple[DistillationRow, ...]
    events_ref: DataRef
    batch_ref: DataRef
    signals_by_rule: dict[str, int]
    conflicts: int
    business: dict[str, BusinessMetrics]
    replay_evaluation: Evaluation
    ab: AbResult
    teacher: TeacherScores | None
    teacher_note: str


def build_batch(
    cases: Sequence[FeedbackCase],
    *,
    champion: ArmAnswers,
    probe: ArmAnswers,
    probe_rankings: Sequence[Sequence[str]],
    teacher: ChatClient | None,
    settings: DistillationSettings,
    experiment: str,
    folder: Path,
    live: LiveAnswers | None = None,
    no_teacher_reason: str = "none is configured",
    max_concurrency: int = 16,
    use: Mapping[Arm, ServingUse] | None = None,
    evaluated_with: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """Replay the cases, add the ones of live traffic, and write the batch.

    ``champion`` and ``probe`` answered every case, in order; ``probe_rankings`` holds the probe's intents of each case,
    most probable first. A case becomes a row if its signals move its label (live traffic: with the limits of
    :mod:`~kickwheel.distillation.fusion`) and there are two frames to choose from; no cases make an empty batch.
    Arms are compared, and the champion is measured, on the replay alone.
    ``progress`` counts closed sets that the teacher scored. Deterministic, given the answers and the teacher's replies.

    Raises:
        StageFailed: two cases have the same id.
        ValueError: an arm has not one prediction a case.
    """
    _check_ids(cases)
    events = replay(
        cases, {"champion": champion, "probe": probe}, experiment=experiment, champion_share=settings.champion_share
    )
    ab = ab_test(events, settings.champion_share)
    signals = [signal for event in events for signal in signals_of(event, settings)]
    signals += ab_winner_signals(events, ab.winner, ab.lead)
    fused = fuse(signals, settings)
    live = live or LiveAnswers()
    seen = [event for case in live.cases for event in case.observations]
    live_signals = [signal for event in seen for signal in signals_of(event, settings)]
    live_signals += ab_winner_signals(seen, live.winner, live.lead)
    fused |= fuse(live_signals, settings, live_limits(settings))
    signals += live_signals

    sets = [
        closed_set(event, mine, other, ranking)
        for event, mine, other, ranking in zip(events, champion.predictions, probe.predictions, probe_rankings, strict=True)
        if has_support(fused.get(event.case))
    ]
    sets += [
        live_set(case.case, case.text, fused[case.case], mine, other, ranking)
        for case, mine, other, ranking in zip(live.cases, live.champion, live.probe, live.rankings, strict=True)
        if has_support(fused.get(case.case))
    ]
    sets = _strongest([item for item in sets if len(item.frames) >= 2], fused, settings.max_cases)
    scores = None
    if teacher is not None:
        remembering = RememberingClient(teacher, folder / "teacher_calls.jsonl")
        scores = score_closed_sets(remembering, sets, max_concurrency=max_concurrency, progress=progress)
    by_case = scores.by_case if scores else {}
    rows = [distillation_row(item, fused[item.case], by_case.get(item.case), teacher_mix=settings.teacher_mix) for item in sets]
    note = (
        f"no teacher: {no_teacher_reason}"
        if teacher is None or scores is None
        else _note(teacher.model, scores, sets, [*events, *seen])
    )
    return Batch(
        events=(*events, *seen),
        signals=tuple(signals),
        rows=tuple(rows),
        events_ref=write_jsonl(folder / "events.jsonl", [*events, *seen]),
        batch_ref=write_jsonl(folder / "batch.jsonl", rows),
        signals_by_rule=dict(Counter(signal.rule for signal in signals)),
        conflicts=sum(case.conflict for case in fused.values()),
        business=business_metrics(events, use),
        replay_evaluation=evaluate(
            [_gold(case) for case in cases],
            champion.predictions,
            student="champion",
            split="replay",
            evaluated_with=evaluated_with,
        ),
        ab=ab,
        teacher=scores,
        teacher_note=note,
    )


def _strongest(sets: Sequence[ClosedSet], fused: Mapping[str, FusedCase], most: int) -> list[ClosedSet]:
    """The sets with the most evidence, in their old order: what there is no budget to train on, the teacher need not score."""
    kept = sorted(sets, key=lambda item: -fused[item.case].evidence)[:most]
    chosen = {item.case for item in kept}
    return [item for item in sets if item.case in chosen]


def _check_ids(cases: Sequence[FeedbackCase]) -> None:
    repeated = [case for case, count in Counter(case.id for case in cases).items() if count > 1]
    if repeated:
        raise StageFailed(f"feedback cases must have ids of their own, {repeated[0]!r} stands more than once in feedback.jsonl")


def _gold(case: FeedbackCase) -> Utterance:
    return Utterance(id=case.id, text=case.text, language=language_of(case.text), frame=case.wanted)


def _note(model: str, scores: TeacherScores, sets: Sequence[ClosedSet], events: Sequence[FeedbackEvent]) -> str:
    """What the teacher gave: how many sets it scored, why it abstained, how often it is at one with the operators."""
    parts = [f"{model} scored {len(scores.by_case)} of {len(sets)} closed sets"]
    if scores.abstained:
        parts.append("abstained on " + ", ".join(f"{count} ({reason})" for reason, count in sorted(scores.abstained.items())))
    labels = {event.case: event.operator_label for event in events if event.operator_label is not None}
    checked = [item for item in sets if item.case in labels and item.case in scores.by_case]
    if checked:
        agreed = sum(_favourite(item, scores.by_case[item.case]) == labels[item.case] for item in checked)
        parts.append(f"its first choice is the operator's frame in {agreed} of {len(checked)}")
    return "; ".join(parts)


def _favourite(item: ClosedSet, shares: Sequence[float]) -> Frame:
    return item.frames[max(range(len(shares)), key=shares.__getitem__)]
