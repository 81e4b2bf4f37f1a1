"""A part of a load step, as a record of its own: the requests that were due in a span of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kickwheel.throughput.ports import Scrape, StepRecord


def window(record: StepRecord, start: float, end: float) -> tuple[StepRecord, int]:
    """Requests due from ``start`` to before ``end`` (seconds of the step), and the place of the first among all.

    Samples stand in the order of the schedule. Each keeps its times, also where it was answered after ``end``; the timeline is
    that of the whole step, so a part has none.
    """
    # Times of steps are sums of floats: a request that is due at a boundary is due at it, give or take a rounding.
    before = sum(sample.scheduled < start - 1e-9 for sample in record.samples)
    upto = sum(sample.scheduled < end - 1e-9 for sample in record.samples)
    samples = record.samples[before:upto]
    edges = sorted([(sample.sent, 1) for sample in samples] + [(sample.finished, -1) for sample in samples])
    most, now = 0, 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return replace(record, samples=samples, max_in_flight=most, timeline=()), before


def within(scrapes: Sequence[Scrape], start: float, end: float) -> list[Scrape]:
    """What the server said in a span of ``time.monotonic``, with the last look before it: counters need a zero."""
    earlier = [scrape for scrape in scrapes if scrape.at < start][-1:]
    return [*earlier, *(scrape for scrape in scrapes if start <= scrape.at <= end)]
