"""Which arm completed more tasks, if the test is sound and the difference is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy import stats

from kickwheel.distillation.replay import ARMS, Arm
from kickwheel.distillation.sample_ratio import ALARM, sample_ratio_p
from schemas.feedback import FeedbackEvent

SIGNIFICANT = 0.05
"""Two-sided level of the comparison."""


@dataclass(frozen=True)
class AbResult:
    """Outcome of one test. ``lead`` is winner minus loser in completion rate, 0 without a winner."""

    winner: Arm | None
    note: str
    lead: float = 0.0
    completion: dict[Arm, float] = field(default_factory=dict)
    p_value: float | None = None
    sample_ratio_p: float | None = None


def ab_test(events: Sequence[FeedbackEvent], champion_share: float) -> AbResult:
    """Compare the arms' completion: Fisher's exact test on cases, two-sided.

    Before it stands the sample ratio check, a chi-square test of the users (the unit that was assigned) in each arm
    against ``champion_share``: a split that should not have come about makes any verdict worthless. Cases of one user
    hang together, so the p-value of the comparison is on the optimistic side.
    """
    cases = {arm: [event for event in events if event.arm == arm] for arm in ARMS}
    if not events:
        return AbResult(None, "no test: no events")
    users = [len({event.user for event in cases[arm]}) for arm in ARMS]
    ratio_p = sample_ratio_p(users, champion_share)
    split = " / ".join(f"{arm} {count}" for arm, count in zip(ARMS, users, strict=True))
    if ratio_p < ALARM:
        note = (
            f"invalid: sample ratio (users {split}, configured champion share {champion_share:g}, chi-square p = {ratio_p:.2g})"
        )
        return AbResult(None, note, sample_ratio_p=ratio_p)
    if not all(users):
        return AbResult(None, "no test: all users saw the same arm", sample_ratio_p=ratio_p)
    done = {arm: sum(event.completed for event in cases[arm]) for arm in ARMS}
    completion = {arm: done[arm] / len(cases[arm]) for arm in ARMS}
    table = [[done[arm], len(cases[arm]) - done[arm]] for arm in ARMS]
    p_value = float(stats.fisher_exact(table, alternative="two-sided").pvalue)
    figures = ", ".join(f"{arm} completed {done[arm]} of {len(cases[arm])} ({100 * completion[arm]:.1f} %)" for arm in ARMS)
    facts = f"{figures}; Fisher's exact p = {p_value:.2g}; users {split}"
    if all(event.replayed for event in events):
        facts += "; replayed"
    if p_value >= SIGNIFICANT:
        return AbResult(None, f"no winner: {facts}", 0.0, completion, p_value, ratio_p)
    winner = max(ARMS, key=lambda arm: completion[arm])
    lead = max(completion.values()) - min(completion.values())
    return AbResult(winner, f"{winner} wins: {facts}", lead, completion, p_value, ratio_p)
