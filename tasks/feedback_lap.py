"""Tasks of a lap that only distils."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from kickwheel.distillation.borrowed_stages import borrow_stages
from kickwheel.distillation.trigger_look import look_with_place
from kickwheel.distillation.trigger_state import note_used, one_distillation
from schemas.feedback import DistillationReport
from schemas.lap import Stage
from schemas.triggers import DistillOutcome, TriggerVerdict
from tasks import policies
from tasks.adapters import local_champion
from tasks.wiring import Place


@dataclass(frozen=True)
class Look:
    """What the store held when it was looked at."""

    verdict: TriggerVerdict
    store: int = 0
    sequence: int = 0


def one_at_a_time(place: Place) -> AbstractContextManager[None]:
    """Beside the deployment's concurrency limit: a run by hand knows nothing of that."""
    return one_distillation(place.settings.home, place.domain.name)


@task(task_run_name="look at new evidence", **policies.LOCAL)
def look(place: Place, by_hand: bool) -> Look:
    """Count and compare; nothing is changed."""
    domain = place.domain
    verdict, identity, sequence = look_with_place(place.settings, domain.name, by_hand=by_hand)
    get_run_logger().info("distillation due: %s (%s)", verdict.due, "; ".join(verdict.fired) or "no trigger fired")
    key = f"distillation-trigger-{domain.name.replace('_', '-')}"
    create_markdown_artifact(f"```json\n{verdict.model_dump_json(indent=1)}\n```", key=key, description="What the triggers say")
    return Look(verdict, identity, sequence)


@task(task_run_name="borrow stages", **policies.LOCAL)
def prepare_lap(place: Place) -> list[Stage]:
    """The last whole lap's results, as this lap's own."""
    return borrow_stages(place.lap, place.domain, place.settings)


def outcome_of(place: Place, seen: Look, report: DistillationReport | None) -> DistillOutcome:
    """What was done; evidence that was used does not fire again."""
    if report is None:
        champion = local_champion(place)
        name = champion.name if champion else ""
        return DistillOutcome(domain=place.domain.name, verdict=seen.verdict, ran=False, champion=name)
    note_used(place.settings.home, place.domain.name, seen.store, seen.sequence)
    return DistillOutcome(
        domain=place.domain.name,
        verdict=seen.verdict,
        ran=True,
        lap=place.lap.number,
        gate=report.gate.decision if report.gate else "",
        reasons=report.gate.reasons if report.gate else (),
        champion=report.champion,
    )
