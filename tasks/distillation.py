"""Tasks of the distillation stage."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger

from kickwheel.distillation.batch import Batch, LiveAnswers, build_batch
from kickwheel.distillation.business import ServingUse
from kickwheel.distillation.compare import compare
from kickwheel.distillation.mixing import distillation_plan
from kickwheel.distillation.replay import ArmAnswers
from kickwheel.evaluation import evaluate
from kickwheel.feedback.lap_feedback import lap_cases, take_feedback
from kickwheel.feedback.live_winner import live_winner
from kickwheel.feedback.opening import has_store, opened_store
from kickwheel.probe import Probe
from kickwheel.tracking.runs_adapter import RunRecorder
from kickwheel.tuning.ports import TrainedAdapter
from kickwheel.workspace import laps_of, read_jsonl
from schemas.feedback import DistillationReport, TokenTeacher
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.tuning import AdapterArtifact, GateVerdict, TuningReport
from schemas.utterance import Utterance
from tasks import policies
from tasks.adapters import artifact_of, local_champion, register, trial_of, weights_of
from tasks.base_answers import base_on_valid
from tasks.progress import progress_of
from tasks.wiring import Place, Students, base_model, distiller, teacher_client, token_teacher


@task(task_run_name="take feedback", **policies.LOCAL)
def take_live_feedback(place: Place) -> None:
    """Copy what the event store holds into the lap, once a lap. Without a store there is nothing to take."""
    settings = place.settings
    if not has_store(settings, place.domain.name) or not place.lap.has("intent"):
        return
    before = [lap for lap in laps_of(settings.home, place.domain.name) if lap.number < place.lap.number]
    catalog = place.lap.load("intent", TaskCatalog)
    with opened_store(settings, place.domain.name) as store:
        taken = take_feedback(
            store, settings.distillation, lap=place.lap, before=before, catalog=catalog, now=datetime.now(UTC)
        )
    get_run_logger().info("live feedback: %d answers in %d cases", taken.observations.rows, taken.cases)


@dataclass(frozen=True)
class Replayed:
    """Feedback replayed against the champion, as a batch to distil."""

    champion: AdapterArtifact
    batch: Batch
    token_teacher: TokenTeacher | None = None


@task(task_run_name="replay feedback", **policies.INFERENCE)
def replay_feedback(place: Place, served: Students, run: RunRecorder) -> Replayed:
    """Let the champion and the probe answer every case, replay the users' behaviour, fuse it into targets.

    A token-level teacher that does not fit is refused here, before anybody is asked anything.
    """
    of_tokens = token_teacher(place)
    settings, cases = place.settings, place.domain.feedback_cases()
    champion = local_champion(place) or place.lap.load("tuning", TuningReport).adapter
    live = lap_cases(place.lap)
    texts = [*(case.text for case in cases), *(case.text for case in live)]
    started = time.monotonic()
    answers = served.student("champion", champion).predict(texts)
    seconds = time.monotonic() - started
    probe = Probe.fit(_labelled(place), seed=settings.seed)
    ranked = probe.probabilities(texts).argsort(axis=1)[:, ::-1]
    rankings, guesses = [[probe.classes[column] for column in row] for row in ranked], probe.predict(texts)
    first = len(cases)
    with teacher_client(place, served.teacher) as teacher:
        batch = build_batch(
            cases,
            champion=ArmAnswers(champion.name, answers[:first]),
            probe=ArmAnswers("probe", guesses[:first]),
            probe_rankings=rankings[:first],
            live=LiveAnswers(live, answers[first:], guesses[first:], rankings[first:], *live_winner(live, settings.trial)),
            teacher=teacher,
            settings=settings.distillation,
            experiment=f"{place.domain.name}-lap-{place.lap.number:04d}",
            folder=place.work("distillation"),
            no_teacher_reason=served.teacher.reason,
            max_concurrency=settings.teacher.max_concurrency,
            use={"champion": ServingUse(max(len(texts), 1), seconds, settings.server.price_per_hour)},
            evaluated_with=served.evaluated_with,
            progress=progress_of("closed sets that the teacher has scored"),
        )
    run.dataset(batch.batch_ref, "distillation-batch", "training")
    return Replayed(champion, batch, of_tokens)


@task(task_run_name="distil challenger", **policies.TRAINING)
def distil_challenger(place: Place, replayed: Replayed, run: RunRecorder) -> TrainedAdapter | None:
    """Go on training the champion towards the targets, old rows mixed in; None where there is nothing to distil."""
    if not replayed.batch.rows:
        return None
    plan = distillation_plan(replayed.champion.plan, place.settings.distillation)
    run.params({**place.settings.distillation.model_dump(), "rows": len(replayed.batch.rows), "from": replayed.champion.name})
    if (teacher := replayed.token_teacher) is not None:
        run.params({"token_teacher_sha256": teacher.sha256, "tokenizer_sha256": teacher.tokenizer_sha256})
    with place.gpu_slot():
        return distiller(place).distil(
            replayed.batch.rows,
            _labelled(place),
            plan,
            place.settings.distillation,
            base_path=base_model(place).path,
            parent=Path(replayed.champion.folder.path),
            out=place.work("distillation") / "adapter",
            progress=progress_of("distillation steps"),
            token_teacher=replayed.token_teacher,
        )


@task(task_run_name="gate challenger", **policies.INFERENCE)
def gate_challenger(
    place: Place, served: Students, replayed: Replayed, distilled: TrainedAdapter, run: RunRecorder
) -> DistillationReport:
    """Challenger against champion and base on valid, and on a trial of the same weights where one runs; the alias moves, or the
    report says why not. A new champion is reported on eval."""
    plan = distillation_plan(replayed.champion.plan, place.settings.distillation)
    challenger = artifact_of(
        place,
        distilled.folder,
        "distilled",
        train_sha256=replayed.batch.batch_ref.sha256,
        plan=plan,
        parent=replayed.champion.name,
    )
    student, with_what = served.student("challenger", challenger), served.evaluated_with
    champion = served.student("champion", replayed.champion)
    verdict = compare(
        champion,
        student,
        place.domain.rows("valid"),
        place.settings.distillation,
        evaluated_with=with_what,
        base=base_on_valid(place, served),
        weights=weights_of(replayed.champion, challenger),
        trial=trial_of(place, challenger),
    )
    verdict = register(place, challenger, verdict, run)
    report = report_of(replayed, distilled, challenger, verdict)
    if verdict.decision != "promote":
        return report
    rows = place.domain.rows("eval")
    answers = student.predict([row.text for row in rows])
    on_eval = evaluate(rows, answers, student="challenger", split="eval", evaluated_with=with_what)
    return report.model_copy(update={"challenger_eval": on_eval})


def report_of(
    replayed: Replayed,
    distilled: TrainedAdapter | None = None,
    challenger: AdapterArtifact | None = None,
    verdict: GateVerdict | None = None,
) -> DistillationReport:
    """The stage's result; without a challenger there was nothing to distil."""
    batch = replayed.batch
    promoted = challenger if challenger and verdict and verdict.decision == "promote" else replayed.champion
    return DistillationReport(
        events=batch.events_ref,
        batch=batch.batch_ref,
        signals_by_rule=batch.signals_by_rule,
        conflicts=batch.conflicts,
        business=batch.business,
        replay_evaluation=batch.replay_evaluation,
        ab_winner=batch.ab.winner,
        ab_note=batch.ab.note,
        teacher_note=batch.teacher_note,
        token_teacher=replayed.token_teacher,
        challenger=challenger,
        trained_tokens=distilled.trained_tokens if distilled else 0,
        losses=distilled.losses if distilled else (),
        gate=verdict,
        champion=promoted.name,
    )


def _labelled(place: Place) -> list[Utterance]:
    return read_jsonl(Path(place.lap.load("seeding", SeedSet).train.path), Utterance)
