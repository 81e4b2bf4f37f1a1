"""The gate: whether a challenger replaces the champion, decided on ``valid`` and nothing else.

In this order:

1. no champion: promote, as the first adapter;
2. joint frame accuracy fell, or the recall of an intent fell by more than ``max_intent_drop``: reject. An intent's fall
   counts if it has at least 5 rows and at least 2 more of them are missed: of eight rows a single one is 12 points of
   recall, and chance;
3. the gain is not more than ``min_gain``, or more replies are unparsable: hold;
4. otherwise promote.

The exact McNemar p stands in the reasons but does not decide: on a hundred rows it could only ever let through leaps, and a
challenger that is no worse anywhere costs little.
"""

from __future__ import annotations

from kickwheel.settings import DistillationSettings
from schemas.quality import Evaluation, PairedTest
from schemas.tuning import GateVerdict

MIN_ROWS = 5
MIN_ROWS_LOST = 2
_SLACK = 1e-9


def judge(
    champion: Evaluation | None, challenger: Evaluation, paired: PairedTest | None, settings: DistillationSettings
) -> GateVerdict:
    """The verdict with its reasons in plain words. ``paired``: challenger (first) against champion (second), on valid.

    Raises:
        ValueError: an evaluation is not on valid, or the two are not on the same number of rows.
    """
    for evaluation in (champion, challenger):
        if evaluation is not None and evaluation.split != "valid":
            raise ValueError(f"the gate decides on 'valid' only, got {evaluation.student!r} on {evaluation.split!r}")
    if champion is None:
        reason = f"first adapter: there is no champion to compare with; joint frame accuracy {_joint(challenger)} on valid"
        return GateVerdict(decision="promote", reasons=(reason,), challenger=challenger, min_gain=settings.min_gain)
    if champion.overall.rows != challenger.overall.rows:
        raise ValueError(f"champion was evaluated on {champion.overall.rows} rows, challenger on {challenger.overall.rows}")

    comparison = _comparison(champion, challenger, paired)
    gain = challenger.overall.joint_frame_accuracy - champion.overall.joint_frame_accuracy
    against = _falls(champion, challenger, settings.max_intent_drop)
    if gain < -_SLACK:
        against = ["joint frame accuracy fell", *against]
    doubts = []
    if gain <= settings.min_gain + _SLACK:
        doubts.append(f"the gain is not more than the {100 * settings.min_gain:.1f} points asked for")
    if challenger.overall.unparsable_rate > champion.overall.unparsable_rate + _SLACK:
        doubts.append(
            f"more replies are unparsable: {100 * challenger.overall.unparsable_rate:.1f} %, "
            f"before {100 * champion.overall.unparsable_rate:.1f} %"
        )
    reasons = (comparison, *(against or doubts))
    return GateVerdict(
        decision="reject" if against else "hold" if doubts else "promote",
        reasons=reasons,
        champion=champion,
        challenger=challenger,
        paired=paired,
        min_gain=settings.min_gain,
    )


def _comparison(champion: Evaluation, challenger: Evaluation, paired: PairedTest | None) -> str:
    rows = challenger.overall.rows
    sentence = f"joint frame accuracy on valid ({rows} rows): challenger {_joint(challenger)}, champion {_joint(champion)}"
    if paired is None:
        return sentence
    chance = "more than chance" if paired.p_value < 0.05 else "may be chance"
    return f"{sentence}; {paired.wins} rows won, {paired.losses} lost, exact McNemar p = {paired.p_value:.2g} ({chance})"


def _joint(evaluation: Evaluation) -> str:
    return f"{100 * evaluation.overall.joint_frame_accuracy:.1f} %"


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
