"""Samples of what training hands on: students' recipes, records, reports and previews."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from kickwheel.testing.sample_report import sample_report
from schemas.base import Contract, DataRef, FolderRef
from schemas.student import EncoderRecord, EncoderStudentPlan, PlanPreview, Recipe, StudentReport
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.training import GuardEvent, GuardPlan, RobustPlan


def students() -> Iterator[Contract]:
    """Students of the sample lap: both kinds, with a guard that saw something."""
    tuning = sample_report().tuning
    assert tuning is not None
    slots = (SlotSpec(name="date"),)
    catalog = TaskCatalog(
        domain="dataops",
        tasks=(TaskSchema(id=UUID(int=1), intent="sync_orders", action="sync", target="orders", slots=slots),),
    )
    plan = EncoderStudentPlan(r=16)
    rows = DataRef(path="seeds.jsonl", sha256="a" * 64, rows=200)
    made = Recipe(
        domain="dataops",
        kind="encoder",
        encoder=plan,
        robust=RobustPlan(mc_passes=10, smoothing={"teacher": 0.1}),
        guard=GuardPlan(action="stop"),
        base_model=plan.base,
        base_sha256="b" * 64,
        base_licence="Apache-2.0",
        train=rows,
        valid=rows,
        catalog=catalog,
        versions={"torch": "2.13.0"},
        threads=2,
    )
    event = GuardEvent(step=12, what="loss_jump", message="the validation loss is 6, 220% above its lowest", action="stopped")
    yield StudentReport(
        name="dataops-lap-0001-encoder-lora",
        recipe=made,
        artifact=FolderRef(path="students/encoder-lora/artifact", sha256="c" * 64),
        rows_from="labelled in lap 1",
        reasons=("r 16: set",),
        events=(event,),
        losses=tuning.losses,
        validation=((10, 0.5), (12, 1.6)),
        trained_tokens=9_000,
        tokens_per_second=300.0,
        evaluations=tuning.evaluations,
        tests={"probe": tuning.against_probe},
        promotion="champion",
        same_as_run=True,
    )
    yield EncoderRecord(
        plan=plan,
        base_sha256="b" * 64,
        train_sha256="a" * 64,
        intents=("out_of_scope", "sync_orders"),
        tags=("O", "B-date", "I-date"),
        common_words={"订": 2},
        catalog=catalog,
    )
    yield PlanPreview(
        arm="encoder-lora",
        rows=200,
        rows_from="the domain's seeds alone",
        steps=150,
        encoder=plan,
        reasons=("r 16: set",),
        warnings=(event.model_copy(update={"step": 0, "what": "schedule", "action": "warned"}),),
    )
