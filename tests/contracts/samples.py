"""Instances of every contract: those of the sample lap, taken apart, and the rows that travel in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from uuid import UUID

from kickwheel.testing.sample_report import sample_report, unmeasured_report
from schemas.base import Contract, DataRef
from schemas.execution import ExecutionPlan, ExecutionResult, RuleOutcome, WrittenData
from schemas.feedback import Behaviour, CandidateTarget, DistillationRow, FeedbackCase, FeedbackEvent, Signal
from schemas.frame import Frame, Prediction
from schemas.utterance import Provenance, Utterance

_TEXT = "把🚚 昨天的订单同步到 ２号仓 👩‍👩‍👧"
_WANTED = Frame.from_values(_TEXT, "sync_orders", {"date": "昨天", "region": "２号仓"})
_OTHER = Frame(intent="out_of_scope")
_PATIENT = Behaviour(dwell_s=9.5, scroll=0.95)
_CROSS = Behaviour(dwell_s=1.2, scroll=0.1, bounced=True, back_and_return=3, corrected=True, turns=4)

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


@cache
def samples_by_contract() -> Mapping[type[Contract], list[Contract]]:
    """At least one instance a contract, found by walking whole ones."""
    found: dict[type[Contract], list[Contract]] = {}
    for whole in (sample_report(), unmeasured_report(), *_ROWS):
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
