"""A made-up lap: every figure is invented, so that tests and people can see a full report without running one.

The figures agree with each other (matrices add up to the rows, intervals are Wilson's), nothing more. The tuned student
loses to the probe here, because that is the page that has to be right.
"""

from __future__ import annotations

import math
import random
from typing import Final, Literal
from uuid import NAMESPACE_URL, uuid5

from kickwheel.distillation.dual_track import dual_track
from kickwheel.testing.sample_load import sample_throughput
from kickwheel.testing.sample_trust import sample_calibration, sample_cross_validation, sample_parity, sample_trust
from schemas.base import DataRef, FolderRef
from schemas.dual_track import DualTrack, VersionTrack
from schemas.feedback import BusinessMetrics, DistillationReport, TokenTeacher
from schemas.frame import OUT_OF_SCOPE
from schemas.lap import STAGES, LapReport, StageTime
from schemas.quality import Evaluation, IntentScore, PairedTest, QualityMetrics
from schemas.seed_checks import AuditFigure, DuplicateRow, LabelSuspect, LeakedRow, SeedChecks
from schemas.seeding import CoverageCell, SeedingRound, SeedSet, TeacherContribution, TeacherSpend
from schemas.synthesis import SynthesisOrder, SynthesisReport
from schemas.task import Proposal, Rejection, Schedule, SlotSpec, SourceQuote, TaskCatalog, TaskSchema
from schemas.throughput import ThroughputReport
from schemas.tuning import AdapterArtifact, GateVerdict, LoraPlan, LossPoint, TuningReport

_INTENTS: Final = {
    "archive_clickstream": ("date",),
    "enrich_addresses": ("city",),
    "enrich_profiles": ("segment",),
    "export_sales_report": ("date", "format", "recipient"),
    "fetch_api_logs": ("date", "service"),
    "fetch_exchange_rates": ("currency", "date"),
    "sync_orders": ("date", "region"),
    "sync_payments": ("currency", "date"),
    "validate_inventory": ("sku", "warehouse"),
    "validate_invoices": ("date", "supplier"),
}
_SHA: Final = "5a" * 32


def sample_report() -> LapReport:
    """A whole lap of an invented 'sample' domain."""
    rng = random.Random(7)  # noqa: S311 (figures of a sample, no secret)
    return LapReport(
        domain="sample",
        lap=3,
        code_version="0.1.0+g3f9c2d1",
        mlflow_run_id="b5c1f0e2a7d94c0f8f6f0d2f3f5a1c77",
        started_at="2026-11-29T08:14:05Z",
        stages=tuple(
            StageTime(stage=stage, seconds=seconds, attempts=2 if stage == "seeding" else 1)
            for stage, seconds in zip(STAGES, (0.4, 131.8, 214.0, 118.6, 96.3), strict=True)
        ),
        intent=sample_catalog(),
        seeding=_seeding(rng),
        tuning=_tuning(rng),
        throughput=sample_throughput(),
        distillation=_distillation(),
        dual_track=_dual_track(),
    )


def unmeasured_report() -> LapReport:
    """A lap that ran seeding alone, without a teacher, and tried a throughput stage on a machine without vLLM."""
    whole = sample_report()
    if whole.seeding is None:
        raise AssertionError("the sample has a seeding stage")
    rounds = tuple(
        round_.model_copy(update={"accepted_from_teacher": 0, "reviewed": 58, "teacher_calls": 0, "teacher_errors": {}})
        for round_ in whole.seeding.rounds
    )
    alone = whole.seeding.model_copy(
        update={
            "labels_by_source": {"seed": 200, "reviewer": 116},
            "rounds": rounds,
            "teacher": TeacherContribution(model="none", labels=0, unavailable_reason="no endpoint is set and vLLM is missing"),
            "agreement": None,
        }
    )
    missing = ThroughputReport(measured=False, not_measured_reason="vLLM is not installed: make setup-vllm installs it")
    return LapReport(
        domain="sample", lap=1, code_version="0.1.0", started_at="2026-11-29T08:14:05Z", seeding=alone, throughput=missing
    )


