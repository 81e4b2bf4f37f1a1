"""The measurement: base and adapter under the same load steps, in alternating order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from kickwheel.errors import KickwheelError
from kickwheel.inference.batch import complete_many
from kickwheel.inference.ports import ChatClient, ChatRequest
from kickwheel.inference.student_prompt import student_messages
from kickwheel.settings import ThroughputSettings
from kickwheel.throughput.ports import LoadGenerator, StepRecord
from kickwheel.throughput.schedule import choose_texts, constant_schedule
from kickwheel.throughput.slo import holds_slo, is_void
from kickwheel.throughput.statistics import percentile, percentiles_ms
from schemas.throughput import LoadPoint, Slo, ThroughputReport

Arm = Literal["base", "adapter"]


def measure(
    generator: LoadGenerator,
    models: Mapping[Arm, str],
    texts: Sequence[str],
    settings: ThroughputSettings,
    *,
    seed: int,
    server: str = "",
    engine_settings: Mapping[str, str] | None = None,
    startup_s: float | None = None,
    warmup_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ThroughputReport:
    """Step through ``settings.rates``; at each rate both arms get the same texts at the same times.

    The order of the arms alternates (base, adapter, adapter, base …), so that a machine that grows slower or warmer does
    not favour one. A server that dies ends the measurement: the report says so and keeps the points there are.

    Args:
        models: served name of each arm.
        texts: real utterances; the seed decides their order.
        server, engine_settings, startup_s, warmup_s: passed on into the report.
    """
    points: list[LoadPoint] = []
    reason: str | None = None
    steps = [(rate, arm) for number, rate in enumerate(settings.rates) for arm in _order(number)]
    for done, (rate, arm) in enumerate(steps):
        schedule = constant_schedule(rate, settings.step_s)
        record = generator.run(models[arm], choose_texts(texts, len(schedule), seed), schedule)
        points.append(load_point(record, arm=arm, rate=rate, slo=settings.slo))
        generator.drain()
        if not generator.is_alive():
            reason = f"the model server died at {rate:g} requests/s ({arm})"
            break
        if progress is not None:
            progress(done + 1, len(steps))
    return ThroughputReport(
        measured=reason is None,
        not_measured_reason=reason,
        server=server,
        engine_settings=dict(engine_settings or {}),
        startup_s=startup_s,
        warmup_s=warmup_s,
        slo=settings.slo,
        points=tuple(points),
    )


def load_point(record: StepRecord, *, arm: Arm, rate: float, slo: Slo) -> LoadPoint:
    """The figures of one step. Failed requests are counted by kind and never enter a latency."""
    replies = [sample for sample in record.samples if sample.error is None]
    begin = min(sample.scheduled for sample in record.samples)
    elapsed = max(sample.finished for sample in replies or record.samples) - begin
    latency = percentiles_ms([sample.latency for sample in replies])
    delay_ms = 1000 * (percentile([sample.sent - sample.scheduled for sample in record.samples], 0.99) or 0.0)
    within = sum(1000 * sample.latency <= slo.p99_ms for sample in replies)
    return LoadPoint(
        arm=arm,
        offered_rate=rate,
        achieved_rate=_per_second(len(replies), elapsed),
        duration_s=elapsed,
        sent=len(record.samples),
        succeeded=len(replies),
        errors=dict(Counter(sample.error for sample in record.samples if sample.error is not None)),
        ttft_ms=percentiles_ms([s.first_token - s.scheduled for s in replies if s.first_token is not None]),
        latency_ms=latency,
        send_delay_p99_ms=delay_ms,
        max_in_flight=record.max_in_flight,
        goodput=_per_second(within, elapsed),
        completion_tokens_per_s=_per_second(sum(sample.completion_tokens for sample in replies), elapsed),
        holds_slo=holds_slo(slo, sent=len(record.samples), succeeded=len(replies), latency_ms=latency),
        void=is_void(send_delay_p99_ms=delay_ms, latency_ms=latency),
    )


def typical_output_tokens(client: ChatClient, texts: Sequence[str], *, max_tokens: int, max_concurrency: int = 8) -> int:
    """Mean length of the student's own replies, rounded: the output length at which both arms are loaded.

    Left to itself the untuned base writes on up to the limit, and the comparison would be one of lengths, not of weights.

    Raises:
        ServiceError: no text was answered.
    """
    requests = [ChatRequest(messages=student_messages(text), max_tokens=max_tokens) for text in texts]
    outcomes = complete_many(client, requests, max_concurrency=max_concurrency)
    lengths = [outcome.completion_tokens for outcome in outcomes if not isinstance(outcome, KickwheelError)]
    if not lengths:
        raise next(outcome for outcome in outcomes if isinstance(outcome, KickwheelError))
    return max(1, round(sum(lengths) / len(lengths)))


def _order(number: int) -> tuple[Arm, Arm]:
    return ("base", "adapter") if number % 2 == 0 else ("adapter", "base")


def _per_second(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
