"""Tasks of the tuning stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.distillation.compare import compare
from kickwheel.evaluation.answered import AnsweredStudent
from kickwheel.evaluation.folds import cross_validate
from kickwheel.inference.frame_codec import frame_json_schema
from kickwheel.inference.ports import Message
from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.probe import Probe
from kickwheel.seeding.leakage import HeldOut, refuse_leaks
from kickwheel.seeding.teacher_prompt import TeacherPrompt
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tuning.assessment import Assessment, Baseline, assess, calibrate, write_calibration
from kickwheel.tuning.base_identity_adapter import count_weights, mean_tokens
from kickwheel.tuning.convergence import sentences
from kickwheel.tuning.installed_loader_adapter import installed_rules
from kickwheel.tuning.ports import Surroundings, TrainedAdapter
from kickwheel.tuning.preflight import check_adapter, check_plan
from kickwheel.tuning.recipe import make_plan
from kickwheel.workspace import folder_ref, read_jsonl
from schemas.parity import ParityReport
from schemas.seeding import SeedSet
from schemas.tuning import AdapterArtifact, LoraPlan, TuningReport
from schemas.utterance import Utterance
from tasks import policies
from tasks.adapters import artifact_of, local_champion, register, weights_of
from tasks.progress import progress_of
from tasks.wiring import Place, Students, base_model, trainer


@task(task_run_name="train adapter", **policies.TRAINING)
def train_adapter(place: Place, run: RunRecorder) -> TrainedAdapter:
    """Train on the lap's labelled rows; taken up from its checkpoint after a kill."""
    rank, rules = place.settings.server.max_lora_rank, installed_rules(place.settings.server)
    seeds = place.lap.load("seeding", SeedSet)
    rows = read_jsonl(Path(seeds.train.path), Utterance)
    base_path = base_model(place).path
    plan, why = plan_for(place, rows)
    check_plan(plan, max_lora_rank=rank, rules=rules)
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
    check_adapter(trained.folder, max_lora_rank=rank, rules=rules, base_path=_real_base(place))
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
    """The tuned student on valid, for its calibration; then it and its baselines on eval."""
    rows = read_jsonl(Path(place.lap.load("seeding", SeedSet).train.path), Utterance)
    settings, seed = place.settings.evaluation, place.settings.seed
    run.dataset(place.domain.ref("eval"), "eval", "evaluation")
    tuned = served.student("tuned", adapter, confidence=True)
    calibration, answers = calibrate(
        place.domain.rows("valid"), tuned, target_accuracy=settings.target_accuracy, sha256=place.domain.ref("valid").sha256
    )
    pool = [row.text for row in place.domain.rows("pool")]

    def fit_probe(labelled: Sequence[Utterance]) -> Probe:
        return Probe.fit(labelled, seed=seed, vocabulary_texts=pool)

    assessment = assess(
        place.domain.rows("eval"),
        tuned,
        [*_base_students(place, served, rows), Baseline(fit_probe(rows)), *_champion(place, served, adapter)],
        evaluated_with=served.evaluated_with,
        calibration=calibration,
        free_text_slots=settings.free_text_slots,
        seed=seed,
        progress=progress_of("students evaluated"),
    )
    folds = settings.folds if len(rows) < settings.folds_below else 0
    validated = cross_validate(rows, fit_probe, student="probe", folds=folds, seed=seed)
    return replace(assessment, valid_answers=answers, cross_validation=(validated,) if validated else ())


def _base_students(place: Place, served: Students, rows: Sequence[Utterance]) -> list[Baseline]:
    """The untuned base: told the task; with the nearest labelled rows; and the same under a JSON schema, where that can be."""
    settings, catalog = place.settings.evaluation, place.catalog
    told = [Baseline(served.student("base_zero_shot", None, lambda text: zero_shot_messages(text, catalog)))]
    if not settings.few_shot:
        return told
    prompt = TeacherPrompt(catalog, rows, few_shot=settings.few_shot)

    def few_shot_messages(text: str) -> tuple[Message, ...]:
        return prompt.request(text).messages

    told.append(Baseline(served.student("base_few_shot", None, few_shot_messages), settings.base_sample))
    if settings.constrained and served.server is not None:
        schema = frame_json_schema(catalog)
        bound = served.student("base_few_shot_json", None, few_shot_messages, json_schema=schema)
        told.append(Baseline(bound, settings.base_sample, f"{served.evaluated_with}, JSON schema"))
    return told


def _champion(place: Place, served: Students, adapter: AdapterArtifact) -> list[Baseline]:
    """The champion of before, if there is another one."""
    champion = local_champion(place)
    if champion is None or champion.folder.sha256 == adapter.folder.sha256:
        return []
    return [Baseline(served.student("champion", champion))]


@task(task_run_name="register adapter", **policies.INFERENCE)
def register_adapter(
    place: Place,
    served: Students,
    trained: TrainedAdapter,
    adapter: AdapterArtifact,
    assessment: Assessment,
    parity: ParityReport,
    run: RunRecorder,
) -> TuningReport:
    """Register the adapter, and let the gate say whether it becomes the champion (decided on valid).

    One that gives other frames on the server than where it was trained is not registered.
    """
    champion, challenger = local_champion(place), served.student("challenger", adapter, confidence=True)
    held = None
    if champion and champion.folder.sha256 != adapter.folder.sha256:  # both are asked anew: the gate takes their time
        held = served.student("champion", champion, confidence=True)
    verdict = compare(
        held,
        challenger if held else AnsweredStudent("challenger", assessment.valid_answers, challenger),
        place.domain.rows("valid"),
        place.settings.distillation,
        evaluated_with=served.evaluated_with,
        weights=weights_of(champion, adapter),
    )
    write_calibration(assessment.calibration, trained.folder)
    adapter = adapter.model_copy(update={"folder": folder_ref(trained.folder)})
    if parity.failures:
        promotion = f"not registered: {'; '.join(parity.failures)}"
    else:
        verdict = register(place, adapter, verdict, run)
        promotion = "champion" if verdict.decision == "promote" else f"{verdict.decision}: {'; '.join(verdict.reasons)}"
    return TuningReport(
        adapter=adapter,
        losses=trained.losses,
        trained_tokens=trained.trained_tokens,
        tokens_per_second=trained.trained_tokens / trained.seconds if trained.seconds else 0.0,
        evaluations=assessment.evaluations,
        against_probe=assessment.tests["probe"],
        against_base=assessment.tests["base_zero_shot"],
        against_champion=assessment.tests.get("champion"),
        calibration=assessment.calibration,
        parity=parity,
        cross_validation=assessment.cross_validation,
        promotion=promotion,
    )


def _real_base(place: Place) -> Path | None:
    """The base to compare an adapter with; the instant trainer's adapters belong to none."""
    return base_model(place).path if place.settings.trainer == "peft" else None


def tuned_artifact(place: Place, trained: TrainedAdapter) -> AdapterArtifact:
    """The trained folder as an artifact."""
    train = place.lap.load("seeding", SeedSet).train
    plan, _ = plan_for(place, read_jsonl(Path(train.path), Utterance))
    return artifact_of(place, trained.folder, "tuned", train_sha256=train.sha256, plan=plan)