def sample_metrics(rows: int, joint: float, *, intent: float, slot: float, unparsable: float = 0.0) -> QualityMetrics:
    """Metrics around a joint frame accuracy, with its 95 % Wilson interval (Wilson 1927)."""
    z, share = 1.96, round(joint * rows) / rows
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return QualityMetrics(
        rows=rows,
        intent_accuracy=intent,
        macro_f1=max(0.0, intent - 0.013),
        slot_precision=min(1.0, slot + 0.02),
        slot_recall=max(0.0, slot - 0.02),
        slot_f1=slot,
        joint_frame_accuracy=share,
        unparsable_rate=unparsable,
        joint_interval=(max(0.0, centre - half), min(1.0, centre + half)),
    )


def sample_evaluation(
    student: str, split: Literal["valid", "eval", "replay"], joint: float, *, chinese: float = 0.1, with_confusion: bool = False
) -> Evaluation:
    """One student's evaluation on 300 rows, 36 of them Chinese."""
    intent, slot = min(1.0, joint + 0.36), min(1.0, joint + 0.17)
    confusion = _confusion(random.Random(11), intent) if with_confusion else {}  # noqa: S311
    scores = tuple(
        IntentScore(
            intent=name,
            rows=sum(row.values()),
            precision=0.8,
            recall=row.get(name, 0) / sum(row.values()),
            f1=0.79,
            precision_interval=(0.62, 0.91),
            recall_interval=(0.6, 0.9),
        )
        for name, row in confusion.items()
    )
    unparsable = sum(row.get("unparsable", 0) for row in confusion.values()) / 300
    return Evaluation(
        student=student,
        split=split,
        overall=sample_metrics(300, joint, intent=intent, slot=slot, unparsable=unparsable),
        by_language={
            "en": sample_metrics(264, joint + 0.03, intent=min(1.0, intent + 0.03), slot=slot),
            "zh": sample_metrics(36, chinese, intent=chinese + 0.2, slot=chinese + 0.1, unparsable=0.08),
        },
        per_intent=scores,
        confusion=confusion,
        evaluated_with="scikit-learn" if student == "probe" else "vLLM",
    )


def sample_catalog() -> TaskCatalog:
    """Ten tasks, one of them scheduled, and one rejected statement."""
    tasks = tuple(
        TaskSchema(
            id=uuid5(NAMESPACE_URL, f"sample/{intent}"),
            intent=intent,
            action=intent.split("_", 1)[0],
            target=intent.split("_", 1)[1],
            description=intent.replace("_", " "),
            slots=tuple(SlotSpec(name=slot, type="date" if slot == "date" else "text") for slot in slots),
            schedule=Schedule(cron="0 9 * * 1", zone="Asia/Shanghai") if intent == "sync_orders" else None,
            provenance=(SourceQuote(document="platform-zh.md", line=number, quote="每周一早上九点把订单同步到数据湖"),),
        )
        for number, (intent, slots) in enumerate(_INTENTS.items(), start=4)
    )
    vague = SourceQuote(document="platform-zh.md", line=31, quote="有空的时候清理一下旧的 <tmp> 表")
    return TaskCatalog(
        domain="sample",
        tasks=tasks,
        rejections=(
            Rejection(source=vague, reason="ambiguous_time", question="When is “有空的时候”, and in which time zone?"),
            Rejection(
                source=SourceQuote(document="platform-zh.md", line=33, quote="订单麻烦早上九点过一遍湖"),
                reason="needs_review",
                question="Is this what is meant? Then write it so.",
                proposal=Proposal(
                    action="sync",
                    entity="订单",
                    target="orders_datalake",
                    schedule=Schedule(cron="0 9 * * *", zone="Asia/Shanghai"),
                    statement="每天09:00同步订单至数据湖",
                    model="sample-8b",
                    confidence=0.87,
                ),
            ),
        ),
    )


def _confusion(rng: random.Random, accuracy: float) -> dict[str, dict[str, int]]:
    """300 rows: the last intents get fewer, mistakes go to a neighbour, out_of_scope or nowhere."""
    names = [*_INTENTS, OUT_OF_SCOPE]
    sizes = [26] * 10 + [40]
    table: dict[str, dict[str, int]] = {}
    for index, (name, rows) in enumerate(zip(names, sizes, strict=True)):
        right = min(rows, max(0, round(rows * accuracy + rng.uniform(-4, 4))))
        row = {name: right}
        for _ in range(rows - right):
            wrong = rng.choice(
                [names[(index + 1) % 11], names[(index + 1) % 11], OUT_OF_SCOPE, "unparsable", rng.choice(names)]
            )
            wrong = names[index - 1] if wrong == name else wrong
            row[wrong] = row.get(wrong, 0) + 1
        table[name] = row
    return table


