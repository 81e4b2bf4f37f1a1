"""The plots of one lap: what was measured is drawn, what was not is left out."""

from __future__ import annotations

from kickwheel.reporting.engine_plots import engine_plots
from kickwheel.reporting.learning_plots import learning_curve, loss_curve
from kickwheel.reporting.load_report import load_plots_of
from kickwheel.reporting.matrix_plots import confusion_matrix, coverage_heat_map
from kickwheel.reporting.trust_plots import coverage_curve, reliability_diagram
from schemas.lap import LapReport


def plots_of(report: LapReport) -> dict[str, str]:
    """Standalone SVG documents by file stem: learning_curve, coverage, loss, confusion, latency, …"""
    plots: dict[str, str] = {}
    if report.seeding and report.seeding.rounds:
        plots["learning_curve"] = learning_curve(report.seeding)
    if report.seeding and report.seeding.coverage:
        plots["coverage"] = coverage_heat_map(report.seeding.coverage, report.intent)
    if report.tuning and report.tuning.losses:
        plots["loss"] = loss_curve(report.tuning.losses)
    if report.tuning and report.tuning.evaluation("tuned").confusion:
        plots["confusion"] = confusion_matrix(report.tuning.evaluation("tuned"))
    if report.tuning and (quality := report.tuning.evaluation("tuned").calibration):
        plots["reliability"] = reliability_diagram(quality)
        plots["coverage_curve"] = coverage_curve(quality)
    if report.throughput and report.throughput.measured and report.throughput.points:
        plots |= load_plots_of(report.throughput)
    if report.distillation and report.distillation.losses:
        plots["distillation_loss"] = loss_curve(report.distillation.losses, name="distillation-loss", training="Distillation")
    if report.engine:
        plots |= engine_plots(report.engine)
    return plots
