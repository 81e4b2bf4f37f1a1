"""One load test as it is written on a command line: ``steps:50,100,200``, ``trace:calls.jsonl``, ``concurrency:8``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.schedule import (
    Schedule,
    burst_schedule,
    choose_texts,
    constant_schedule,
    poisson_schedule,
    ramp_schedule,
    read_trace,
    steps_schedule,
)
from schemas.throughput import LoadPoint, LoadShape
from schemas.utterance import Utterance, language_of

FORMS = "constant:RATE, poisson:RATE, steps:RATE,RATE,…, ramp:FROM-TO, burst:REQUESTS, trace:FILE.jsonl, concurrency:REQUESTS"


def parse_load(text: str, *, seconds: float = 60.0, requests: int = 300, speed: float = 1.0) -> LoadShape:
    """``KIND:VALUES``; a trace is read, so that one that does not hold is refused before anything is started.

    Raises:
        InputError: another form, a number that is none, a rate that is not above 0, no such trace; says which forms there are.
    """
    kind, _, values = text.partition(":")
    kind, values = kind.strip(), values.strip()
    fields: dict[str, object] = {"kind": kind, "seconds": seconds, "requests": requests, "speed": speed}
    try:
        if kind in ("burst", "concurrency"):
            fields["count"] = int(values)
        elif kind == "trace":
            fields["trace"] = values
        else:
            fields["rates"] = tuple(float(value) for value in values.split("-" if kind == "ramp" else ","))
        shape = LoadShape.model_validate(fields)
    except ValidationError as error:
        known = all(item["loc"] != ("kind",) for item in error.errors())
        why = error.errors()[0]["msg"].removeprefix("Value error, ") if known else f"there is no load {kind!r}"
        raise _refused(text, why) from error
    except ValueError as error:
        raise _refused(text, f"{values!r} can't be read as numbers" if values else "values are missing") from error
    if shape.kind == "trace":
        read_trace(Path(shape.trace), speed=shape.speed)
    return shape


def describe_load(shape: LoadShape) -> str:
    """The load in words, e.g. ``steps of 50, 100 requests/s, 10 s each``."""
    rates = ", ".join(f"{rate:g}" for rate in shape.rates)
    match shape.kind:
        case "steps":
            return f"steps of {rates} requests/s, {shape.seconds:g} s each"
        case "ramp":
            return f"a ramp from {shape.rates[0]:g} to {shape.rates[1]:g} requests/s in {shape.seconds:g} s"
        case "burst":
            return f"{shape.count} requests at once"
        case "trace":
            faster = "" if shape.speed == 1 else f" at {shape.speed:g} times its speed"
            return f"the trace {Path(shape.trace).name}{faster}"
        case "concurrency":
            return f"{shape.requests} requests, {shape.count} at a time"
    return f"{rates} requests/s, {shape.kind}, for {shape.seconds:g} s"


def schedule_of(shape: LoadShape, seed: int) -> Schedule:
    """When each request is due; empty for a closed loop."""
    match shape.kind:
        case "constant":
            return constant_schedule(shape.rates[0], shape.seconds)
        case "poisson":
            return poisson_schedule(shape.rates[0], shape.seconds, seed)
        case "steps":
            return steps_schedule(shape.rates, shape.seconds)
        case "ramp":
            return ramp_schedule(shape.rates[0], shape.rates[1], shape.seconds)
        case "burst":
            return burst_schedule(shape.count)
        case "trace":
            return read_trace(Path(shape.trace), speed=shape.speed)[0]
    return ()


def put_load(bench: Bench, arm: Arm, shape: LoadShape) -> tuple[LoadPoint, ...]:
    """Send it. The first point is the whole test; of steps each rate's own follow."""
    if shape.kind == "concurrency":
        return (bench.closed_loop(arm, shape.count, shape.requests),)
    if shape.kind == "steps":
        return bench.in_steps(arm, shape.rates, shape.seconds)
    if shape.kind == "burst":
        return (bench.burst(arm, shape.count),)
    if shape.kind == "trace":
        schedule, texts = read_trace(Path(shape.trace), speed=shape.speed)
        rate = len(schedule) / schedule[-1] if schedule[-1] > 0 else 0.0
        return (bench.on_schedule(arm, schedule, "trace", rate=rate, texts=_trace_rows(texts, bench.rows, bench.seed)),)
    schedule = schedule_of(shape, bench.seed)
    rate = len(schedule) / shape.seconds if shape.kind == "ramp" else shape.rates[0]
    return (bench.on_schedule(arm, schedule, shape.kind, rate=rate),)


def _trace_rows(texts: Sequence[str | None], rows: Sequence[Utterance], seed: int) -> list[Utterance]:
    """A trace's texts; those that are a row's are that row, so that their accuracy counts. Without a text: rows in turn."""
    known = {row.text: row for row in rows}
    turn = iter(choose_texts(rows, len(texts), seed))
    return [
        next(turn)
        if text is None
        else known.get(text) or Utterance(id=f"trace-{number}", text=text, language=language_of(text))
        for number, text in enumerate(texts)
    ]


def _refused(text: str, why: str) -> InputError:
    return InputError(f"{text!r}: {why}. Loads: {FORMS}", field="--load")
