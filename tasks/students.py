"""Tasks of `kickwheel tune`: one student of a comparison, from its recipe to its report."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.distillation.compare import compare
from kickwheel.embedding.encoder_folder_adapter import ensure_encoder, licence_of
from kickwheel.inference.ports import Student
from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.probe import Probe
from kickwheel.seeding.leakage import HeldOut, refuse_leaks
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tracking.stage_values import stage_curves, stage_values
from kickwheel.tracking.students_adapter import WEIGHTS_TAG, StudentRegistry, read_recipe, record_recipe
from kickwheel.tuning.assessment import Assessment, assess, calibrate, write_calibration
from kickwheel.tuning.base_identity_adapter import count_weights, mean_tokens, threads, use_threads
from kickwheel.tuning.convergence import sentences
from kickwheel.tuning.encoder_student_adapter import load_encoder_student
from kickwheel.tuning.ports import Surroundings, TrainedAdapter
from kickwheel.tuning.preflight import check_adapter, check_plan
from kickwheel.tuning.recipe import WEIGHTS, differences, make_recipe, rows_of, training_rows, versions
from kickwheel.workspace import fingerprint, folder_ref, hash_file, write_atomically
from schemas.student import Recipe, StudentKind, StudentReport
from schemas.tuning import GateVerdict, Method
from tasks import policies
from tasks.adapters import artifact_of, local_champion, register, weights_of
from tasks.parity import parity_of
from tasks.progress import progress_of
from tasks.wiring import Place, base_model, encoder_trainer, students, tracker, trainer


@dataclass(frozen=True)
class Order:
    """A student to train.

    Args:
        rows_from: which rows, in words.
        expected: hash of the weights that must come of it; empty: none is expected.
        run: short name of the run that it repeats; empty: none.
    """

    recipe: Recipe
    reasons: tuple[str, ...]
    rows_from: str
    expected: str = ""
    run: str = ""

    @property
    def name(self) -> str:
        """Name among the students of a lap."""
        return f"{self.recipe.arm}-from-{self.run}" if self.run else self.recipe.arm


def order_of(place: Place, kind: StudentKind, method: Method) -> Order:
    """What would be trained under the settings: base ready on disk, plan from the data."""
    train, said = training_rows(place.domain, place.settings, place.lap)
    rows = rows_of(train, place.settings.home)
    if kind == "causal":
        base = base_model(place)
        folder, licence = base.path, place.settings.model.licence or base.licence
    else:
        folder = ensure_encoder(place.settings.encoder.base)
        licence = licence_of(place.settings.encoder.base)
    recipe, reasons = make_recipe(
        place.domain,
        place.settings,
        place.catalog,
        train,
        kind=kind,
        method=method,
        tokens_a_row=mean_tokens(folder, rows, kind),
        base_sha256=base_hash(folder),
        base_licence=licence,
        base_weights=count_weights(folder),
        threads=threads(),
    )
    return Order(recipe, reasons, said)


def order_from_run(place: Place, run_id: str) -> Order:
    """What a run trained, to be trained again."""
    recipe, expected = read_recipe(place.settings, run_id)
    said = f"the rows of run {run_id}"
    return Order(recipe, (f"the recipe of run {run_id}",), said, expected, run_id[:8])


def base_hash(folder: Path) -> str:
    """Of the base's weights and configuration."""
    return fingerprint(folder / "config.json", *sorted(folder.glob("*.safetensors")))


def finished_student(place: Place, order: Order) -> StudentReport | None:
    """The report of just this recipe, if this lap has it already; a repeated run is always trained again."""
    path = _folder(place, order) / "report.json"
    if order.run or not path.is_file():
        return None
    report = StudentReport.model_validate_json(path.read_text(encoding="utf-8"))
    if report.recipe != order.recipe or not Path(report.artifact.path).is_dir():
        return None
    get_run_logger().info("%s: already trained in lap %d from the same recipe", order.name, place.lap.number)
    return report


def finish_student(place: Place, order: Order, report: StudentReport, run: RunRecorder) -> StudentReport:
    """Log the report's figures, then write it: the completion marker."""
    run.metrics(stage_values(report))
    run.series(stage_curves(report))
    path = _folder(place, order) / "report.json"
    write_atomically(path, report.model_dump_json(indent=1))
    run.artifact(path)
    return report


