"""Which arm of live traffic completes more tasks, as the fusion's third source (white paper F12: the A/B winner, daily).

Taken where a lap takes its feedback, which the nightly schedule makes once a day. The test is the trial's own, with its
checks of the split and its always-valid interval: without a decision there is no winner and no signal.
"""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.distillation.trial import NAMES, Exposure, judge_trial
from kickwheel.feedback.live import LiveCase
from kickwheel.promotion_settings import TrialSettings


def live_winner(cases: Sequence[LiveCase], settings: TrialSettings) -> tuple[str | None, float]:
    """The arm that completes more, and by how much (0 to 1); None and 0 where that is not decided or nothing is on trial."""
    seen = [event for case in cases for event in case.observations if event.arm in NAMES and event.propensity < 1]
    shares = [event.propensity if event.arm == "challenger" else 1 - event.propensity for event in seen]
    if not seen:
        return None, 0.0
    exposures = [
        Exposure(
            unit=event.user or event.inference_id,
            arm="challenger" if event.arm == "challenger" else "champion",
            intent=event.answer.intent if event.answer else "",
            completed=None if event.behaviour.completed is None else event.completed,
            failed=event.answer is None,
            model=event.model,
        )
        for event in seen
    ]
    verdict = judge_trial(exposures, settings, experiment="live", challenger_share=sum(shares) / len(shares))
    if verdict.decision not in NAMES or verdict.difference is None:
        return None, 0.0
    return verdict.decision, abs(verdict.difference)