def _seeding(rng: random.Random) -> SeedSet:
    def round_(number: int, accepted: int, joint: float) -> SeedingRound:
        return SeedingRound(
            number=number,
            scored=600 - 60 * (number - 1),
            selected=60,
            accepted_from_teacher=accepted,
            reviewed=58 - accepted,
            waiting=2 * number,
            teacher_errors={"malformed": 3, "span_not_in_text": 6},
            checks_failed={"labellers_disagree": 41 - accepted},
            teacher_calls=63,
            prompt_tokens=38_200,
            completion_tokens=1_870,
            audit=(
                AuditFigure(rows="hard", accepted=accepted // 2, checked=1, right=1),
                AuditFigure(rows="easy", accepted=accepted - accepted // 2, checked=0, right=0),
            ),
            probe=sample_metrics(100, joint, intent=joint + 0.34, slot=joint + 0.19),
        )

    coverage = [
        CoverageCell(
            intent=intent, slot=slot, language=language, rows=rng.randrange(0, 5) if language == "zh" else rng.randrange(4, 27)
        )
        for intent, slots in _INTENTS.items()
        for slot in ("-", *slots)
        for language in ("en", "zh")
    ]
    coverage += [
        CoverageCell(intent=OUT_OF_SCOPE, slot="-", language=language, rows=n) for language, n in (("en", 38), ("zh", 5))
    ]
    return SeedSet(
        train=DataRef(path=".kickwheel/sample/laps/0003/seeding/train.jsonl", sha256=_SHA, rows=316),
        review_queue=DataRef(path=".kickwheel/sample/laps/0003/seeding/review_queue.jsonl", sha256=_SHA, rows=4),
        labels_by_source={"seed": 200, "teacher": 17, "reviewer": 95, "synthetic": 4},
        synthesis=SynthesisReport(
            writers=("templates",),
            orders=(
                SynthesisOrder(
                    reason="no_rows", intent="archive_clickstream", slot="-", language="zh", labelled=0, wanted=4, kept=4
                ),
            ),
            written=6,
            kept=4,
            refused={"too_similar": 2},
            unchecked=4,
            share=0.0125,
        ),
        rounds=(round_(1, 7, 0.44), round_(2, 10, 0.49)),
        teacher=TeacherContribution(model="smollm2-135m-instruct", labels=17, right=15),
        reviewer="bundled answers (demo)",
        coverage=tuple(coverage),
        agreement=0.22,
        checks=SeedChecks(
            leaks=(LeakedRow(id="pool-0007", split="eval", other="eval-0042", reason="near_duplicate", similarity=0.91),),
            duplicates=(DuplicateRow(id="pool-0100", of="seeds-0003", similarity=0.88, same_label=True),),
            repeated_pool_rows=2,
            personal_data={"email": 1, "phone": 2},
            personal_data_rows=("pool-0011", "pool-0310"),
            suspects=(
                LabelSuspect(
                    id="seeds-0017", source="seed", intent="sync_orders", likely="export_report", likely_probability=0.74
                ),
            ),
        ),
        spend=TeacherSpend(calls=126, prompt_tokens=76_400, completion_tokens=3_740, cost=0.0229),
        notes=("the teacher's budget ended the asking: 2 rows were not put to it and wait for a person",),
    )


def _tuning(rng: random.Random) -> TuningReport:
    losses = tuple(
        LossPoint(step=step, tokens=940 * step, loss=round(0.16 + 2.9 * math.exp(-step / 9) + rng.uniform(0, 0.07), 4))
        for step in range(1, 49)
    )
    return TuningReport(
        adapter=sample_adapter("sample-lap-0003-tuned", parent=None),
        losses=losses,
        trained_tokens=45_120,
        tokens_per_second=238.4,
        evaluations=(
            sample_evaluation("tuned", "eval", 0.417, chinese=0.139, with_confusion=True).model_copy(update=sample_trust()),
            sample_evaluation("probe", "eval", 0.503, chinese=0.306),
            sample_evaluation("base_zero_shot", "eval", 0.013, chinese=0.0),
            _sampled("base_few_shot", 0.1),
            _sampled("base_few_shot_json", 0.25),
        ),
        against_probe=PairedTest(wins=38, losses=64, p_value=0.0132),
        against_base=PairedTest(wins=122, losses=1, p_value=2.3e-35),
        against_champion=PairedTest(wins=14, losses=11, p_value=0.69),
        calibration=sample_calibration(),
        parity=sample_parity(),
        cross_validation=sample_cross_validation(),
        promotion="champion",
    )


def _sampled(student: str, joint: float) -> Evaluation:
    """A student that was asked 40 of 300 rows."""
    whole = sample_evaluation(student, "eval", joint)
    overall = sample_metrics(40, joint, intent=joint + 0.2, slot=joint + 0.1, unparsable=0.2)
    return whole.model_copy(update={"overall": overall, "by_language": {}, "sample_of": 300})


def sample_adapter(name: str, *, parent: str | None) -> AdapterArtifact:
    """An adapter that lies nowhere."""
    return AdapterArtifact(
        name=name,
        folder=FolderRef(path=f".kickwheel/sample/laps/0003/tuning/{name}", sha256=_SHA),
        base_model="package:smollm2-135m-instruct",
        base_path=".kickwheel/models/smollm2-135m-instruct",
        base_licence="Apache-2.0",
        train_sha256=_SHA,
        plan=LoraPlan(),
        parent=parent,
    )


def _distillation() -> DistillationReport:
    return DistillationReport(
        events=DataRef(path=".kickwheel/sample/laps/0003/distillation/events.jsonl", sha256=_SHA, rows=240),
        batch=DataRef(path=".kickwheel/sample/laps/0003/distillation/batch.jsonl", sha256=_SHA, rows=131),
        signals_by_rule={"dwell": 88, "scroll": 71, "back_and_return": 19, "correction": 64, "operator_label": 40},
        conflicts=7,
        business={
            "champion": BusinessMetrics(
                cases=192, task_completion=0.422, turns=2.31, correction_rate=0.328, cost_per_1k_tasks=0.041
            ),
            "probe": BusinessMetrics(cases=48, task_completion=0.521, turns=1.96, correction_rate=0.271, cost_per_1k_tasks=0.0),
        },
        replay_evaluation=sample_evaluation("champion", "replay", 0.422),
        ab_winner=None,
        ab_note="48 cases in the smaller arm are too few: at least 100 are needed",
        teacher_note="the teacher scored 120 of 131 candidate sets",
        token_teacher=TokenTeacher(
            name="models/teacher", path="models/teacher", sha256=_SHA, tokenizer_sha256=_SHA, weight=0.5
        ),
        challenger=sample_adapter("sample-lap-0003-distilled", parent="sample-lap-0003-tuned"),
        trained_tokens=15_080,
        losses=tuple(LossPoint(step=step, tokens=940 * step, loss=round(0.62 - 0.018 * step, 3)) for step in range(1, 17)),
        gate=GateVerdict(
            decision="hold",
            reasons=("joint frame accuracy on valid: 43.0 % against the champion's 42.0 %, p = 1: not more than chance",),
            champion=sample_evaluation("champion", "valid", 0.42),
            challenger=sample_evaluation("challenger", "valid", 0.43),
            paired=PairedTest(wins=6, losses=5, p_value=1.0),
        ),
        challenger_eval=sample_evaluation("challenger", "eval", 0.437, chinese=0.171),
        champion="sample-lap-0003-tuned",
    )


def _dual_track() -> DualTrack:
    """Four versions whose completion follows their accuracy, but not strictly."""
    figures = ((0.31, 0.36), (0.36, 0.44), (0.40, 0.42), (0.42, 0.47))
    return dual_track(
        [
            VersionTrack(
                version=f"sample-lap-{lap:04d}-tuned",
                lap=lap,
                offline_split="valid",
                joint_frame_accuracy=joint,
                intent_accuracy=round(joint + 0.25, 2),
                cases=192,
                task_completion=done,
                turns=round(3 - done, 2),
                correction_rate=round(0.6 - done, 2),
                click_through=0.5 if lap == 4 else None,
                replayed=lap < 4,
                cost_per_1k_tasks=0.041,
            )
            for lap, (joint, done) in enumerate(figures, start=1)
        ]
    )
