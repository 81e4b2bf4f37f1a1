"""The lap as flat numbers, for the tracker's parent run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kickwheel.reporting.standing import eval_lines
from schemas.lap import LapReport
from schemas.throughput import ThroughputReport

_BUSINESS = ("cases", "replayed", "task_completion", "turns", "correction_rate", "click_through", "cost_per_1k_tasks")
_PREFIXES = {"tuned": "eval", "base_zero_shot": "base"}


def flat_metrics(report: LapReport) -> dict[str, float]:
    """Metrics by name; only what was measured and is finite.

    ``eval/…`` (the tuned student), ``probe/…``, ``base/…``, ``challenger/…`` on eval, each with ``…_zh/``; ``seeding/…``,
    ``tuning/…``, ``throughput/…``, ``business/…`` (what users did with the champion:
    real ones where ``business/replayed`` is 0), ``distillation/…``, ``seconds/…``.
    """
    groups = (_quality, _seeding, _tuning, _throughput, _distillation, _dual_track, _seconds)
    return {
        name: float(value) for group in groups for name, value in group(report) if value is not None and math.isfinite(value)
    }


def load_figures(throughput: ThroughputReport) -> dict[str, float | None]:
    """The searched arm's figures at its largest rate and without load, and the burst: what laps are compared by."""
    found: dict[str, float | None] = {}
    for search in throughput.searches[:1]:
        at = [p for p in throughput.points if p.arm == search.arm and p.offered_rate == search.largest_rate and p.holds_slo]
        found["unloaded_p99_ms"] = search.unloaded_p99_ms
        for point in at[:1]:
            found |= {
                "p50_ms": point.latency_ms.p50,
                "p99_ms": point.latency_ms.p99,
                "ttft_p99_ms": point.ttft_ms.p99,
                "tpot_p50_ms": point.tpot_ms.p50,
                "goodput": point.goodput,
                "tokens_per_s": point.completion_tokens_per_s,
                "joint_accuracy": point.accuracy.loaded if point.accuracy else None,
                "joint_accuracy_ratio": point.accuracy.ratio if point.accuracy else None,
            }
    if burst := throughput.burst:
        found |= {"burst_p95_ms": burst.point.latency_ms.p95, "burst_p99_ms": burst.point.latency_ms.p99}
        found["burst_alarms"] = len(burst.alarms)
    return found


Named = Iterator[tuple[str, float | None]]


def _quality(report: LapReport) -> Named:
    for line in eval_lines(report):
        prefix = _PREFIXES.get(line.student, line.student) + (f"_{line.language}" if line.language else "")
        for name, value in line.metrics.model_dump(exclude={"rows", "joint_interval"}).items():
            yield f"{prefix}/{name}", value


def _seeding(report: LapReport) -> Named:
    if seeding := report.seeding:
        yield "seeding/labels_total", sum(seeding.labels_by_source.values())
        for source, labels in seeding.labels_by_source.items():
            yield f"seeding/labels_{source}", labels
        yield "seeding/synthetic_share", seeding.synthesis.share if seeding.synthesis else 0.0
        yield "seeding/rounds", len(seeding.rounds)
        yield "seeding/review_queue", seeding.review_queue.rows
        yield "seeding/agreement", seeding.agreement
        yield "seeding/teacher_labels", seeding.teacher.labels
        yield "seeding/teacher_right", seeding.teacher.right
        yield "seeding/teacher_calls", sum(round_.teacher_calls for round_ in seeding.rounds)


def _tuning(report: LapReport) -> Named:
    if tuning := report.tuning:
        yield "tuning/trained_tokens", tuning.trained_tokens
        yield "tuning/tokens_per_second", tuning.tokens_per_second
        yield "tuning/final_loss", tuning.losses[-1].loss if tuning.losses else None
        yield "tuning/p_value_against_probe", tuning.against_probe.p_value
        yield "tuning/p_value_against_base", tuning.against_base.p_value
        if quality := tuning.evaluation("tuned").calibration:
            yield "eval/ece", quality.ece
            yield "eval/coverage", quality.at_threshold.coverage
            yield "eval/covered_accuracy", quality.at_threshold.accuracy
            yield "eval/out_of_scope_recall", quality.out_of_scope.recall
        for arm in tuning.parity.arms if tuning.parity else ():
            yield f"tuning/parity_{arm.name}", arm.agreement


def _throughput(report: LapReport) -> Named:
    if throughput := report.throughput:
        for arm in sorted({point.arm for point in throughput.points}):
            yield f"throughput/largest_rate_{arm}", throughput.largest_rate(arm)
        yield from ((f"throughput/{name}", value) for name, value in load_figures(throughput).items())
        yield "throughput/startup_s", throughput.startup_s
        yield "throughput/warmup_s", throughput.warmup_s


def _distillation(report: LapReport) -> Named:
    if distillation := report.distillation:
        if champion := distillation.business.get("champion"):
            yield from ((f"business/{name}", value) for name, value in champion.model_dump().items())
            yield "business/replayed", True
        yield "distillation/events", distillation.events.rows
        yield "distillation/rows", distillation.batch.rows
        yield "distillation/conflicts", distillation.conflicts
        yield "distillation/trained_tokens", distillation.trained_tokens
        yield "distillation/promoted", (distillation.gate.decision == "promote") if distillation.gate else None


def _dual_track(report: LapReport) -> Named:
    if track := report.dual_track:
        for row in (
            row for row in track.versions if row.lap == report.lap and not row.replayed
        ):  # in the place of replayed ones
            yield from ((f"business/{name}", getattr(row, name)) for name in _BUSINESS)
        for name, found in track.correlations.items():
            yield f"business/pearson_{name}", found.pearson
            yield f"business/spearman_{name}", found.spearman
        yield "business/decoupled", track.decoupled


def _seconds(report: LapReport) -> Named:
    for time in report.stages:
        yield f"seconds/{time.stage}", time.seconds
    yield "seconds/total", sum(time.seconds for time in report.stages) if report.stages else None
