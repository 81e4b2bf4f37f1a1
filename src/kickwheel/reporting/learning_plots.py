"""Plots of learning: probe quality by labels over the seeding rounds, and the loss of a training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from kickwheel.reporting.palette import LIGHT
from kickwheel.reporting.svg import WIDTH, draw, quiet
from kickwheel.reporting.wording import percent
from schemas.seeding import SeedSet
from schemas.tuning import LossPoint


def labels_by_round(seeding: SeedSet) -> list[int]:
    """Labels after each round: the seeds and everything accepted or reviewed so far."""
    gained = (round_.accepted_from_teacher + round_.reviewed for round_ in seeding.rounds)
    return list(accumulate(gained, initial=seeding.labels_by_source.get("seed", 0)))[1:]


def learning_curve(seeding: SeedSet) -> str:
    """Probe quality on valid against labels, a point a round, with the 95 % interval of the joint frame accuracy."""
    labels, probes = labels_by_round(seeding), [round_.probe for round_ in seeding.rounds]
    joint = [probe.joint_frame_accuracy for probe in probes]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        below = [max(0.0, value - probe.joint_interval[0]) for value, probe in zip(joint, probes, strict=True)]
        above = [max(0.0, probe.joint_interval[1] - value) for value, probe in zip(joint, probes, strict=True)]
        axes.errorbar(
            labels, joint, yerr=[below, above], color=LIGHT["blue"], marker="o", capsize=3, label="joint frame (95 % interval)"
        )
        axes.plot(
            labels, [p.intent_accuracy for p in probes], color=LIGHT["orange"], marker="s", ls="--", label="intent accuracy"
        )
        axes.plot(labels, [p.slot_f1 for p in probes], color=LIGHT["grey"], marker="^", ls=":", label="slot F1")
        axes.set_ylim(0, 1)
        axes.margins(x=0.12)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes.set_xticks(sorted(set(labels)))
        axes.set_xlabel("labels after the round")
        figure.legend(loc="outside lower left", ncols=3, handlelength=2.2, columnspacing=1.2)
        quiet(axes)

    return draw("learning-curve", _learning_title(labels, joint), (WIDTH, 2.9), paint)


def _learning_title(labels: Sequence[int], joint: Sequence[float]) -> str:
    if len(joint) == 1:
        return f"The probe gets {percent(joint[0], 0)} of frames right on valid after one round, with {labels[0]} labels"
    gain = 100 * (joint[-1] - joint[0])
    if abs(gain) < 0.05:
        change = f"stays at {percent(joint[-1])}"
    else:
        change = f"{'rises' if gain > 0 else 'falls'} {abs(gain):.1f} points to {percent(joint[-1])}"
    return f"Probe's joint frame accuracy on valid {change} from {labels[0]} to {labels[-1]} labels"


def loss_curve(losses: Sequence[LossPoint], *, name: str = "loss", training: str = "Tuning") -> str:
    """Training loss against trained tokens. Points that are not finite are left out and counted in the title."""
    finite = [point for point in losses if math.isfinite(point.loss)]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        marker = "o" if len(finite) < 3 else None
        axes.plot([point.tokens for point in finite], [point.loss for point in finite], color=LIGHT["blue"], marker=marker)
        axes.set_ylim(0, 1.06 * max((point.loss for point in finite), default=1.0) or 1.0)
        axes.set_xlabel("trained tokens")
        axes.set_ylabel("loss")
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        quiet(axes)

    return draw(name, _loss_title(finite, len(losses) - len(finite), training), (WIDTH, 2.5), paint)


def _loss_title(finite: Sequence[LossPoint], lost: int, training: str) -> str:
    broken = f"; {lost} logged steps had no finite loss" if lost else ""
    if not finite:
        return f"{training} loss was never finite{broken}"
    first, last = finite[0].loss, finite[-1].loss
    verb = "fell" if last < first else "did not fall"
    return f"{training} loss {verb}: {first:.2f} to {last:.2f} over {finite[-1].tokens:,} tokens{broken}"
