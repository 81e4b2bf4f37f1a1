"""The page's server: strangers are refused, what comes is checked, code points arrive as they were sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kickwheel.review.page_adapter import MAX_BODY_BYTES, review_app
from kickwheel.review.queue import DomainReview
from schemas.review import ReviewRow
from tests.unit.review.review_world import ITEMS, ZH, desk, frame, world

HERE = "http://127.0.0.1:8400"
TOKEN = {"x-kickwheel-token": "s3cret"}


def client(review: DomainReview, **headers: str) -> TestClient:
    app = review_app(desk(review), title="Claims <&>", token="s3cret")
    return TestClient(app, base_url=HERE, headers={**TOKEN, **headers})


def label(**changes: object) -> dict[str, object]:
    slots = [{"name": "date", "start": ZH.index("昨天"), "end": ZH.index("昨天") + 2}]
    return {"reviewer": "李雷", "id": ITEMS[1].id, "text": ZH, "intent": "sync_orders", "slots": slots, **changes}


def test_the_page_holds_the_token_and_nothing_unescaped(tmp_path: Path) -> None:
    page = client(world(tmp_path)).get("/")
    assert 'content="s3cret"' in page.text
    assert "Claims &lt;&amp;&gt;" in page.text
    assert "{{" not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["review.js", "text.js", "words.js", "review.css"])
def test_its_files_come_with_it(name: str, tmp_path: Path) -> None:
    file = client(world(tmp_path)).get(f"/static/{name}")
    assert file.status_code == 200
    assert file.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/api/tasks", "/api/next?reviewer=ana", "/api/status", "/api/export"])
def test_without_the_token_nothing_is_told(path: str, tmp_path: Path) -> None:
    page = client(world(tmp_path))
    assert page.get(path).status_code == 200
    for token in ("", "guessed", "schlüssel".encode("latin-1")):
        assert page.get(path, headers={"x-kickwheel-token": token}).status_code == 403  # type: ignore[dict-item]


def test_pages_of_other_origins_cannot_answer(tmp_path: Path) -> None:
    review = world(tmp_path)
    page = client(review)
    assert page.post("/api/answer", json=label(), headers={"origin": "http://evil.example"}).status_code == 403
    assert page.post("/api/answer", json=label(), headers={"origin": "null"}).status_code == 403
    assert page.post("/api/answer", json=label(), headers={"host": "evil.example"}).status_code == 400
    assert page.get("/", headers={"host": "evil.example:8400"}).status_code == 400
    assert review.log.answers() == []
    assert page.post("/api/answer", json=label(), headers={"origin": HERE}).status_code == 200


def test_an_answer_arrives_with_its_code_points(tmp_path: Path) -> None:
    review = world(tmp_path)
    view = client(review).post("/api/answer", json=label()).json()
    assert view["answered"] == 1
    (answer,) = review.log.answers()
    assert (answer.reviewer, answer.frame) == ("李雷", frame(ZH, "sync_orders", date="昨天"))


def test_undo_status_and_export_tell_what_was_answered(tmp_path: Path) -> None:
    page = client(world(tmp_path))
    page.post("/api/answer", json=label())
    lines = page.get("/api/export").text.splitlines()
    rows = [ReviewRow.model_validate_json(line) for line in lines]
    assert [len(row.answers) for row in rows] == [0, 1, *[0] * 8]
    assert page.get("/api/status").json()["settled"] == 1
    assert page.post("/api/undo", json={"reviewer": "李雷"}).json()["row"]["draft"]["slots"][0]["value"] == "昨天"
    assert page.get("/api/status").json() | {"reviewers": []} == {
        "schema_version": "1",
        "domain": "claims",
        "rows": 10,
        "settled": 0,
        "open": 10,
        "skipped": 0,
        "conflicts": 0,
        "reviewers": [],
        "pairs": [],
        "alpha": None,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reviewer": "  "}, "reviewer"),
        ({"reviewer": "a\nb"}, "reviewer"),
        ({"slots": [{"name": "date", "start": 3, "end": 300}]}, "no span of a text"),
        ({"slots": [{"name": "date", "start": 7, "end": 9}, {"name": "region", "start": 8, "end": 10}]}, "overlap"),
        ({"slots": [{"name": "service", "start": 7, "end": 9}]}, "has no slot 'service'"),
        ({"intent": "dance"}, "none of the domain's intents"),
        ({"text": "another", "slots": []}, "reload the page"),
        ({"decision": "withdrawn", "intent": None}, "reload the page"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_does_not_hold_is_refused_in_words(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    review = world(tmp_path)
    reply = client(review).post("/api/answer", json=label(**changes))
    assert reply.status_code == 422
    assert message in reply.json()["error"]
    assert review.log.answers() == []


def test_a_body_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    reply = client(world(tmp_path)).post("/api/answer", content=b" " * (MAX_BODY_BYTES + 1))
    assert reply.status_code == 413


def test_only_get_reads_and_only_post_writes(tmp_path: Path) -> None:
    page = client(world(tmp_path))
    assert page.get("/api/answer").status_code == 405
    assert page.post("/api/next", json={}).status_code == 405
