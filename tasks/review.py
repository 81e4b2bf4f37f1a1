"""Waiting for people: what a flow run shows, asks and takes for an answer."""

from __future__ import annotations

import itertools

from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Failed
from pydantic import Field, ValidationError

from kickwheel.review.queue import DomainReview
from kickwheel.review.standing import status_of
from schemas.review import ReviewerName, ReviewStatus
from tasks.wiring import Place


class ReviewDone(RunInput):
    """What lets the flow go on."""

    reviewer: ReviewerName = Field(description="Who says that the review is done")
    take_open: bool = Field(default=False, description="Go on although rows are still open or in conflict")


def review_status(place: Place) -> ReviewStatus:
    """Where the domain's review stands."""
    return status_of(place.domain.name, DomainReview(place.domain, place.settings.home).standings())


def wait_for_people(place: Place) -> ReviewDone | None:
    """Wait until somebody says that the review is done and it is; None: nobody did in time.

    A run of a deployment is suspended: its process ends, and it starts from the top when it is resumed. A run started by
    hand is paused. Each question has a key of its own, the same in each start, so that a question which was answered is
    not asked again (PrefectHQ/prefect 18326); an answer that does not hold is followed by the next question (12279).
    """
    problem = ""
    for number in itertools.count(1):
        status = review_status(place)
        if not status.open and not status.conflicts:
            return ReviewDone(reviewer="nobody had to")
        told = question(place, status, problem)
        key = f"review-{place.domain.name.replace('_', '-')}"
        create_markdown_artifact(told, key=key, description="Rows that wait for people")
        try:
            done = _ask(place, f"{key}-{place.lap.number}-{number}", told)
        except FlowPauseTimeout:
            return None
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
        else:
            status = review_status(place)
            waiting = status.open + len(status.conflicts)
            if done.take_open or not waiting:
                get_run_logger().info("review: %s says that it is done, %d rows are left", done.reviewer, waiting)
                return done
            problem = f"{waiting} rows are still open or in conflict: answer them, or tick take_open"
        get_run_logger().warning("review: asked again: %s", problem)
    raise AssertionError("itertools.count ends")


def question(place: Place, status: ReviewStatus, problem: str) -> str:
    """What the run form and the artifact say, in Markdown."""
    lines = [f"**Not yet: {problem}.**", ""] if problem else []
    lines += [
        f"**{status.open + len(status.conflicts)}** of {status.rows} rows wait for people in `{status.domain}` "
        f"({len(status.conflicts)} in conflict).",
        "",
        f"- On the page: `kickwheel review {place.domain.folder}`",
        f"- In a file: `kickwheel review export {place.domain.folder} rows.jsonl`, then `kickwheel review import`",
        "",
        "Then resume this run, here or with `kickwheel review resume`.",
    ]
    return "\n".join(lines)


def unreviewed(place: Place) -> State[None]:
    """The run's last state where nobody came: the queue and all answers are as they were.

    The server fails a run whose pause is over, whatever state is proposed for it, and words the message by the proposal's
    name: "The flow was waiting for review and never resumed."
    """
    status = review_status(place)
    get_run_logger().warning(
        "review: nobody said within %g hours that it is done; %d rows wait, every answer is kept: start the flow again",
        place.settings.review.wait_hours,
        status.open + len(status.conflicts),
    )
    return Failed(name="Waiting for review", message="nobody came")


def _ask(place: Place, key: str, told: str) -> ReviewDone:
    form = ReviewDone.with_initial_data(description=told, take_open=False)
    seconds = max(1, round(place.settings.review.wait_hours * 3600))
    if deployment.id:
        return suspend_flow_run(wait_for_input=form, timeout=seconds, key=key)
    return pause_flow_run(wait_for_input=form, timeout=seconds, poll_interval=min(10, max(1, seconds // 20)), key=key)
