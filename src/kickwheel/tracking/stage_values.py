"""Which values of a stage's result are logged on its MLflow run: a chosen subset, by names that laps share."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import BaseModel

from kickwheel.throughput.drift import memory_of
from schemas.feedback import DistillationReport
from schemas.quality import Evaluation
from schemas.seeding import SeedSet
from schemas.student import StudentReport
from schemas.task import TaskCatalog
from schemas.throughput import Burst, ThroughputReport
from schemas.tuning import LossPoint, TuningReport

Values = dict[str, float]
Curves = dict[str, list[tuple[int, float]]]


def finite(values: Mapping[str, float | int | None]) -> Values:
    """Numbers only: MLflow takes NaN and infinity silently, so they are stopped here."""
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def evaluation_values(evaluation: Evaluation) -> Values:
    """Figures of one evaluation, prefixed by student, and by language below it."""
    sets = {evaluation.student: evaluation.overall}
    sets |= {f"{evaluation.student}_{language}": metrics for language, metrics in evaluation.by_language.items()}
    return finite(
        {
            f"{prefix}/{name}": value
            for prefix, metrics in sets.items()
            for name, value in metrics.model_dump(exclude={"joint_interval"}).items()
        }
        | _more_values(evaluation)
    )


def _more_values(evaluation: Evaluation) -> dict[str, float | None]:
    """Calibration, out-of-scope detection and free text, where they were measured."""
    found: dict[str, float | None] = {}
    if quality := evaluation.calibration:
        outside = quality.out_of_scope
        found |= {
            "ece": quality.ece,
            "ece_raw": quality.ece_raw,
            "adaptive_ece": quality.adaptive_ece,
            "aurc": quality.aurc,
            "coverage": quality.at_threshold.coverage,
            "covered_accuracy": quality.at_threshold.accuracy,
            "out_of_scope_recall": outside.recall,
            "out_of_scope_precision": outside.precision,
            "out_of_scope_auroc": outside.auroc,
            "in_scope_refused": outside.in_scope_refused,
        }
    if text := evaluation.free_text:
        found |= {"bleu": text.bleu, "rouge_l": text.rouge_l}
    return {f"{evaluation.student}/{name}": value for name, value in found.items()}


def stage_values(result: BaseModel) -> Values:
    """Metrics of a stage's result."""
    match result:
        case TaskCatalog():
            scheduled = sum(task.schedule is not None for task in result.tasks)
            return finite({"tasks": len(result.tasks), "scheduled": scheduled, "rejected": len(result.rejections)})
        case SeedSet():
            labels = {f"labels/{source}": count for source, count in result.labels_by_source.items()}
            calls = sum(item.teacher_calls for item in result.rounds)
            more = {"labels/total": result.train.rows, "agreement": result.agreement, "teacher_calls": calls}
            checks = {
                "checks/leaks": len(result.checks.leaks),
                "checks/duplicates": len(result.checks.duplicates),
                "checks/personal_data": sum(result.checks.personal_data.values()),
                "checks/suspects": len(result.checks.suspects),
            }
            spend = result.spend
            paid = {"teacher_paid_calls": spend.calls, "teacher_cost": spend.cost} if spend else {}
            return finite({**labels, **more, **checks, **paid, "teacher_right": result.teacher.right})
        case TuningReport() | StudentReport():
            values = {"trained_tokens": result.trained_tokens, "tokens_per_second": result.tokens_per_second}
            students = {k: v for item in result.evaluations for k, v in evaluation_values(item).items()}
            trust = _trust_values(result) if isinstance(result, TuningReport) else {}
            return finite(values) | students | finite(trust)
        case ThroughputReport():
            arms = dict.fromkeys(("base", "adapter", *(point.arm for point in result.points)))
            rates = {} if result.load else {f"largest_rate/{arm}": result.largest_rate(arm) for arm in arms}
            for point in result.points[:1] if result.load else ():
                latency = point.latency_ms
                rates |= {f"load/{name}_ms": getattr(latency, name) for name in ("p50", "p95", "p99")}
                rates |= {"load/achieved_rate": point.achieved_rate, "load/goodput": point.goodput}
                rates |= {"load/sent": point.sent, "load/errors": point.sent - point.succeeded}
            burst = burst_values(result.burst) if result.burst else {}
            return finite({**rates, **burst, "startup_s": result.startup_s, "warmup_s": result.warmup_s})
        case DistillationReport():
            business = {f"business_{arm}/{k}": v for arm, item in result.business.items() for k, v in item.model_dump().items()}
            signals = {f"signals/{rule}": count for rule, count in result.signals_by_rule.items()}
            gate = [item for item in (result.gate.champion, result.gate.challenger) if item] if result.gate else []
            values = finite({**business, **signals, "conflicts": result.conflicts, "trained_tokens": result.trained_tokens})
            return values | {k: v for item in gate for k, v in evaluation_values(item).items()}
    raise TypeError(f"no stage gives a {type(result).__name__}")


def burst_values(burst: Burst) -> Values:
    """A burst as the next version's is compared with it."""
    latency = burst.point.latency_ms
    return finite(
        {
            "burst/requests": burst.requests,
            "burst/cold": burst.cold,
            "burst/p95_ms": latency.p95,
            "burst/p99_ms": latency.p99,
            "burst/memory_mib": memory_of(burst.point),
            "burst/alarms": len(burst.alarms),
        }
    )


def _trust_values(result: TuningReport) -> dict[str, float | None]:
    """Calibration, parity and cross-validation of a tuning."""
    found: dict[str, float | None] = {}
    if calibration := result.calibration:
        names = ("temperature", "bias", "threshold", "ece_before", "ece_after")
        found |= {f"calibration/{name}": getattr(calibration, name) for name in names}
    if result.parity and result.parity.arms:
        found |= {f"parity/{arm.name}": arm.agreement for arm in result.parity.arms}
        found |= {"parity/prompts": result.parity.prompts, "parity/passed": not result.parity.failures}
    for item in result.cross_validation:
        figures = item.model_dump(exclude={"student"})
        found |= {f"{item.student}_folds/{name}": value for name, value in figures.items()}
    if test := result.against_champion:
        found |= {
            "against_champion/wins": test.wins,
            "against_champion/losses": test.losses,
            "against_champion/p": test.p_value,
        }
    return found


def stage_curves(result: BaseModel) -> Curves:
    """Curves of a stage's result: name -> (step, value). Load curves have the offered rate in milli-requests/s as step."""
    match result:
        case SeedSet():
            return {"probe/joint_frame_accuracy": [(item.number, item.probe.joint_frame_accuracy) for item in result.rounds]}
        case StudentReport():
            return {**_loss_curve(result.losses), "valid_loss": list(result.validation)}
        case TuningReport() | DistillationReport():
            return _loss_curve(result.losses)
        case ThroughputReport():
            curves: Curves = {}
            for point in result.points:
                step = round(1000 * point.offered_rate)
                for name, value in (
                    ("p50_ms", point.latency_ms.p50),
                    ("p99_ms", point.latency_ms.p99),
                    ("goodput", point.goodput),
                    ("achieved_rate", point.achieved_rate),
                    ("ttft_p99_ms", point.ttft_ms.p99),
                    ("joint_accuracy", point.accuracy.loaded if point.accuracy else None),
                ):
                    if value is not None:
                        curves.setdefault(f"{point.arm}/{name}", []).append((step, value))
            return curves
    return {}


def _loss_curve(losses: tuple[LossPoint, ...]) -> Curves:
    return {"loss": [(point.step, point.loss) for point in losses if math.isfinite(point.loss)]} if losses else {}
