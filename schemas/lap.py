"""The report of one lap of the wheel."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract
from schemas.dual_track import DualTrack
from schemas.engine import EngineReports
from schemas.feedback import DistillationReport
from schemas.quality import Evaluation
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.throughput import ThroughputReport
from schemas.tuning import TuningReport

Stage = Literal["intent", "seeding", "tuning", "throughput", "distillation"]
STAGES: tuple[Stage, ...] = ("intent", "seeding", "tuning", "throughput", "distillation")


class StageTime(Contract):
    """How long a stage took. A resumed stage counts every attempt."""

    stage: Stage
    seconds: float = Field(ge=0)
    attempts: int = Field(ge=1)


class LapReport(Contract):
    """Everything that a lap measured. A stage that did not run is None."""

    schema_version: Literal["1"] = "1"
    domain: str
    lap: int = Field(ge=1)
    code_version: str
    mlflow_run_id: str | None = None
    started_at: str = Field(description="ISO 8601, UTC")
    stages: tuple[StageTime, ...] = ()
    intent: TaskCatalog | None = None
    seeding: SeedSet | None = None
    tuning: TuningReport | None = None
    throughput: ThroughputReport | None = None
    distillation: DistillationReport | None = None
    dual_track: DualTrack | None = Field(
        default=None, description="Offline beside business metrics, over the laps so far; None: no feedback yet"
    )
    engine: EngineReports | None = Field(
        default=None, description="What `kickwheel engine` measured of the domain's model server so far; None: nothing"
    )
    html: str | None = Field(default=None, description="Path of report.html")

    @property
    def challenger_eval(self) -> Evaluation | None:
        """The distilled challenger on eval; reporting only."""
        return self.distillation.challenger_eval if self.distillation else None
