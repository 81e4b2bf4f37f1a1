"""A lap that only distils: what the last whole lap found stands in for the stages before.

Feedback at noon must not wait for a night's labelling and load tests. The lap gets the earlier results as its own, under the
fingerprints of its present inputs, so that it is whole, its report shows what the distillation started from, and a later lap
starts from it.
"""

from __future__ import annotations

from kickwheel.domain_folder import Domain
from kickwheel.errors import StageInputMissing
from kickwheel.lineage import stage_inputs
from kickwheel.settings import Settings
from kickwheel.workspace import Lap, previous_lap
from schemas.base import Contract
from schemas.lap import Stage
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.throughput import ThroughputReport
from schemas.tuning import TuningReport

BORROWED: dict[Stage, type[Contract]] = {
    "intent": TaskCatalog,
    "seeding": SeedSet,
    "tuning": TuningReport,
    "throughput": ThroughputReport,
}


def borrow_stages(lap: Lap, domain: Domain, settings: Settings) -> list[Stage]:
    """Give ``lap`` the results that it lacks; returns which. Done twice, the second call does nothing.

    Raises:
        StageInputMissing: there is no whole lap before this one.
    """
    missing: list[Stage] = [stage for stage in BORROWED if not lap.has(stage)]
    if not missing:
        return []
    before = previous_lap(settings.home, domain.name, lap)
    if before is None:
        raise StageInputMissing(
            f"there is no whole lap of {domain.name} to distil from: run one first (kickwheel run {domain.folder})"
        )
    for stage in missing:
        result = before.load(stage, BORROWED[stage])
        lap.finish(stage, result, stage_inputs(stage, domain, settings, lap))
    return missing
