"""A flow that waits for people: paused by hand, suspended in a deployment, asked again, timed out, resumed twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow

from kickwheel.cli.launcher import resume_review, wait_for_review
from kickwheel.errors import InputError
from kickwheel.review.answering import answer_to
from kickwheel.review.queue import DomainReview
from kickwheel.workspace import open_lap, read_jsonl
from schemas.frame import Frame
from schemas.seeding import SeedSet
from schemas.utterance import Utterance
from tests.unit.review.review_world import ITEMS, NOON, ask, said, world

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DomainReview:
    """One open row; the lap has no documents read, so that nothing is seeded when the wait is over."""
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KICKWHEEL_REVIEW__WAIT_HOURS", "0.02")
    made = world(tmp_path, [])
    (open_lap(made.home, "claims").folder / "intent" / "result.json").unlink()
    ask(open_lap(made.home, "claims"), ITEMS[:1])
    return made


def settle(review: DomainReview) -> None:
    with review.log.writing():
        review.log.append([said(ITEMS[0], "ana", Frame(intent="out_of_scope"))])


def paused_runs() -> list[FlowRun]:
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=["review"])))
    return [run for run in runs if run.state and run.state.is_paused()]


def until(ready: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while not (found := ready()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def question_of(run: UUID) -> str:
    """Key of the question that a run waits for; empty: it does not wait."""
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(run).state
    return state.state_details.pause_key or "" if state and state.is_paused() else ""


def test_where_nothing_waits_nobody_is_waited_for(review: DomainReview) -> None:
    settle(review)
    assert wait_for_review(str(review.domain.folder), 0).state == "Completed"


def test_a_run_by_hand_is_paused_asks_again_and_goes_on_when_the_review_is_done(review: DomainReview) -> None:
    """PrefectHQ/prefect 12279: an answer that does not hold is asked for again, by the next of the stable keys (18326)."""
    ended: list[Any] = []
    flow = threading.Thread(target=lambda: ended.append(wait_for_review(str(review.domain.folder), 0)))
    flow.start()
    (run,) = until(paused_runs)
    assert question_of(run.id) == "review-claims-1-1"
    with pytest.raises(InputError, match="reviewer"):
        resume_review(run.name, "", take_open=False)  # refused by the server: it goes on waiting
    resume_review(run.name, "   ", take_open=False)  # refused by the form's own rule
    until(lambda: question_of(run.id) == "review-claims-1-2")
    resume_review(str(run.id), "ana", take_open=False)  # refused, since a row is open
    until(lambda: question_of(run.id) == "review-claims-1-3")
    settle(review)
    assert "goes on" in resume_review(str(run.id), "ana", take_open=False)
    flow.join(60)
    assert [item.state for item in ended] == ["Completed"]
    assert "does not wait" in resume_review(str(run.id), "ana", take_open=False)


def test_open_rows_may_stay_open_if_somebody_says_so(review: DomainReview) -> None:
    ended: list[Any] = []
    flow = threading.Thread(target=lambda: ended.append(wait_for_review(str(review.domain.folder), 0)))
    flow.start()
    (run,) = until(paused_runs)
    resume_review(str(run.id), "ana", take_open=True)
    flow.join(60)
    assert [item.state for item in ended] == ["Completed"]


def test_where_nobody_comes_the_run_says_so_and_the_queue_is_as_it_was(
    review: DomainReview, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PrefectHQ/prefect 11414, 11466."""
    monkeypatch.setenv("KICKWHEEL_REVIEW__WAIT_HOURS", "0.0005")
    before = review.standings()
    ended = wait_for_review(str(review.domain.folder), 0)
    assert ended.state == "Failed"
    assert ended.message == "The flow was waiting for review and never resumed."
    assert review.standings() == before
    assert paused_runs() == []
    assert "does not wait" in resume_review(ended.id, "ana", take_open=True)


def test_a_run_of_a_deployment_is_suspended_and_starts_from_the_top(review: DomainReview) -> None:
    """PrefectHQ/prefect 18326: it does not ask the same question for ever."""
    from flows.review import review as flow

    def start(run: FlowRun) -> State[Any]:
        """What a worker does with a run: its process ends where the run is suspended."""
        try:
            return run_flow(flow, flow_run=run, return_type="state")  # type: ignore[return-value]
        except Pause as suspended:
            return suspended.state

    def again(run: UUID) -> FlowRun:
        with get_client(sync_client=True) as client:
            return client.read_flow_run(run)

    with get_client(sync_client=True) as client:
        deployment = client.create_deployment(client.create_flow(flow), "test")
        parameters = {"domain": str(review.domain.folder), "lap": 1}
        run = client.create_flow_run_from_deployment(deployment, parameters=parameters)
    state = start(run)
    assert (state.name, state.is_paused()) == ("Suspended", True)
    resume_review(str(run.id), "ana", take_open=False)  # a row is open: asked again
    assert "does not wait" in resume_review(str(run.id), "ana", take_open=False)
    assert start(again(run.id)).name == "Suspended"
    assert question_of(run.id) == "review-claims-1-2"
    resume_review(str(run.id), "ana", take_open=True)
    assert start(again(run.id)).is_completed()


def test_there_is_no_such_flow_run(review: DomainReview) -> None:
    with pytest.raises(InputError, match="no flow run 'nobody'"):
        resume_review("nobody", "ana", take_open=False)


def test_what_people_answer_becomes_labelled_rows_of_the_same_lap(
    small_domain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.intent import intent
    from flows.review import review as flow
    from flows.seeding import seeding
    from kickwheel.domain import load_domain

    home = tmp_path / "home"
    for name, value in {"HOME": str(home), "SERVER__COMMAND": "no-such-vllm", "SEEDING__PER_ROUND": "2"}.items():
        monkeypatch.setenv(f"KICKWHEEL_{name}", value)
    intent(str(small_domain), 1)
    first = seeding(str(small_domain), 1)
    review = DomainReview(load_domain(small_domain), home)
    rows = review.rows()
    assert len(rows) == first.review_queue.rows > 0
    out = Frame(intent="out_of_scope")
    with review.log.writing():
        review.log.append([answer_to(row.item, review.catalog, reviewer="ana", at=NOON, via="page", frame=out) for row in rows])
    flow(str(small_domain), 1)
    again = open_lap(home, "claims", 1).load("seeding", SeedSet)
    assert again.labels_by_source["reviewer"] == len(rows)
    assert again.reviewer == "people"
    train = {row.id: row for row in read_jsonl(Path(again.train.path), Utterance)}
    assert {train[row.item.id].frame for row in rows} == {out}
