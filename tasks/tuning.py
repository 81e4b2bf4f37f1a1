"""Tasks of the tuning stage."""

from __future__ import annotations

from pathlib import Path

from prefect import task

from kickwheel.distillation.compare import compare
from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.probe import Probe
from kickwheel.seeding.leakage import HeldOut, refuse_leaks
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tuning.assessment import Assessment, assess
from kickwheel.tuning.ports import TrainedAdapter
from kickwheel.tuning.preflight import check_adapter, check_plan
from kickwheel.workspace import read_jsonl
from schemas.seeding import SeedSet
from schemas.tuning import AdapterArtifact, TuningReport
from schemas.utterance import Utterance
from tasks import policies
from tasks.adapters import artifact_of, local_champion, register
from tasks.progress import progress_of
from tasks.wiring import Place, Students, base_model, trainer


@task(task_run_name="train adapter", **policies.TRAINING)
def train_adapter(place: Place, run: RunRecorder) -> TrainedAdapter:
    """Train on the lap's labelled rows; taken up from its checkpoint after a kill."""
    plan, rank = place.settings.tuning, place.settings.server.max_lora_rank
    check_plan(plan, max_lora_rank=rank)
    seeds = place.lap.load("seeding", SeedSet)
    rows = read_jsonl(Path(seeds.train.path), Utterance)
    checks = place.settings.seeding
    held_out: HeldOut = {"valid": place.domain.rows("valid"), "eval": place.domain.rows("eval")}
    refuse_leaks(rows, held_out, threshold=checks.near_duplicate, templates=checks.template_leaks)
    run.dataset(seeds.train, "seed-set", "training")
    run.params({**plan.model_dump(), "base_model": place.settings.model.base, "rows": seeds.train.rows})
    with place.gpu_slot():
        trained = trainer(place).train(
            rows,
            plan,
            base_path=base_model(place).path,
            out=place.work("tuning") / "adapter",
            progress=progress_of("training steps"),
        )
    check_adapter(trained.folder, max_lora_rank=rank)
    run.tag("kickwheel.plan", "; ".join(trained.reasons))
    return trained


@task(task_run_name="evaluate students", **policies.INFERENCE)
def evaluate_students(place: Place, served: Students, adapter: AdapterArtifact, run: RunRecorder) -> Assessment:
    """The tuned student, the probe on the same labelled rows, and the untuned base that is told the task, on eval."""
    rows = read_jsonl(Path(place.lap.load("seeding", SeedSet).train.path), Utterance)
    run.dataset(place.domain.ref("eval"), "eval", "evaluation")
    base = served.student("base_zero_shot", None, lambda text: zero_shot_messages(text, place.catalog))
    probe = Probe.fit(rows, seed=place.settings.seed, vocabulary_texts=[row.text for row in place.domain.rows("pool")])
    return assess(
        place.domain.rows("eval"),
        served.student("tuned", adapter),
        [base, probe],
        evaluated_with=served.evaluated_with,
        progress=progress_of("students evaluated"),
    )


@task(task_run_name="register adapter", **policies.INFERENCE)
def register_adapter(
    place: Place,
    served: Students,
    trained: TrainedAdapter,
    adapter: AdapterArtifact,
    assessment: Assessment,
    run: RunRecorder,
) -> TuningReport:
    """Register the adapter, and let the gate say whether it becomes the champion (decided on valid)."""
    champion = local_champion(place)
    verdict = compare(
        served.student("champion", champion) if champion and champion.folder.sha256 != adapter.folder.sha256 else None,
        served.student("challenger", adapter),
        place.domain.rows("valid"),
        place.settings.distillation,
        evaluated_with=served.evaluated_with,
    )
    register(place, adapter, verdict, run)
    return TuningReport(
        adapter=adapter,
        losses=trained.losses,
        trained_tokens=trained.trained_tokens,
        tokens_per_second=trained.trained_tokens / trained.seconds if trained.seconds else 0.0,
        evaluations=assessment.evaluations,
        against_probe=assessment.tests["probe"],
        against_base=assessment.tests["base_zero_shot"],
        promotion="champion" if verdict.decision == "promote" else f"{verdict.decision}: {'; '.join(verdict.reasons)}",
    )


def tuned_artifact(place: Place, trained: TrainedAdapter) -> AdapterArtifact:
    """The trained folder as an artifact."""
    train = place.lap.load("seeding", SeedSet).train
    return artifact_of(place, trained.folder, "tuned", train_sha256=train.sha256, plan=place.settings.tuning)
