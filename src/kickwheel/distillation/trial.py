"""What an A/B trial shows so far, and whether that is enough.

In this order: the split of units (else *invalid: sample ratio*); guardrails, that is errors, latency and single intents, each
of which ends a trial whatever the completion is (*guardrail*); the confidence sequence of completion (*challenger* or
*champion* once it lies on one side of 0); else *running*.

The unit is what was assigned: a user, or a session where no user is known. A unit counts once, by the mean of its tasks, since
its answers hang together. Units that saw both arms are left out of the comparison: neither arm may be credited for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import stats

from kickwheel.distillation.sample_ratio import ALARM, sample_ratio_p
from kickwheel.distillation.sequential import ArmSums, interval
from kickwheel.evaluation.intent_change import holm
from kickwheel.promotion_settings import TrialSettings
from schemas.trial import TrialArm, TrialDecision, TrialVerdict

ArmName = Literal["champion", "challenger"]
NAMES: tuple[ArmName, ArmName] = ("champion", "challenger")


@dataclass(frozen=True)
class Exposure:
    """One answer that a unit saw in a trial. ``completed`` None: what became of the task is not known (yet)."""

    unit: str
    arm: ArmName
    intent: str
    completed: bool | None = None
    failed: bool = False
    latency_ms: float | None = None
    model: str = ""


def judge_trial(
    exposures: Iterable[Exposure], settings: TrialSettings, *, experiment: str, challenger_share: float
) -> TrialVerdict:
    """The verdict at this look. Exposures may come in any order; each must be there once."""
    by_unit: dict[str, list[Exposure]] = defaultdict(list)
    for exposure in exposures:
        by_unit[exposure.unit].append(exposure)
    pure = {unit: seen for unit, seen in by_unit.items() if len({item.arm for item in seen}) == 1}
    # The check of the split takes mixed units by where they came first: they too were assigned.
    first_arms = [seen[0].arm for seen in by_unit.values()]
    split = [first_arms.count("challenger"), first_arms.count("champion")]
    ratio_p = sample_ratio_p(split, challenger_share) if by_unit else None
    arms = {name: [seen for seen in pure.values() if seen[0].arm == name] for name in NAMES}
    figures = {name: _arm(name, arms[name]) for name in NAMES}
    found = interval(
        _sums(arms["challenger"]),
        _sums(arms["champion"]),
        alpha=settings.alpha,
        planned_units=settings.planned_units,
        least_units=settings.least_units,
    )
    intents = _intents(arms, settings.least_answers)
    decision: TrialDecision = "running"
    reasons: list[str] = []
    if ratio_p is not None and ratio_p < ALARM:
        decision = "invalid"
        reasons.append(
            f"invalid: sample ratio: units champion {split[1]} / challenger {split[0]}, the challenger was to get "
            f"{100 * challenger_share:g} % (chi-square p = {ratio_p:.2g}): find out why before anything is concluded"
        )
    elif stopped := [
        *_errors(figures, settings),
        *_latency(figures, settings),
        *_fallen(intents, settings),
    ]:
        decision = "guardrail"
        reasons += stopped
    elif found is None:
        reasons.append(
            f"too few units whose outcome is known: champion {figures['champion'].judged_units}, challenger "
            f"{figures['challenger'].judged_units}, at least {settings.least_units} in each"
        )
    else:
        decision = "challenger" if found.low > 0 else "champion" if found.high < 0 else "running"
        level = f"{100 * (1 - settings.alpha):g} %"
        reasons.append(
            f"completion: challenger {100 * figures['challenger'].completion:.1f} %, champion "
            f"{100 * figures['champion'].completion:.1f} %; difference {100 * found.difference:+.1f} points, {level} "
            f"confidence sequence {100 * found.low:+.1f} to {100 * found.high:+.1f}"
        )
    mixed = len(by_unit) - len(pure)
    if mixed:
        reasons.append(f"{mixed} of {len(by_unit)} units saw both arms and are left out")
    return TrialVerdict(
        experiment=experiment,
        decision=decision,
        reasons=tuple(reasons),
        champion=figures["champion"],
        challenger=figures["challenger"],
        difference=found.difference if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        alpha=settings.alpha,
        challenger_share=challenger_share,
        sample_ratio_p=ratio_p,
        mixed_units=mixed,
        intents={intent: change.difference for intent, change in sorted(intents.items())},
    )


def _outcome(seen: Sequence[Exposure]) -> float | None:
    """A unit's completion: mean over its tasks with a known outcome."""
    known = [item.completed for item in seen if item.completed is not None]
    return sum(known) / len(known) if known else None


