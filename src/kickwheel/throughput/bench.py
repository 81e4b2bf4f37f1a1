"""One load step of one arm, and the steps that others are compared with. Knows rows, prompts, frames."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.settings import ThroughputSettings
from kickwheel.throughput.accuracy import Right, mean_tokens, right_frames, under_load
from kickwheel.throughput.point_log import LoggedPoint, PointLog
from kickwheel.throughput.points import load_point
from kickwheel.throughput.ports import LoadGenerator, LoadPlan, Scrape, ServerWatch, StepRecord
from kickwheel.throughput.request_body import request_body
from kickwheel.throughput.schedule import (
    Schedule,
    burst_schedule,
    choose_texts,
    constant_schedule,
    poisson_schedule,
    steps_schedule,
)
from kickwheel.throughput.slo import stop_rule
from kickwheel.throughput.step_window import window, within
from schemas.task import TaskCatalog
from schemas.throughput import LoadPoint
from schemas.utterance import Utterance


@dataclass
class Arm:
    """What is put under load.

    Attributes:
        name: in reports.
        models: served names; of several the requests take one after the other (adapters mixed).
        fixed_tokens: length that every reply is made to have; 0: it ends where the model ends it, and its frame is judged.
        schema: JSON Schema of the replies; None: free decoding.
        unloaded: its step without load, once it was measured.
        right: which rows were right then.
        reply_tokens: mean length of its replies then.
    """

    name: str
    models: tuple[str, ...]
    fixed_tokens: int = 0
    schema: Mapping[str, Any] | None = None
    unloaded: LoadPoint | None = None
    right: Right = field(default_factory=dict)
    reply_tokens: int = 0


@dataclass(frozen=True)
class Bench:
    """Everything that steps have in common.

    Attributes:
        rows: labelled utterances; the seed decides their order.
        catalog: reads the replies' frames; None: their accuracy is not measured.
        log: steps that an earlier try measured are taken from it; None: nothing is kept.
    """

    generator: LoadGenerator
    rows: Sequence[Utterance]
    settings: ThroughputSettings
    seed: int
    catalog: TaskCatalog | None = None
    watch: ServerWatch | None = None
    log: PointLog | None = None

    def without_load(self, arm: Arm) -> LoadPoint:
        """One request at a time: the arm's latency at its best, and the accuracy that it has then."""
        rows = choose_texts(self.rows, min(self.settings.unloaded_requests, len(self.rows)), self.seed)
        key = f"{arm.name} unloaded {len(rows)}"
        known = self._known(key)
        if known is None:
            record, scrapes, died = self._run(LoadPlan(self._bodies(arm, rows), concurrency=1))
            point = load_point(
                record,
                arm=arm.name,
                rate=0.0,
                slo=self.settings.slo,
                schedule="concurrency 1",
                scrapes=scrapes,
                server_died=died,
            )
            right = {} if arm.fixed_tokens or self.catalog is None else right_frames(rows, record.samples, self.catalog)
            known = self._keep(LoggedPoint(key=key, point=point, right=right, tokens=mean_tokens(record.samples)))
        arm.unloaded, arm.right, arm.reply_tokens = known.point, known.right, known.tokens
        return known.point

    def at_rate(self, arm: Arm, rate: float) -> LoadPoint:
        """A step at an offered rate; ended early when it is certain that it misses the SLO."""
        seconds = max(self.settings.step_s, self.settings.min_requests / rate)
        drawn = self._draw(rate)
        if self.settings.arrivals == "poisson":
            schedule = poisson_schedule(rate, seconds, drawn)
        else:
            schedule = constant_schedule(rate, seconds)
        return self._step(arm, schedule, rate, self.settings.arrivals, drawn, stop=True)

    def burst(self, arm: Arm, requests: int | None = None) -> LoadPoint:
        """So many requests at once; None: those of the settings."""
        schedule = burst_schedule(self.settings.burst if requests is None else requests)
        return self.on_schedule(arm, schedule, f"burst {len(schedule)}", rate=0.0)

    def on_schedule(
        self, arm: Arm, schedule: Schedule, name: str, *, rate: float, texts: Sequence[Utterance] | None = None
    ) -> LoadPoint:
        """A step on any schedule, to its end: a ramp, a trace, all at once.

        Args:
            rate: mean of the offered rate; 0 where there is none.
            texts: what is sent, one a time of the schedule; None: rows in the seed's order.
        """
        return self._step(arm, schedule, rate, name, self.seed, stop=False, texts=texts)

    def in_steps(self, arm: Arm, rates: Sequence[float], step_s: float) -> tuple[LoadPoint, ...]:
        """One rate after the other without a pause: the whole, then the requests that were due at each rate by themselves.

        What one rate left in the server's queue is part of the next one's latencies, as it is for users.
        """
        schedule = steps_schedule(rates, step_s)
        name = f"steps of {step_s:g} s"
        keys = [f"{arm.name} {name} {place} {rate:.6g}" for place, rate in enumerate((0.0, *rates))]
        known = [item for key in keys if (item := self._known(key)) is not None]
        if len(known) < len(keys):
            rows = choose_texts(self.rows, len(schedule), self.seed)
            record, scrapes, died = self._run(LoadPlan(self._bodies(arm, rows), schedule))
            mean = len(schedule) / (step_s * len(rates))
            known = [self._keep(self._logged(keys[0], arm, rows, record, scrapes, mean, name, died))]
            for place, rate in enumerate(rates):
                part, first = window(record, place * step_s, (place + 1) * step_s)
                mine = rows[first : first + len(part.samples)]
                seen = within(scrapes, record.begin + place * step_s, record.begin + (place + 1) * step_s)
                known.append(self._keep(self._logged(keys[place + 1], arm, mine, part, seen, rate, "constant", died)))
        return tuple(item.point for item in known)

    def closed_loop(self, arm: Arm, concurrency: int, requests: int) -> LoadPoint:
        """So many requests under way at a time; a new one when one ends."""
        rows = choose_texts(self.rows, requests, self.seed)
        key = f"{arm.name} concurrency {concurrency} {requests}"
        known = self._known(key)
        if known is None:
            record, scrapes, died = self._run(LoadPlan(self._bodies(arm, rows), concurrency=concurrency))
            known = self._keep(self._logged(key, arm, rows, record, scrapes, 0.0, f"concurrency {concurrency}", died))
        return known.point

    def _step(
        self,
        arm: Arm,
        schedule: Schedule,
        rate: float,
        name: str,
        draw: int,
        *,
        stop: bool,
        texts: Sequence[Utterance] | None = None,
    ) -> LoadPoint:
        key = f"{arm.name} {name} {rate:.6g} {len(schedule)}"
        known = self._known(key)
        if known is None:
            rows = choose_texts(self.rows, len(schedule), draw) if texts is None else texts
            rule = stop_rule(self.settings.slo, len(schedule)) if stop else None
            record, scrapes, died = self._run(LoadPlan(self._bodies(arm, rows), schedule, stop=rule))
            known = self._keep(self._logged(key, arm, rows, record, scrapes, rate, name, died))
        return known.point

    def _logged(
        self,
        key: str,
        arm: Arm,
        rows: Sequence[Utterance],
        record: StepRecord,
        scrapes: Sequence[Scrape],
        rate: float,
        name: str,
        died: bool,
    ) -> LoggedPoint:
        judge = self.catalog is not None and arm.right and not arm.fixed_tokens
        accuracy = under_load(right_frames(rows, record.samples, self.catalog), arm.right) if judge and self.catalog else None
        point = load_point(
            record,
            arm=arm.name,
            rate=rate,
            slo=self.settings.slo,
            schedule=name,
            accuracy=accuracy,
            scrapes=scrapes,
            server_died=died,
        )
        return LoggedPoint(key=key, point=point)

    def _run(self, plan: LoadPlan) -> tuple[StepRecord, Sequence[Scrape], bool]:
        """The record, what the server said meanwhile, and whether it has died."""
        scrapes: Sequence[Scrape] = ()
        if self.watch is not None:
            self.watch.start()
        try:
            record = self.generator.run(plan)
        finally:
            if self.watch is not None:
                scrapes = self.watch.stop()
        self.generator.drain()
        return record, scrapes, not self.generator.is_alive()

    def _bodies(self, arm: Arm, rows: Sequence[Utterance]) -> tuple[bytes, ...]:
        return tuple(
            request_body(
                arm.models[number % len(arm.models)],
                row.text,
                max_tokens=MAX_TOKENS,
                fixed_tokens=arm.fixed_tokens,
                schema=arm.schema,
            )
            for number, row in enumerate(rows)
        )

    def _draw(self, rate: float) -> int:
        """A seed of its own for each rate: rows that are compared with no load do not all come first."""
        return zlib.crc32(f"{self.seed} {rate:.6g}".encode()) + math.floor(rate)

    def _known(self, key: str) -> LoggedPoint | None:
        return self.log.take(key) if self.log else None

    def _keep(self, item: LoggedPoint) -> LoggedPoint:
        return self.log.add(item) if self.log else item
