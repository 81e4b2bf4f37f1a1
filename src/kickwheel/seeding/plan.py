"""What a seeding stage would ask and cost, worked out without a call.

The rows of the next round are those that would be chosen; what later rounds choose depends on its labels, so they are counted
as its likeness. Tokens are upper estimates, the same that budgets and limits are kept with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from kickwheel.domain import Domain
from kickwheel.errors import StageInputMissing
from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.purse import SPEND_FILE, Budget, exceeded, read_spent
from kickwheel.inference.rate_limit import WINDOW_S
from kickwheel.inference.remembering_client import call_key
from kickwheel.inference.token_estimate import estimated_tokens, prompt_tokens
from kickwheel.lineage import stage_inputs
from kickwheel.seeding.label_log import LabelLog
from kickwheel.seeding.lap_inputs import lap_inputs
from kickwheel.seeding.rounds import RoundStart, SeedingInputs, finished_rounds, start_round, teacher_prompt
from kickwheel.seeding.self_label import ATTEMPTS, vote_request
from kickwheel.settings import Settings, TeacherSettings
from kickwheel.workspace import Lap
from schemas.seed_versions import PlannedRound, SeedPlan
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog


def plan_seeding(domain: Domain, settings: Settings, lap: Lap, catalog: TaskCatalog, model: str) -> SeedPlan:
    """Rounds that are left in a lap, with their calls.

    Args:
        catalog: tasks as the lap has them, or as they would be mapped.
        model: served name of the teacher; empty: nobody is asked.

    Raises:
        InputError: a row of the domain does not hold.
        StageFailed: there is no labelled row.
    """
    folder, is_finished = _standing(domain, settings, lap)
    inputs = lap_inputs(domain, settings, lap, catalog, folder).inputs
    finished = inputs.settings.rounds if is_finished else finished_rounds(inputs)
    rounds = list(_rounds(inputs, finished, model)) if model and finished < inputs.settings.rounds else []
    budget = Budget.of(settings.teacher)
    calls = sum(item.calls for item in rounds)
    prompt, completion = sum(item.prompt_tokens for item in rounds), sum(item.completion_tokens for item in rounds)
    return SeedPlan(
        domain=domain.name,
        lap=lap.number,
        model=model or "none",
        strategy=inputs.settings.strategy,
        finished_rounds=finished,
        rounds=tuple(rounds),
        rows=sum(item.rows for item in rounds),
        calls=calls,
        most_calls=sum(item.most_calls for item in rounds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        remembered=sum(item.remembered for item in rounds),
        cost=budget.cost(prompt, completion) if budget.has_prices else None,
        least_seconds=_least_seconds(settings.teacher, calls, prompt + completion),
        stops_at=exceeded(budget, read_spent(lap.folder / SPEND_FILE).plus(calls, prompt, completion)) or None,
    )


def _standing(domain: Domain, settings: Settings, lap: Lap) -> tuple[Path, bool]:
    """Where the lap's rounds are or would be, and whether the stage is finished."""
    try:
        fingerprint = stage_inputs("seeding", domain, settings, lap)
    except StageInputMissing:
        return lap.folder / "seeding" / "not-begun", False
    return lap.work_path("seeding", fingerprint), lap.finished("seeding", SeedSet, fingerprint) is not None


@dataclass(frozen=True)
class _Question:
    remembered: bool
    prompt_tokens: int
    completion_tokens: int


def _rounds(inputs: SeedingInputs, finished: int, model: str) -> Iterator[PlannedRound]:
    start = start_round(inputs, finished + 1)
    questions = list(_questions(inputs, start, model))
    new = [question for question in questions if not question.remembered]
    exact = inputs.settings.scores == "probe"  # the student would have to be asked
    yield _planned(finished + 1, len(start.chosen), len(new), new, remembered=len(questions) - len(new), exact=exact)
    left = len(start.pool) - len(start.chosen)
    for number in range(finished + 2, inputs.settings.rounds + 1):
        rows = min(inputs.settings.per_round, left)
        left -= rows
        yield _planned(number, rows, rows * inputs.settings.votes, questions, remembered=0, exact=False)


def _questions(inputs: SeedingInputs, start: RoundStart, model: str) -> Iterator[_Question]:
    """What the chosen rows would be asked with; a reply is taken for as long as the labelled rows' frames are."""
    prompt, log = teacher_prompt(inputs, start.labelled), LabelLog(inputs.label_log)
    frames = [estimated_tokens(encode_frame(row.frame)) for row in start.labelled if row.frame]
    reply = round(fmean(frames)) if frames else 0
    for row in start.chosen:
        for number in range(inputs.settings.votes):
            request = vote_request(prompt.request(row.text), number)
            yield _Question(log.get(call_key(model, request)) is not None, prompt_tokens(request), reply)


def _planned(number: int, rows: int, calls: int, like: Sequence[_Question], *, remembered: int, exact: bool) -> PlannedRound:
    """So many calls that are like these questions on average."""
    scale = calls / len(like) if like else 0.0
    return PlannedRound(
        number=number,
        rows=rows,
        exact=exact,
        remembered=remembered,
        calls=calls,
        most_calls=calls * ATTEMPTS,
        prompt_tokens=round(scale * sum(question.prompt_tokens for question in like)),
        completion_tokens=round(scale * sum(question.completion_tokens for question in like)),
    )


def _least_seconds(teacher: TeacherSettings, calls: int, tokens: int) -> float:
    """A minute's worth may be sent at once; each further one waits for its minute."""
    limits = ((teacher.requests_per_minute, calls), (teacher.tokens_per_minute, tokens))
    return max(WINDOW_S * ((used - 1) // limit) if limit and used else 0.0 for limit, used in limits)
