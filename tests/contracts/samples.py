"""Instances of every contract: those of the sample lap, taken apart, and the rows that travel in files."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from functools import cache
from uuid import UUID

from kickwheel.testing.sample_report import sample_report, unmeasured_report
from schemas.base import Contract, DataRef, FolderRef
from schemas.calibration import Calibration, CalibrationQuality, CoveragePoint, OutOfScopeQuality, ReliabilityBin
from schemas.dual_track import Correlation, DualTrack, VersionTrack
from schemas.execution import ExecutionPlan, ExecutionResult, RuleOutcome, WrittenData
from schemas.feedback import Behaviour, CandidateTarget, DistillationRow, FeedbackCase, FeedbackEvent, Signal
from schemas.frame import Frame, Prediction
from schemas.parity import ParityReport
from schemas.promotion import Move, PromotableVersion, Standing
from schemas.quality import ConfusionPair
from schemas.registry import (
    CatalogueDiff,
    CatalogueRelease,
    Impact,
    Journal,
    JournalEntry,
    MigratedFile,
    MigrationMap,
    MigrationReport,
    MigrationReviewRow,
    PublishedSource,
    PublishedTask,
    ReleasedTask,
    SplitCondition,
    SplitPart,
    TaskChange,
    TaskDiff,
    TouchedRows,
)
from schemas.review import Conflict, PairAgreement, ReviewAnswer, ReviewerTally, ReviewRow, ReviewStatus
from schemas.seed_versions import PlannedRound, Relabelled, SeedPlan, SeedSetDiff
from schemas.serving import Routing, ServedVersion
from schemas.task import Schedule, SlotSpec
from schemas.throughput import LoadShape, RateRequest
from schemas.trial import TrialArm, TrialVerdict
from schemas.triggers import DistillOutcome, TriggerVerdict
from schemas.tuning import GateCheck
from schemas.understanding import Health, Problem, ServiceState, UnderstandReply, UnderstandRequest, VersionInService
from schemas.utterance import Provenance, Utterance
from tests.contracts.engine_samples import ENGINE
from tests.contracts.event_samples import EVENTS
from tests.contracts.student_samples import students

_TEXT = "把🚚 昨天的订单同步到 ２号仓 👩‍👩‍👧"
_WANTED = Frame.from_values(_TEXT, "sync_orders", {"date": "昨天", "region": "２号仓"})
_OTHER = Frame(intent="out_of_scope")
_PATIENT = Behaviour(dwell_s=9.5, scroll=0.95)
_CROSS = Behaviour(dwell_s=1.2, scroll=0.1, bounced=True, back_and_return=3, corrected=True, turns=4)

_SEEDING: tuple[Contract, ...] = (
    SeedSetDiff(
        before="0" * 64,
        after="1" * 64,
        added=("pool-0001",),
        removed=(),
        relabelled=(Relabelled(id="seeds-0002", before=_OTHER, after=_WANTED), Relabelled(id="s3", before=None, after=_OTHER)),
        reworded=("seeds-0009",),
        unchanged=197,
    ),
    SeedPlan(
        domain="dataops",
        lap=1,
        model="qwen3-32b",
        strategy="joint",
        finished_rounds=0,
        rounds=(
            PlannedRound(
                number=1,
                rows=40,
                exact=True,
                remembered=3,
                calls=37,
                most_calls=74,
                prompt_tokens=25_900,
                completion_tokens=1_110,
            ),
        ),
        rows=40,
        calls=37,
        most_calls=74,
        prompt_tokens=25_900,
        completion_tokens=1_110,
        remembered=3,
        cost=0.0133,
        least_seconds=60,
        stops_at="teacher.max_calls 20",
    ),
)

_TOUCHED = TouchedRows(split="eval", file="eval.jsonl", rows=2, ids=("eval-0001", "eval-0007"))
_REGISTRY: tuple[Contract, ...] = (
    PublishedTask(
        version="1.2.0",
        id=UUID(int=7),
        intent="sync_orders",
        action="sync",
        entity="用户订单",
        target="orders_datalake",
        phrasings=("补一下订单",),
        slots=(SlotSpec(name="sku", type="code", pattern=r"[A-Z]{3}-\d+"),),
        schedule=Schedule(cron="0 9 * * *", zone="Asia/Shanghai"),
        sources=(PublishedSource(document="requirements/订单.md", quote="每日9点同步用户订单至数据湖"),),
    ),
    CatalogueDiff(
        domain="dataops",
        published="1.2.0",
        next="2.0.0",
        level="major",
        tasks=(
            TaskDiff(
                intent="refresh_orders",
                previous_intent="sync_orders",
                published="1.2.0",
                next="2.0.0",
                level="major",
                changes=(
                    TaskChange(kind="intent_renamed", level="major", before="sync_orders", after="refresh_orders"),
                    TaskChange(kind="slot_added", level="minor", slot="region", after="name"),
                ),
            ),
        ),
        unchanged=9,
        impact=Impact(
            tasks=("refresh_orders",),
            slots=("refresh_orders.region",),
            rows=(),
            evaluation=_TOUCHED,
            feedback=None,
            deployments=("sync_orders", "refresh_orders"),
        ),
    ),
    CatalogueRelease(
        version="2.0.0",
        date=datetime.date(2026, 11, 29),
        level="major",
        tasks=(ReleasedTask(intent="fetch_logs", level="major", changes=("intent_removed: fetch_logs -> (none)",)),),
    ),
    MigrationMap(
        rename={"a": "b"},
        merge={"c": ("d", "e")},
        split={"f": (SplitPart(into="g", when=SplitCondition(slot="region", values=("EMEA", "华东")), rows=("seeds-0001",)),)},
        rename_slots={"a": {"region": "area"}},
        drop_slots={"a": ("note",)},
    ),
    MigrationReport(
        domain="dataops",
        written=True,
        resumed=False,
        files=(
            MigratedFile(
                split="seeds",
                file="seeds.jsonl",
                rows=9,
                changed=3,
                set_aside=1,
                taken_back=0,
                moves={"a -> b": 3},
                backup="registry/replaced/seeds-0123456789ab.jsonl",
            ),
        ),
        waiting=1,
        eval_note="no evaluation row changes",
    ),
    MigrationReviewRow(
        id="seeds-0001",
        split="seeds",
        line=1,
        reason="f is split and nothing decides for this row",
        candidates=("g", "h"),
        row={"id": "seeds-0001", "text": _TEXT, "by": {"name": "李雷"}},
    ),
    Journal(
        files={"seeds.jsonl": JournalEntry(before="0" * 64, text="{}\n"), "gone.yaml": JournalEntry(before=None, text=None)}
    ),
)

_ANSWER = ReviewAnswer(
    id="pool-0007",
    text=_TEXT,
    decision="labelled",
    frame=_WANTED,
    reviewer="李雷",
    at=datetime.datetime(2026, 11, 30, 8, 15, 0, 250_000, tzinfo=datetime.UTC),
    via="page",
)
_REVIEW: tuple[Contract, ...] = (
    _ANSWER,
    _ANSWER.model_copy(update={"decision": "skipped", "frame": None, "via": "file"}),
    ReviewRow(id="pool-0007", text=_TEXT, language="zh", suggestion=_OTHER, reasons=("slots_disagree",), answers=(_ANSWER,)),
    ReviewRow(id="a", text=_TEXT, language="zh", suggestion=_WANTED, intent_confidence=0.9, slot_confidence={"date": 0.5}),
    ReviewStatus(
        domain="dataops",
        rows=3,
        settled=1,
        open=1,
        skipped=1,
        conflicts=(Conflict(id="pool-0007", text=_TEXT, answers=(_ANSWER,)),),
        reviewers=(ReviewerTally(name="李雷", answered=2, accepted=1, skipped=1),),
        pairs=(PairAgreement(reviewers=("ana", "李雷"), shared=2, same_intent=1.0, same_frame=0.5, kappa=None),),
        alpha=0.5,
    ),
)

_ROWS: tuple[Contract, ...] = (
    Utterance(id="seeds-0001", text=_TEXT, language="zh", frame=_WANTED, provenance=Provenance(source="seed")),
    Utterance(id="pool-0001", text="plain text, no label", language="en"),
    Provenance(source="teacher", model="smollm2", prompt_sha256="0" * 64, parent="pool-0001", round=2),
    Prediction(frame=_WANTED, raw='{"intent": "sync_orders"}', confidence=0.25),
    Prediction(raw="I cannot", error="malformed"),
    FeedbackCase(
        id="case-1", user="u1", text=_TEXT, wanted=_WANTED, when_right=_PATIENT, when_wrong=_CROSS, operator_labels=True
    ),
    FeedbackEvent(
        case="case-1",
        user="u1",
        text=_TEXT,
        arm="champion",
        propensity=0.8,
        model="sample-lap-0003-tuned",
        answer=None,
        behaviour=_CROSS,
        correction=_WANTED,
        operator_label=_WANTED,
        completed=False,
    ),
    Signal(case="case-1", candidate=_OTHER, source="implicit", rule="dwell", strength=-0.5),
    DistillationRow(
        case="case-1",
        text=_TEXT,
        candidates=(
            CandidateTarget(frame=_WANTED, fused=0.9, teacher=0.7, target=0.84),
            CandidateTarget(frame=_OTHER, fused=-0.2, teacher=None, target=0.16),
        ),
        weight=1.5,
    ),
    ExecutionPlan(
        domain="dataops",
        task="sync_orders",
        task_id=UUID(int=1),
        action="sync",
        reads=("data/订单.csv",),
        writes=("${home}/orders.parquet",),
        steps=("read 2 rows", "write"),
        rows=2,
    ),
    ExecutionResult(
        domain="dataops",
        task="validate_inventory",
        task_id=UUID(int=2),
        action="validate",
        started_at="2026-11-02T09:00:00+00:00",
        seconds=0.5,
        rows_read=6,
        rows_written=2,
        rows_failing=1,
        rules=(RuleOutcome(rule="sku not empty", failing=1),),
        outputs=(WrittenData(place="${home}/x.jsonl", rows=2, file=DataRef(path="x.jsonl", sha256="0" * 64, rows=2)),),
        failing_sample=DataRef(path="failing_rows.jsonl", sha256="1" * 64, rows=1),
        notes=("3 pages",),
    ),
)


_SERVING: tuple[Contract, ...] = (
    Routing(
        revision=3,
        champion=ServedVersion(
            name="shop-lap-0001-tuned", kind="vllm", url="http://127.0.0.1:8000/v1", model="shop-lap-0001-tuned"
        ),
        challenger=ServedVersion(
            name="shop-lap-0002-encoder", registry_version="4", kind="encoder", folder="laps/0002/encoder"
        ),
        challenger_share=0.1,
        experiment="shop-0002",
    ),
    TrialVerdict(
        experiment="shop-0002",
        decision="running",
        reasons=("too few units whose outcome is known: champion 90, challenger 9, at least 100 in each",),
        champion=TrialArm(
            arm="champion",
            model="shop-lap-0001-tuned",
            units=95,
            answers=240,
            judged_units=90,
            completion=0.61,
            error_rate=0.02,
        ),
        challenger=TrialArm(
            arm="challenger", units=10, answers=31, judged_units=9, completion=0.66, error_rate=0.0, p95_ms=210.0
        ),
        alpha=0.05,
        challenger_share=0.1,
        sample_ratio_p=0.86,
        mixed_units=1,
        intents={"sync_orders": 0.02},
    ),
    Standing(
        domain="shop",
        champion="2",
        challenger="3",
        serving="shop-lap-0002-tuned",
        routing_revision=4,
        moves=(
            Move(
                id="a1",
                at="2026-11-30T12:00:00+00:00",
                by="ana",
                from_version="1",
                to_version="2",
                adapter="shop-lap-0002-tuned",
                run_id="r",
                reasons=("the gain is more than chance",),
                evidence={"one_sided_p": 0.006},
                routing_revision=4,
            ),
        ),
        unfinished=Move(id="b2", phase="begun", at="2026-11-30T13:00:00+00:00", by="ana", from_version="2", to_version="3"),
    ),
    PromotableVersion(
        version="3", name="shop-lap-0003-tuned", folder=FolderRef(path="laps/0003", sha256="2" * 64), gate="hold: chance"
    ),
    DistillOutcome(
        domain="shop",
        verdict=TriggerVerdict(
            due=True,
            fired=("210 answers with new evidence, at least 200",),
            new_answers=640,
            telling_answers=210,
            stability_index=0.08,
            low_confidence=0.2,
            low_confidence_before=0.18,
        ),
        ran=True,
        lap=3,
        gate="hold",
        reasons=("the gain may be chance",),
        champion="shop-lap-0002-tuned",
    ),
    DualTrack(
        versions=(
            VersionTrack(
                version="shop-lap-0001-tuned",
                lap=1,
                offline_split="valid",
                joint_frame_accuracy=0.4,
                intent_accuracy=0.7,
                cases=128,
                task_completion=0.45,
                turns=2.2,
                correction_rate=0.3,
                cost_per_1k_tasks=0.04,
            ),
        ),
        correlations={"task_completion": Correlation(versions=1, note="1 versions, at least 3 are needed")},
        decoupled=False,
        note="not measured: 1 versions, at least 3 are needed",
    ),
    GateCheck(
        name="memory", champion=1_900_000, challenger=1_900_000, limit=2_850_000, unit="bytes of weights beside the base"
    ),
    UnderstandRequest(text=_TEXT, user="李雷", session="visit-7", position=2),
    UnderstandReply(
        inference_id="0f3c",
        model_version="shop-lap-0001-tuned",
        arm="challenger",
        propensity=0.1,
        frame=_WANTED,
        confidence=0.42,
        calibrated=True,
        intent_confidence=0.9,
        slot_confidence={"date": 0.8},
        out_of_scope=False,
        low_confidence=True,
        note="Understood as sync_orders. That is not sure: confidence 0.42 is below 0.60. Ask the user.",
    ),
    UnderstandReply(
        inference_id="0f3d",
        model_version="shop-probe",
        arm="champion",
        propensity=1.0,
        frame=None,
        error="malformed",
        calibrated=False,
        out_of_scope=False,
        low_confidence=None,
        degraded=True,
        note="Nothing was understood.",
    ),
    Problem(
        type="/problems/too-large", title="Too large", status=413, detail="Send less", request_id="r1", errors=("text: long",)
    ),
    Health(status="not_ready", detail="shop-lap-0001-tuned is loading"),
    ServiceState(
        revision=3,
        experiment="shop-0002",
        challenger_share=0.1,
        versions=(
            VersionInService(name="shop-probe", kind="probe", role="champion", calibrated=False, warm_s=0.2, in_flight=3),
        ),
        cache_hit_rate=None,
        unwritten=2,
        lost=0,
    ),
)


_CALIBRATION: tuple[Contract, ...] = (
    Calibration(
        student="tuned",
        temperature=2.5,
        bias=-1.0,
        threshold=0.7,
        target_accuracy=0.9,
        target_met=True,
        fitted_on="valid",
        fitted_sha256="2" * 64,
        rows=90,
        unknown=10,
        accuracy=0.4,
        ece_before=0.5,
        ece_after=0.05,
        adaptive_ece_before=0.5,
        adaptive_ece_after=0.06,
    ),
    CalibrationQuality(
        known=3,
        ece=0.1,
        ece_raw=0.5,
        adaptive_ece=0.1,
        reliability=(ReliabilityBin(low=0.4, high=0.5, rows=3, confidence=0.45, accuracy=0.55),),
        reliability_raw=(),
        coverage=(CoveragePoint(threshold=0.4, coverage=0.75, accuracy=0.55),),
        aurc=0.45,
        out_of_scope=OutOfScopeQuality(rows=1, precision=0.5, recall=1.0, in_scope_refused=0.3, auroc=0.8, threshold=0.5),
        at_threshold=CoveragePoint(threshold=0.5, coverage=0.25, accuracy=1.0),
    ),
    ConfusionPair(gold="sync_orders", predicted="unparsable", rows=2),
    ParityReport(prompts=0, tolerance=0.25, skipped="there is no vLLM on this machine"),
)


@cache
def samples_by_contract() -> Mapping[type[Contract], list[Contract]]:
    """At least one instance a contract, found by walking whole ones."""
    found: dict[type[Contract], list[Contract]] = {}
    for whole in (
        sample_report(),
        unmeasured_report(),
        *_ROWS,
        *_REGISTRY,
        *_SEEDING,
        *_REVIEW,
        *_SERVING,
        *_CALIBRATION,
        *EVENTS,
        *ENGINE,
        *students(),
        RateRequest(min_requests=60, load=LoadShape(kind="steps", rates=(5.0, 10.0), seconds=20.0)),
    ):
        for part in _walk(whole):
            if part not in found.setdefault(type(part), []):
                found[type(part)].append(part)
    return found


def _walk(value: object) -> Iterator[Contract]:
    if isinstance(value, Contract):
        yield value
        for name in type(value).model_fields:
            yield from _walk(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _walk(item)
