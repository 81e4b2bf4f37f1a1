"""Progress of long work: lines in the log with the time left, and a Prefect progress artifact."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.context import TaskRunContext
from prefect.logging import get_run_logger

from kickwheel.time_left import TimeLeft

EVERY_S = 5.0


def progress_of(what: str) -> Callable[[int, int], None]:
    """A callback (done, total) that reports ``what`` with an estimate of the time left, at most every five seconds."""
    logger = get_run_logger()
    in_task = TaskRunContext.get() is not None
    artifact = create_progress_artifact(0.0, description=what) if in_task else None
    last = time.monotonic()
    pace = TimeLeft()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        left = pace.estimate(done, total, now)
        if now - last < EVERY_S and done < total:
            return
        last = now
        share = done / total if total else 1.0
        told = "time left not known yet" if left is None else f"about {left:.0f} s left"
        logger.info("%s: %d of %d (%.0f %%), %s", what, done, total, 100 * share, told)
        if artifact is not None:
            with suppress(Exception):  # a picture of the progress must never end the work
                update_progress_artifact(artifact, progress=100 * share)  # type: ignore[arg-type]

    return report
