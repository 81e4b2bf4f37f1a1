"""From the raw record of a load step to its figures. Failed requests are counted by kind and never enter a latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kickwheel.throughput.ports import Scrape, StepRecord
from kickwheel.throughput.server_metrics import server_figures, timeline
from kickwheel.throughput.slo import is_void, missed, time_per_output_token, within_slo
from kickwheel.throughput.statistics import percentile, percentiles_ms, quantiles_ms
from schemas.throughput import AccuracyUnderLoad, LoadPoint, Slo

ABANDONED = "abandoned"


def load_point(
    record: StepRecord,
    *,
    arm: str,
    rate: float,
    slo: Slo,
    schedule: str = "constant",
    accuracy: AccuracyUnderLoad | None = None,
    scrapes: Sequence[Scrape] = (),
    server_died: bool = False,
) -> LoadPoint:
    """The figures of one step.

    Requests that were under way when the step was ended early have no reply, and no error of the server's either: they stand in
    the percentiles with the age that they had reached, so that those are lower bounds of what they would have become.

    Args:
        rate: offered rate; 0 in a closed loop, where there is none.
        accuracy: of the replies (:mod:`kickwheel.throughput.accuracy`).
        scrapes: what the server said meanwhile.
    """
    samples = record.samples
    replies = [sample for sample in samples if sample.error is None]
    abandoned = [sample for sample in samples if sample.error == ABANDONED]
    begin = min((sample.scheduled for sample in samples), default=0.0)
    elapsed = max((sample.finished for sample in replies or samples), default=0.0) - begin
    latencies = [sample.latency for sample in (*replies, *abandoned)]
    latency = percentiles_ms(latencies)
    delay_ms = 1000 * (percentile([sample.sent - sample.scheduled for sample in samples], 0.99) or 0.0)
    point = LoadPoint(
        arm=arm,
        offered_rate=rate,
        achieved_rate=_per_second(len(replies), elapsed),
        duration_s=elapsed,
        sent=len(samples),
        succeeded=len(replies),
        errors=dict(Counter(sample.error for sample in samples if sample.error not in (None, ABANDONED))),
        ttft_ms=percentiles_ms([s.first_token - s.scheduled for s in replies if s.first_token is not None]),
        latency_ms=latency,
        tpot_ms=percentiles_ms([value for sample in replies if (value := time_per_output_token(sample)) is not None]),
        itl_ms=percentiles_ms([gap for sample in replies for gap in sample.gaps]),
        send_delay_p99_ms=delay_ms,
        max_in_flight=record.max_in_flight,
        mean_in_flight=sum(s.finished - s.sent for s in samples) / elapsed if elapsed > 0 else None,
        goodput=_per_second(sum(within_slo(slo, sample) for sample in replies), elapsed),
        completion_tokens_per_s=_per_second(sum(sample.completion_tokens for sample in replies), elapsed),
        prompt_tokens_per_s=_per_second(sum(sample.prompt_tokens for sample in replies), elapsed),
        holds_slo=False,
        void=is_void(send_delay_p99_ms=delay_ms, latency_ms=latency),
        schedule=schedule,
        accuracy=accuracy,
        stopped_early=record.stopped_early,
        abandoned=len(abandoned),
        server_died=server_died,
        server=server_figures(scrapes),
        timeline=timeline(record.timeline, scrapes, record.begin),
        quantiles_ms=quantiles_ms(latencies),
        client_cpu=record.cpu,
    )
    return judged(point, slo)


def judged(point: LoadPoint, slo: Slo) -> LoadPoint:
    """The point, held against an SLO."""
    misses = missed(slo, point)
    return point.model_copy(update={"missed": misses, "holds_slo": not misses})


def _per_second(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