def _sums(units: Sequence[Sequence[Exposure]]) -> ArmSums:
    values = [value for value in map(_outcome, units) if value is not None]
    return ArmSums(len(values), sum(values), sum(value**2 for value in values))


def _arm(name: ArmName, units: Sequence[Sequence[Exposure]]) -> TrialArm:
    answers = [item for seen in units for item in seen]
    times = sorted(item.latency_ms for item in answers if item.latency_ms is not None)
    sums = _sums(units)
    return TrialArm(
        arm=name,
        model=", ".join(sorted({item.model for item in answers if item.model})),
        units=len(units),
        answers=len(answers),
        judged_units=sums.units,
        completion=sums.mean,
        error_rate=sum(item.failed for item in answers) / max(len(answers), 1),
        p95_ms=times[min(len(times) - 1, int(0.95 * len(times)))] if times else None,
    )


def _errors(figures: dict[ArmName, TrialArm], settings: TrialSettings) -> list[str]:
    """More errors than chance would give: Fisher's exact test, one-sided, at the alarm level, since it runs at every look."""
    old, new = figures["champion"], figures["challenger"]
    bad = [round(arm.error_rate * arm.answers) for arm in (new, old)]
    table = [[bad[0], new.answers - bad[0]], [bad[1], old.answers - bad[1]]]
    if new.error_rate - old.error_rate <= settings.max_error_rise or not (new.answers and old.answers):
        return []
    p_value = float(stats.fisher_exact(table, alternative="greater").pvalue)
    if p_value >= ALARM:
        return []
    return [
        f"errors: challenger {100 * new.error_rate:.1f} % of answers, champion {100 * old.error_rate:.1f} % "
        f"(Fisher's exact p = {p_value:.2g})"
    ]


def _latency(figures: dict[ArmName, TrialArm], settings: TrialSettings) -> list[str]:
    """A 95th percentile that rose by more than is allowed (white paper C10: 30 %)."""
    old, new = figures["champion"].p95_ms, figures["challenger"].p95_ms
    enough = min(figures[name].answers for name in NAMES) >= settings.least_answers
    if old is None or new is None or not enough or new <= old * (1 + settings.max_p95_rise):
        return []
    return [
        f"latency: P95 of the challenger {new:.0f} ms, of the champion {old:.0f} ms, allowed +{100 * settings.max_p95_rise:g} %"
    ]


@dataclass(frozen=True)
class _IntentDifference:
    difference: float
    p_value: float
    rows: tuple[int, int]


def _intents(arms: dict[ArmName, list[list[Exposure]]], least: int) -> dict[str, _IntentDifference]:
    """Completion by the intent that was answered, a unit's first answer of an intent only, so that answers stand alone."""
    tables: dict[str, dict[ArmName, list[bool]]] = defaultdict(lambda: {name: [] for name in NAMES})
    for name in NAMES:
        for seen in arms[name]:
            counted: set[str] = set()
            for item in seen:
                if item.completed is not None and item.intent not in counted:
                    counted.add(item.intent)
                    tables[item.intent][name].append(item.completed)
    found = {}
    for intent, table in tables.items():
        old, new = table["champion"], table["challenger"]
        if min(len(old), len(new)) < least:
            continue
        cells = [[sum(new), len(new) - sum(new)], [sum(old), len(old) - sum(old)]]
        p_value = float(stats.fisher_exact(cells, alternative="less").pvalue)
        found[intent] = _IntentDifference(sum(new) / len(new) - sum(old) / len(old), p_value, (len(new), len(old)))
    return found


def _fallen(intents: dict[str, _IntentDifference], settings: TrialSettings) -> list[str]:
    """Intents whose completion fell too far and by more than chance (Holm over the intents, at the alarm level)."""
    names = sorted(intents)
    adjusted = holm([intents[name].p_value for name in names])
    return [
        f"completion of {name} fell by {-100 * intents[name].difference:.1f} points (Fisher's exact p = {p_value:.2g}, Holm)"
        for name, p_value in zip(names, adjusted, strict=True)
        if intents[name].difference < -settings.max_intent_drop and p_value < ALARM
    ]
