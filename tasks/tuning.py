"""Tasks of the tuning stage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.distillation.compare import compare
from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.probe import Probe
from kickwheel.seeding.leakage import HeldOut, refuse_leaks
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tuning.assessment import Assessment, assess
from kickwheel.tuning.base_identity_adapter import count_weights, mean_tokens
from kickwheel.tuning.convergence import sentences
from kickwheel.tuning.ports import Surroundings, TrainedAdapter
from kickwheel.tuning.preflight import check_adapter, check_plan
from kickwheel.tuning.recipe import make_plan
from kickwheel.workspace import read_jsonl
from schemas.seeding import SeedSet
from schemas.tuning import AdapterArtifact, LoraPlan, TuningReport
from schemas.utterance import Utterance
from tasks import policies
from tasks.adapters import artifact_of, local_champion, register
from tasks.progress import progress_of
from tasks.wiring import Place, Students, base_model, trainer


@task(task_run_name="train adapter", **policies.TRAINING)
def train_adapter(place: Place, run: RunRecorder) -> TrainedAdapter:
    """Train on the lap's labelled rows; taken up from its checkpoint after a kill."""
    rank = place.settings.server.max_lora_rank
    seeds = place.lap.load("seeding", SeedSet)
    rows = read_jsonl(Path(seeds.train.path), Utterance)
    base_path = base_model(place).path
    plan, why = plan_for(place, rows)
    check_plan(plan, max_lora_rank=rank)
    checks = place.settings.seeding
    held_out: HeldOut = {"valid": place.domain.rows("valid"), "eval": place.domain.rows("eval")}
    refuse_leaks(rows, held_out, threshold=checks.near_duplicate, templates=checks.template_leaks)
    run.dataset(seeds.train, "seed-set", "training")
    run.params({**plan.model_dump(), "base_model": place.settings.model.base, "rows": seeds.train.rows})
    with place.gpu_slot():
        trained = trainer(place).train(
            rows,
            plan,
            base_path=base_path,
            out=place.work("tuning") / "adapter",
            progress=progress_of("training steps"),
            around=Surroundings(
                catalog=place.catalog,
                valid=held_out["valid"],
                robust=place.settings.robust,
                guard=place.settings.guard,
                train_sha256=seeds.train.sha256,
            ),
        )
    check_adapter(trained.folder, max_lora_rank=rank)
    run.tag("kickwheel.plan", "; ".join((*why, *trained.reasons))[:5000])
    if seen := sentences(trained.events):
        get_run_logger().warning("convergence guard: %s", "; ".join(seen))
    run.tag("kickwheel.guard", "; ".join(seen)[:5000] or "nothing seen")
    return trained


def plan_for(place: Place, rows: Sequence[Utterance]) -> tuple[LoraPlan, tuple[str, ...]]:
    """The plan of these rows: what is set, and the rest from the data."""
    base = base_model(place).path
    plan, reasons = make_plan(place.settings, rows, "causal", "lora", mean_tokens(base, rows, "causal"), count_weights(base))
    assert isinstance(plan, LoraPlan)  # noqa: S101 - a causal student's
    return plan, reasons


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
    plan, _ = plan_for(place, read_jsonl(Path(train.path), Utterance))
    return artifact_of(place, trained.folder, "tuned", train_sha256=train.sha256, plan=plan)