def _folder(place: Place, order: Order) -> Path:
    return place.lap.stage("tuning") / "students" / order.name


@task(task_run_name="train {order.name}", **policies.TRAINING)
def train_student(place: Place, order: Order, run: RunRecorder) -> TrainedAdapter:
    """Train after the leakage gate and the pre-flight; taken up from its checkpoint after a kill."""
    recipe, settings = order.recipe, place.settings
    log = get_run_logger()
    for line in (order.rows_from, *order.reasons):
        log.info("%s: %s", recipe.arm, line)
    if order.run and (changed := differences(recipe, versions())):
        log.warning("the run was made with other versions, weights may differ: %s", "; ".join(changed))
    rows, valid = rows_of(recipe.train, settings.home), rows_of(recipe.valid, settings.home)
    held_out: HeldOut = {"valid": valid, "eval": place.domain.rows("eval")}
    checks = settings.seeding
    refuse_leaks(rows, held_out, threshold=checks.near_duplicate, templates=checks.template_leaks)
    folder = _folder(place, order)
    if order.run:  # a repetition is one only if it is done
        shutil.rmtree(folder / "artifact", ignore_errors=True)
    record_recipe(run, recipe, folder)
    around = Surroundings(
        catalog=recipe.catalog,
        valid=valid,
        pool=[row.text for row in rows_of(recipe.pool, settings.home)],
        robust=recipe.robust,
        guard=recipe.guard,
        train_sha256=recipe.train.sha256,
        base_licence=recipe.base_licence,
    )
    use_threads(recipe.threads)
    out, progress = folder / "artifact", progress_of(f"{recipe.arm} training steps")
    with place.gpu_slot():
        if recipe.causal is not None:
            if recipe.method == "lora":
                check_plan(recipe.causal, max_lora_rank=settings.server.max_lora_rank)
            base = base_model(place).path
            trained = trainer(place).train(rows, recipe.causal, base_path=base, out=out, progress=progress, around=around)
            if recipe.method == "lora":
                check_adapter(trained.folder, max_lora_rank=settings.server.max_lora_rank)
        else:
            assert recipe.encoder is not None  # noqa: S101 - one of both plans is there
            encoder = ensure_encoder(recipe.encoder.base)
            trained = encoder_trainer(place).train(
                rows, recipe.encoder, base_path=encoder, out=out, progress=progress, around=around
            )
    reasons = (*order.reasons, *trained.reasons)
    run.tag("kickwheel.plan", "; ".join(reasons)[:5000])
    run.tag(WEIGHTS_TAG, hash_file(trained.folder / WEIGHTS[recipe.arm]))
    for line in sentences(trained.events):
        log.warning("convergence guard: %s", line)
    run.tag("kickwheel.guard", "; ".join(sentences(trained.events))[:5000] or "nothing seen")
    return replace(trained, reasons=reasons)


@task(task_run_name="evaluate {order.name}", **policies.INFERENCE)
def report_student(place: Place, order: Order, trained: TrainedAdapter, run: RunRecorder) -> StudentReport:
    """The student beside its baselines on eval; registered, and promoted if the gate on valid says so."""
    recipe = order.recipe
    name = f"{place.domain.name}-lap-{place.lap.number:04d}-{order.name}"
    rows = rows_of(recipe.train, place.settings.home)
    run.dataset(place.domain.ref("eval"), "eval", "evaluation")
    probe = Probe.fit(rows, seed=place.settings.seed, vocabulary_texts=[row.text for row in place.domain.rows("pool")])
    if recipe.kind == "encoder":
        student: Student = load_encoder_student(trained.folder, place.catalog)
        assessment = _calibrated(place, student, trained.folder, [probe], "in this process")
        promotion = _register_encoder(place, order, trained, name, run)
    elif recipe.method == "full":
        from kickwheel.tuning.inprocess_adapter import InProcessStudent

        student = InProcessStudent(trained.folder, None, place.catalog, "tuned")
        assessment = assess(place.domain.rows("eval"), student, [probe], evaluated_with="transformers in this process")
        promotion = "not registered: a full model is a comparison arm"
    else:
        assessment, promotion = _assess_causal(place, order, trained, probe, run)
    same = hash_file(trained.folder / WEIGHTS[recipe.arm]) == order.expected if order.expected else None
    return StudentReport(
        name=name,
        recipe=recipe,
        artifact=folder_ref(trained.folder),
        rows_from=order.rows_from,
        reasons=trained.reasons,
        events=trained.events,
        losses=trained.losses,
        validation=trained.validation,
        trained_tokens=trained.trained_tokens,
        tokens_per_second=trained.trained_tokens / trained.seconds if trained.seconds else 0.0,
        evaluations=assessment.evaluations,
        tests=assessment.tests,
        promotion=promotion,
        same_as_run=same,
    )


