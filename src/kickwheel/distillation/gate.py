"""The gate: whether a challenger replaces the champion, decided on ``valid`` and on trials, never on ``eval``.

**reject** where there is evidence that it is worse: joint frame accuracy fell by more than chance (exact McNemar test,
one-sided at ``gate_alpha``), or an intent did (the same on its rows, Holm over the intents), or users complete fewer tasks in
an A/B trial; or the untuned base is better by more than chance.

**promote** where there is evidence that it is better, and nothing that speaks against it: more rows won than lost by more than
chance on ``valid``, or users complete more tasks in an A/B trial (:mod:`kickwheel.distillation.trial`). The first adapter has
to show it against the untuned base, where that was asked.

**hold** everywhere else, saying what is missing: a gain that may be chance is a case for shadow traffic and an A/B trial, not
for promotion. Of 100 rows, 5 must be won and none lost before chance is out of the question.

Nothing that speaks against it means: more rows are right than with the untuned base, where that was asked; no intent fell by
more than ``max_intent_drop`` (at least 2 of at least 5 rows), no more replies are unparsable, confidence tells no worse what is
right, and it takes about the same time and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from scipy.stats import binomtest

from kickwheel.evaluation.intent_change import IntentChange
from kickwheel.settings import DistillationSettings
from schemas.quality import Evaluation, PairedTest
from schemas.trial import TrialVerdict
from schemas.tuning import GateCheck, GateVerdict

MIN_ROWS = 5
MIN_ROWS_LOST = 2
_SLACK = 1e-9


def chance_of_better(paired: PairedTest) -> float:
    """One-sided p of the exact McNemar test: as many wins or more, were both equally good."""
    wins, losses = paired.wins, paired.losses
    return float(binomtest(wins, wins + losses, alternative="greater").pvalue) if wins + losses else 1.0


def chance_of_worse(paired: PairedTest) -> float:
    """The same for losses."""
    return chance_of_better(PairedTest(wins=paired.losses, losses=paired.wins, p_value=1.0))


def judge(
    champion: Evaluation | None,
    challenger: Evaluation,
    paired: PairedTest | None,
    settings: DistillationSettings,
    *,
    changes: Sequence[IntentChange] = (),
    checks: Sequence[GateCheck] = (),
    trial: TrialVerdict | None = None,
    base: Evaluation | None = None,
    against_base: PairedTest | None = None,
) -> GateVerdict:
    """The verdict with its reasons in plain words.

    ``paired``: challenger (first) against champion (second) on valid; ``changes``: what became of each intent on the same rows;
    ``checks``: calibration, time, memory, as far as they were measured.

    Raises:
        ValueError: an evaluation is not on valid, or two are not on the same number of rows.
    """
    for word, evaluation in (("champion", champion), ("challenger", challenger), ("base", base)):
        if evaluation is not None and evaluation.split != "valid":
            raise ValueError(f"the gate decides on 'valid' only, got {evaluation.student!r} on {evaluation.split!r}")
        if evaluation is not None and evaluation.overall.rows != challenger.overall.rows:
            raise ValueError(f"{word} was evaluated on {evaluation.overall.rows} rows, challenger on {challenger.overall.rows}")
    rival, test = (champion, paired) if champion else (base, against_base)
    facts = [_comparison(rival, challenger, test, "champion" if champion else "base")]
    against = _worse(rival, challenger, test, changes, trial, settings)
    doubts = _doubts(champion, challenger, checks, settings)
    if champion is not None and base is not None:
        facts.append(_comparison(base, challenger, against_base, "untuned base"))
        if against_base is not None and chance_of_worse(against_base) <= settings.gate_alpha:
            against.append("the untuned base is better by more than chance")
        elif _joint_of(challenger) <= _joint_of(base) + _SLACK:
            doubts.append("the untuned base does as well without an adapter")
    evidence = _evidence(rival, challenger, test, trial, settings)
    if trial is not None:
        facts.append(f"A/B trial {trial.experiment}: {'; '.join(trial.reasons)}")
    decision: Literal["promote", "hold", "reject"]
    if against:
        decision, why = "reject", against
    elif doubts:
        decision, why = "hold", doubts
    elif evidence:
        decision, why = "promote", [evidence]
    else:
        decision, why = "hold", [_missing(rival, challenger, test, settings)]
    return GateVerdict(
        decision=decision,
        reasons=(*facts, *why),
        champion=champion,
        challenger=challenger,
        base=base,
        paired=paired,
        against_base=against_base,
        one_sided_p=chance_of_better(test) if test else None,
        alpha=settings.gate_alpha,
        checks=tuple(checks),
        trial=trial,
        min_gain=settings.min_gain,
    )


def _comparison(rival: Evaluation | None, challenger: Evaluation, test: PairedTest | None, word: str) -> str:
    if rival is None:
        return f"first adapter: there is no champion to compare with; joint frame accuracy {_joint(challenger)} on valid"
    rows = challenger.overall.rows
    sentence = f"joint frame accuracy on valid ({rows} rows): challenger {_joint(challenger)}, {word} {_joint(rival)}"
    if word == "base":
        sentence = f"first adapter, compared with the untuned base: {sentence}"
    if test is None:
        return sentence
    return f"{sentence}; {test.wins} rows won, {test.losses} lost, exact one-sided McNemar p = {chance_of_better(test):.2g}"


def _worse(
    rival: Evaluation | None,
    challenger: Evaluation,
    test: PairedTest | None,
    changes: Sequence[IntentChange],
    trial: TrialVerdict | None,
    settings: DistillationSettings,
) -> list[str]:
    """Evidence that it is worse, one sentence each."""
    found = []
    if test is not None and chance_of_worse(test) <= settings.gate_alpha:
        found.append("joint frame accuracy fell by more than chance")
    if test is None and rival is not None and challenger.overall.joint_frame_accuracy < _joint_of(rival) - _SLACK:
        found.append("joint frame accuracy fell")
    found += [
        f"{change.intent} became worse by more than chance: {change.lost} of {change.rows} rows lost, {change.won} won "
        f"(p = {change.p_value:.2g}, Holm over the intents)"
        for change in changes
        if change.p_value <= settings.gate_alpha
    ]
    if trial is not None and trial.decision == "champion":
        found.append("users complete fewer tasks with it")
    if trial is not None and trial.decision == "guardrail":
        found.append("the A/B trial hit a guardrail")
    return found


def _doubts(
    champion: Evaluation | None,
    challenger: Evaluation,
    checks: Sequence[GateCheck],
    settings: DistillationSettings,
) -> list[str]:
    """What speaks against it, chance or not."""
    if champion is None:
        return []
    found = _falls(champion, challenger, settings.max_intent_drop)
    if challenger.overall.unparsable_rate > champion.overall.unparsable_rate + _SLACK:
        found.append(
            f"more replies are unparsable: {100 * challenger.overall.unparsable_rate:.1f} %, "
            f"before {100 * champion.overall.unparsable_rate:.1f} %"
        )
    return found + [check.sentence() for check in checks if not check.passed]


def _evidence(
    rival: Evaluation | None,
    challenger: Evaluation,
    test: PairedTest | None,
    trial: TrialVerdict | None,
    settings: DistillationSettings,
) -> str:
    """Why it may be promoted; empty: there is no sufficient reason."""
    if rival is None:
        return "nothing is in service that it could be worse than"
    if trial is not None and trial.decision == "challenger":
        return "users complete more tasks with it, and valid does not say that it is worse"
    gain = challenger.overall.joint_frame_accuracy - _joint_of(rival)
    if test is None or gain <= settings.min_gain + _SLACK:
        return ""
    if chance_of_better(test) <= settings.gate_alpha:
        return f"the gain is more than chance (p <= {settings.gate_alpha:g})"
    return ""


def _missing(rival: Evaluation | None, challenger: Evaluation, test: PairedTest | None, settings: DistillationSettings) -> str:
    gain = challenger.overall.joint_frame_accuracy - (_joint_of(rival) if rival else 0.0)
    if gain <= settings.min_gain + _SLACK:
        return f"the gain is not more than the {100 * settings.min_gain:.1f} points asked for"
    rows = challenger.overall.rows
    p_value = f"p = {chance_of_better(test):.2g}" if test else "no paired test"
    return (
        f"the gain may be chance ({p_value}, asked for <= {settings.gate_alpha:g} on {rows} rows): shadow traffic and an "
        "A/B trial first (kickwheel ab), or more rows in valid"
    )


def _joint(evaluation: Evaluation) -> str:
    return f"{100 * evaluation.overall.joint_frame_accuracy:.1f} %"


def _joint_of(evaluation: Evaluation) -> float:
    return evaluation.overall.joint_frame_accuracy


def _falls(champion: Evaluation, challenger: Evaluation, max_drop: float) -> list[str]:
    """Intents whose recall fell too far, one sentence each. An intent that the challenger has no line for has recall 0."""
    now = {score.intent: score.recall for score in challenger.per_intent}
    found = []
    for before in champion.per_intent:
        drop = before.recall - now.get(before.intent, 0.0)
        lost = round(drop * before.rows)
        if before.rows >= MIN_ROWS and lost >= MIN_ROWS_LOST and drop > max_drop + _SLACK:
            found.append(
                f"recall of {before.intent} fell from {100 * before.recall:.0f} % to {100 * (before.recall - drop):.0f} % "
                f"({lost} of {before.rows} rows)"
            )
    return found
