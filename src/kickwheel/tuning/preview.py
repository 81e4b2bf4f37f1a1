"""A training before it begins: plan, reasons, steps, and what the convergence guard has against it. Writes nothing."""

from __future__ import annotations

import math
from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.inference.token_estimate import estimated_tokens
from kickwheel.settings import Settings
from kickwheel.tuning.convergence import check_schedule
from kickwheel.tuning.recipe import make_plan, training_rows
from kickwheel.tuning.schedule import plan_steps
from kickwheel.workspace import Lap, read_jsonl
from schemas.student import PlanPreview, StudentKind
from schemas.tuning import LoraPlan, Method
from schemas.utterance import Utterance

PROMPT_AND_FRAME = 40
"""Tokens of the chat template and the written frame, of the packaged base; the text comes on top."""


def preview(domain: Domain, settings: Settings, lap: Lap, kind: StudentKind, method: Method) -> PlanPreview:
    """What would be trained. Tokens are estimated from the texts, so that no base need be there yet."""
    ref, said = training_rows(domain, settings, lap)
    rows = read_jsonl(Path(ref.path), Utterance)
    extra = PROMPT_AND_FRAME if kind == "causal" else 2
    lengths = [estimated_tokens(row.text) + extra for row in rows]
    plan, reasons = make_plan(settings, rows, kind, method, sum(lengths) / max(1, len(lengths)), 0)
    if isinstance(plan, LoraPlan):
        steps = plan_steps(lengths, plan)
        count, warmup, seen = steps.steps, steps.warmup_steps, sum(map(len, steps.batches))
    else:
        count = max(1, math.ceil(plan.epochs * len(rows) / plan.batch_size))
        warmup, seen = max(1, round(plan.warmup_share * count)), count * plan.batch_size
    warnings = check_schedule(
        steps=count,
        decay=plan.decay,
        decay_steps=plan.decay_steps,
        warmup_steps=warmup,
        passes=seen / max(1, len(rows)),
        plan=settings.guard,
    )
    return PlanPreview(
        arm=f"{kind}-{method}",
        rows=len(rows),
        rows_from=said,
        steps=count,
        causal=plan if isinstance(plan, LoraPlan) else None,
        encoder=None if isinstance(plan, LoraPlan) else plan,
        reasons=reasons,
        warnings=warnings,
    )
