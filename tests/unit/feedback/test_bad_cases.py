"""Bad cases: what makes an answer bad, how bad answers cluster, and what becomes of the worst clusters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from kickwheel.feedback.bad_case_rows import bad_case_questions, bad_case_targets, with_targets, write_targets
from kickwheel.feedback.bad_cases import BadAnswer, bad_case_report, cluster, distance
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import EVENT, SqlEventStore
from kickwheel.settings import FeedbackSettings, Settings
from schemas.events import InferenceRecord
from schemas.frame import Frame
from schemas.utterance import Utterance

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SYNC, FETCH = Frame(intent="sync_orders"), Frame(intent="fetch_logs")


def bad(text: str, fingerprint: str = "f", status: int = 200) -> BadAnswer:
    return BadAnswer(text, text, fingerprint, status, 1.0)


def test_nearness_is_of_texts_weighted_by_what_went_wrong() -> None:
    same = distance(bad("把昨天的订单同步"), bad("把今天的订单同步"))
    assert same < distance(bad("把昨天的订单同步"), bad("把今天的订单同步", "g")) < 1
    other_error = distance(bad("把昨天的订单同步"), bad("把今天的订单同步", "g"))
    assert other_error < distance(bad("把昨天的订单同步"), bad("把今天的订单同步", "g", 502))
    assert distance(bad("x y z"), bad("x y z")) == 0


def test_clusters_hold_what_is_alike_the_worst_first() -> None:
    found = cluster(
        [bad("pull the api logs"), bad("sync the EMEA orders"), bad("sync the APAC orders"), bad("sync the LATAM orders")],
        similarity=0.6,
    )
    assert [[member.text for member in item.members] for item in found] == [
        ["sync the EMEA orders", "sync the APAC orders", "sync the LATAM orders"],
        ["pull the api logs"],
    ]


def test_failed_and_refuted_answers_become_questions_and_rows_once(tmp_path: Path) -> None:
    store = SqlEventStore(f"sqlite:///{tmp_path / 'events.sqlite3'}")
    records, events = [], []
    for number in range(3):
        text = f"sync the orders of region {number}"
        records.append(InferenceRecord(inference_id=f"a{number}", user="u", text=text, frame=FETCH, model_version="m", at=NOW))
        facts = {"inference_id": f"a{number}", "at": NOW}
        events.append(EVENT.validate_python({"kind": "slot_edit", "event_id": f"e{number}", "frame": SYNC, **facts}))
    records.append(
        InferenceRecord(
            inference_id="b", user="u", text="完全不同", frame=None, model_version="m", error="malformed", status=502, at=NOW
        )
    )
    records.append(InferenceRecord(inference_id="c", user="u", text="fine", frame=SYNC, model_version="m", at=NOW))
    events.append(EVENT.validate_python({"kind": "thumbs", "event_id": "t", "up": True, "inference_id": "c", "at": NOW}))
    store.add([Submission(tuple(records), tuple(events))])
    report = bad_case_report(store, Settings(feedback=FeedbackSettings(bad_case_share=1.0)), now=NOW)
    assert (report.answers, report.bad, report.all_clusters) == (5, 4, 2)
    assert [item.fingerprint for item in report.clusters] == [
        "POST /v1/understand 200 fetch_logs -> sync_orders",
        "POST /v1/understand 502 malformed",
    ]
    worst = bad_case_report(store, Settings(), now=NOW)
    assert len(worst.clusters) == 1, "the top 5 %, one at least"
    store.close()

    pool = [Utterance(id="pool-7", text="完全不同", language="zh")]
    for _ in range(2):
        assert write_targets(report, tmp_path, "d", pool=pool) == 4
    questions = {item.text: item for item in bad_case_questions(tmp_path, "d")}
    assert len(questions) == 4
    assert questions["完全不同"].id == "pool-7"
    assert questions["sync the orders of region 1"].suggestion == SYNC
    targets = bad_case_targets(tmp_path, "d")
    assert len(targets) == 3
    assert [row.id for row in with_targets(pool, targets)] == [*(row.id for row in targets), "pool-7"]
