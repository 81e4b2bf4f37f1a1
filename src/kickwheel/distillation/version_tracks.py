"""The rows of the dual-track table: from the reports of laps, and from what real users did where there is an event store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from kickwheel.distillation.outcomes import completed
from kickwheel.feedback.ports import Exchange
from schemas.dual_track import VersionTrack
from schemas.events import OutcomeEvent, SlotEditEvent
from schemas.lap import LapReport

LEAST_JUDGED = 20
"""Answers with a known outcome below which real users' figures do not take the place of replayed ones."""


@dataclass(frozen=True)
class LiveFigures:
    """What real users did with the answers of one version."""

    cases: int
    """Answers with a known outcome."""
    task_completion: float
    turns: float
    correction_rate: float
    click_through: float | None


def live_figures(exchanges: Iterable[Exchange]) -> dict[str, LiveFigures]:
    """Figures by served name, of answers that somebody saw and whose outcome is known."""
    by_version: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.record.arm != "shadow":
            by_version[exchange.record.model_version].append(exchange)
    found = {}
    for version, seen in by_version.items():
        events = [[kept.event for kept in item.events] for item in seen]
        known = [(done, mine) for mine in events if (done := completed(mine)) is not None]
        if not known:
            continue
        outcomes = [event for _, mine in known for event in mine if isinstance(event, OutcomeEvent)]
        turns = [event.turns for event in outcomes if event.turns is not None]
        conversions = [event.conversion for event in outcomes if event.conversion is not None]
        found[version] = LiveFigures(
            cases=len(known),
            task_completion=fmean(done for done, _ in known),
            turns=fmean(turns) if turns else 1.0,
            correction_rate=fmean(any(isinstance(event, SlotEditEvent) for event in mine) for _, mine in known),
            click_through=fmean(conversions) if conversions else None,
        )
    return found


def version_tracks(reports: Sequence[LapReport], live: dict[str, LiveFigures] | None = None) -> list[VersionTrack]:
    """One row a lap that replayed feedback, or whose version real users judged, oldest first.

    Offline figures are those on ``valid`` where the gate asked, else those on the replayed cases themselves.
    """
    rows = []
    for report in sorted(reports, key=lambda item: item.lap):
        found = report.distillation
        if found is None:
            continue
        name = (found.challenger.parent if found.challenger else None) or found.champion
        business = found.business.get("champion")
        seen = (live or {}).get(name)
        real = seen if seen is not None and seen.cases >= LEAST_JUDGED else None
        users = real or business
        offline = (found.gate.champion if found.gate else None) or (found.replay_evaluation if business else None)
        if users is None or offline is None:
            continue
        rows.append(
            VersionTrack(
                version=name,
                lap=report.lap,
                offline_split=offline.split,
                joint_frame_accuracy=offline.overall.joint_frame_accuracy,
                intent_accuracy=offline.overall.intent_accuracy,
                cases=users.cases,
                replayed=real is None,
                task_completion=users.task_completion,
                turns=users.turns,
                correction_rate=users.correction_rate,
                click_through=real.click_through if real else None,
                cost_per_1k_tasks=business.cost_per_1k_tasks if business else None,
            )
        )
    return rows