def _assess_causal(
    place: Place, order: Order, trained: TrainedAdapter, probe: Probe, run: RunRecorder
) -> tuple[Assessment, str]:
    recipe = order.recipe
    assert recipe.causal is not None  # noqa: S101 - it is a causal student's
    adapter = artifact_of(place, trained.folder, order.name, train_sha256=recipe.train.sha256, plan=recipe.causal)
    with students(place, "tuning") as served:
        base = served.student("base_zero_shot", None, lambda text: zero_shot_messages(text, place.catalog))
        tuned = served.student("tuned", adapter, confidence=True)
        assessment = _calibrated(place, tuned, trained.folder, [base, probe], served.evaluated_with)
        adapter = adapter.model_copy(update={"folder": folder_ref(trained.folder)})
        parity = parity_of(place, served, trained, adapter, assessment, run)
        champion = local_champion(place)
        verdict = compare(
            served.student("champion", champion) if champion and champion.folder.sha256 != adapter.folder.sha256 else None,
            served.student("challenger", adapter),
            place.domain.rows("valid"),
            place.settings.distillation,
            evaluated_with=served.evaluated_with,
            weights=weights_of(champion, adapter),
        )
    if parity.failures:
        return assessment, f"not registered: {'; '.join(parity.failures)}"
    verdict = register(place, adapter, verdict, run)
    return assessment, _said(verdict)


def _calibrated(place: Place, student: Student, folder: Path, baselines: Sequence[Student], evaluated_with: str) -> Assessment:
    """The student on eval beside its baselines, its confidence calibrated on valid; the calibration lies beside the weights."""
    settings, valid = place.settings.evaluation, place.domain.ref("valid")
    rows = place.domain.rows("valid")
    calibration, answers = calibrate(rows, student, target_accuracy=settings.target_accuracy, sha256=valid.sha256)
    write_calibration(calibration, folder)
    assessment = assess(
        place.domain.rows("eval"),
        student,
        baselines,
        evaluated_with=evaluated_with,
        calibration=calibration,
        free_text_slots=settings.free_text_slots,
        progress=progress_of("students evaluated"),
    )
    return replace(assessment, valid_answers=answers)


def _register_encoder(place: Place, order: Order, trained: TrainedAdapter, name: str, run: RunRecorder) -> str:
    home = place.settings.home / place.domain.name
    models = StudentRegistry(tracker(place).client, place.domain.name, "encoder", home / "promotions-encoder.jsonl")
    folder = models.champion(into=home / "encoders")
    artifact = folder_ref(trained.folder)
    other = folder is not None and folder_ref(folder).sha256 != artifact.sha256
    verdict = compare(
        load_encoder_student(folder, place.catalog, name="champion") if folder is not None and other else None,
        load_encoder_student(trained.folder, place.catalog, name="challenger"),
        place.domain.rows("valid"),
        place.settings.distillation,
        evaluated_with="in this process",
    )
    version = models.register(artifact, name, run)
    run.tag("kickwheel.gate", _said(verdict)[:5000])
    if verdict.decision == "promote":
        now = datetime.now(UTC).isoformat(timespec="seconds")
        models.promote(version, name, run_id=run.run_id, reasons=verdict.reasons, by=getpass.getuser(), at=now)
    return _said(verdict)


def _said(verdict: GateVerdict) -> str:
    return "champion" if verdict.decision == "promote" else f"{verdict.decision}: {'; '.join(verdict.reasons)}"
