"""Task of the parity check: is the adapter the same wherever it runs?"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.evaluation.answered import AnsweredStudent
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tuning.assessment import Assessment
from kickwheel.tuning.parity import check_parity, parity_texts
from kickwheel.tuning.ports import TrainedAdapter
from schemas.parity import ParityReport
from schemas.tuning import AdapterArtifact
from tasks import policies
from tasks.wiring import Place, Students, base_model, missing_server

IN_PROCESS = "transformers in this process"


@task(task_run_name="check parity", **policies.INFERENCE)
def parity_of(
    place: Place,
    served: Students,
    trained: TrainedAdapter,
    adapter: AdapterArtifact,
    assessment: Assessment,
    run: RunRecorder,
) -> ParityReport:
    """Prompts of valid through transformers and PEFT, merged weights and the server; merged weights are not kept."""
    settings = place.settings.evaluation
    if reason := _reason_to_skip(place):
        return ParityReport(prompts=0, tolerance=settings.parity_tolerance, skipped=reason)
    from kickwheel.tuning.inprocess_adapter import InProcessStudent
    from kickwheel.tuning.merge_adapter import merge

    started, base, catalog = time.monotonic(), base_model(place).path, place.catalog
    texts = parity_texts([row.text for row in place.domain.rows("valid")], settings.parity_prompts, place.settings.seed)
    on_server = AnsweredStudent("served", assessment.valid_answers, served.student("tuned", adapter))
    with tempfile.TemporaryDirectory(dir=trained.folder.parent, prefix=".merged-") as folder:
        merged = merge(base, trained.folder, Path(folder) / "merged")
        report = check_parity(
            texts,
            InProcessStudent(base, trained.folder, catalog, "peft"),
            [
                ("merged", InProcessStudent(merged, None, catalog, "merged"), IN_PROCESS),
                ("served", on_server, served.evaluated_with),
            ],
            tolerance=settings.parity_tolerance,
        )
    report = report.model_copy(update={"seconds": time.monotonic() - started})
    run.tag("kickwheel.parity", "; ".join(report.failures) or report.sentence())
    get_run_logger().info("parity: %s, %.0f s", report.sentence(), report.seconds)
    return report


def _reason_to_skip(place: Place) -> str:
    if place.settings.trainer == "instant":
        return "the instant trainer trains nothing (setting trainer)"
    if not place.settings.evaluation.parity_prompts:
        return "setting evaluation.parity_prompts is 0"
    return missing_server(place)
