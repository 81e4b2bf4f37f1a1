"""The few figures by which each stage is remembered: one line a stage, for terminal and Markdown."""

from __future__ import annotations

from kickwheel.reporting.wording import duration, not_measured, not_run, percent, plural, rate
from schemas.lap import STAGES, LapReport, Stage
from schemas.tuning import TuningReport


def stage_lines(report: LapReport) -> list[tuple[Stage, str, str]]:
    """Stage, how long it took, and its key figures or why there are none; in lap order."""
    times = {time.stage: time for time in report.stages}
    lines: list[tuple[Stage, str, str]] = []
    for stage in STAGES:
        time = times.get(stage)
        attempts = f" ({time.attempts} attempts)" if time and time.attempts > 1 else ""
        lines.append((stage, f"{duration(time.seconds)}{attempts}" if time else "–", _figures(report, stage)))
    return lines


def verdicts(report: LapReport) -> list[tuple[str, str]]:
    """What was decided, and what the LLM gave: heading and sentence."""
    said: list[tuple[str, str]] = []
    if report.tuning:
        said.append(("against the probe", report.tuning.verdict()))
        said += _trust(report.tuning)
        became = report.tuning.promotion
        said.append(("promotion", "the adapter is the champion" if became == "champion" else f"not promoted: {became}"))
    if report.seeding:
        teacher = report.seeding.teacher
        missing = f" (unavailable: {teacher.unavailable_reason})" if teacher.unavailable_reason else ""
        said.append(("teacher", f"{teacher.sentence()}{missing}; reviewer: {report.seeding.reviewer}"))
        if synthesis := report.seeding.synthesis:
            said.append(("synthesis", synthesis.sentence()))
            said += [("synthesis", note) for note in synthesis.notes]
        said += [("seeding", note) for note in report.seeding.notes]
    if report.distillation:
        gate = report.distillation.gate
        said.append(
            ("gate", f"{gate.decision}: {'; '.join(gate.reasons)}" if gate else "not measured: there was nothing to distil")
        )
        said.append(("A/B winner, replayed", f"{report.distillation.ab_winner or 'none'}: {report.distillation.ab_note}"))
    return said


def _trust(tuning: TuningReport) -> list[tuple[str, str]]:
    """What the confidence is worth, and whether the adapter is the same wherever it runs."""
    said: list[tuple[str, str]] = []
    quality, calibration = tuning.evaluation("tuned").calibration, tuning.calibration
    if quality and calibration:
        at, outside = quality.at_threshold, quality.out_of_scope
        target = "" if calibration.target_met else f"; no threshold gives {percent(calibration.target_accuracy, 0)} on valid"
        said.append(
            (
                "confidence",
                f"calibration error {percent(quality.ece)} (as given {percent(quality.ece_raw)}); from {at.threshold:.2f} on "
                f"{percent(at.coverage)} are answered, {percent(at.accuracy)} of those right{target}; out of scope: "
                f"{percent(outside.recall)} turned away, and {percent(outside.in_scope_refused)} of the others",
            )
        )
    if tuning.parity:
        failed = "; ".join(tuning.parity.failures)
        said.append(("parity", f"FAILED: {failed}" if failed else tuning.parity.sentence()))
    for item in tuning.cross_validation:
        said.append(
            (
                "cross-validation",
                f"{item.student}, {item.folds} folds of {item.rows} labels: joint {percent(item.joint_frame_accuracy)} "
                f"(± {percent(item.joint_deviation)}), intent {percent(item.intent_accuracy)} "
                f"(± {percent(item.intent_deviation)})",
            )
        )
    return said


def _figures(report: LapReport, stage: Stage) -> str:
    if stage == "intent" and report.intent:
        return f"{plural(len(report.intent.tasks), 'task')}, {plural(len(report.intent.rejections), 'rejected statement')}"
    if stage == "seeding" and report.seeding:
        sources = ", ".join(f"{source} {count}" for source, count in report.seeding.labels_by_source.items())
        waiting = plural(report.seeding.review_queue.rows, "row")
        return f"{plural(sum(report.seeding.labels_by_source.values()), 'label')} ({sources}), {waiting} waiting"
    if stage == "tuning" and report.tuning:
        joint = percent(report.tuning.evaluation("tuned").overall.joint_frame_accuracy)
        return f"joint frame accuracy {joint} on eval, {report.tuning.trained_tokens:,} trained tokens"
    if stage == "throughput" and report.throughput:
        largest = report.throughput.largest_rate
        return not_measured(report) or f"within the SLO: adapter {rate(largest('adapter'))}, base {rate(largest('base'))}"
    if stage == "distillation" and report.distillation:
        champion = report.distillation.business.get("champion")
        completed = percent(champion.task_completion) if champion else "not measured"
        decision = report.distillation.gate.decision if report.distillation.gate else "none"
        return f"tasks completed {completed} (replayed), gate: {decision}"
    return not_run(stage)
