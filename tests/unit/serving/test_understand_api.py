"""The API as callers see it: who may ask, what is refused and how, what is answered, and what is written down about it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from kickwheel.errors import AnswerTimeout, RequestRefused, ServiceUnavailable, StageFailed
from schemas.frame import Frame, Prediction
from schemas.understanding import Problem
from tests.unit.serving.serving_world import ADMIN, FEEDBACK, HERE, NOW, TEXT, TOKENS, UNDERSTAND, Scripted, world
from tests.unit.serving.test_fleet import calibration_folder


def ask(text: str = TEXT, **more: object) -> dict[str, object]:
    return {"text": text, **more}


def test_slots_are_code_points_of_the_text_as_it_was_sent(tmp_path: Path) -> None:
    with world(tmp_path).client() as api:
        reply = api.post("/v1/understand", json=ask()).json()
    assert reply["frame"]["intent"] == "sync_orders"
    assert [TEXT[slot["start"] : slot["end"]] for slot in reply["frame"]["slots"]] == ["昨天", "２号仓"]
    assert (reply["model_version"], reply["arm"], reply["propensity"]) == ("old", "champion", 1.0)
    assert (reply["confidence"], reply["calibrated"], reply["low_confidence"]) == (0.75, False, False)
    assert reply["note"] == "Understood as sync_orders."


def test_every_answer_is_written_down_with_what_was_shown(tmp_path: Path) -> None:
    made = world(tmp_path)
    with made.client() as api:
        reply = api.post("/v1/understand", json=ask(user="李雷", session="s1", position=3)).json()
    (record,) = made.written.records
    assert record.inference_id == reply["inference_id"]
    assert (record.user, record.session, record.position, record.text, record.at) == ("李雷", "s1", 3, TEXT, NOW)
    assert record.frame is not None
    assert record.frame.model_dump(mode="json") == reply["frame"]


@pytest.mark.parametrize(
    ("prediction", "out_of_scope", "low", "said"),
    [
        (Prediction(frame=Frame(intent="out_of_scope"), confidence=0.9), True, False, "none of the domain's tasks"),
        (Prediction(frame=Frame(intent="sync_orders"), confidence=0.2), False, True, "not sure: confidence 0.20 is below 0.50"),
        (Prediction(frame=Frame(intent="out_of_scope"), confidence=0.3), True, True, "Ask the user"),
        (Prediction(frame=Frame(intent="sync_orders")), False, None, "is not known"),
        (Prediction(error="malformed", raw="{", confidence=0.9), False, None, "no frame (malformed)"),
    ],
)
def test_what_is_unsure_or_out_of_scope_is_said_plainly(
    tmp_path: Path, prediction: Prediction, out_of_scope: bool, low: bool | None, said: str
) -> None:
    with world(tmp_path, {"old": Scripted(lambda _text: prediction)}).client() as api:
        reply = api.post("/v1/understand", json=ask()).json()
    assert (reply["out_of_scope"], reply["low_confidence"]) == (out_of_scope, low)
    assert said in reply["note"]


def test_a_token_is_needed_and_its_scope(tmp_path: Path) -> None:
    made = world(tmp_path, tokens=TOKENS)
    with made.client() as api:
        for header in ({}, {"authorization": "Bearer guessed"}, {"authorization": f"Basic {UNDERSTAND}"}):
            refused = api.post("/v1/understand", json=ask(), headers=header)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
    for token in (FEEDBACK, ADMIN):
        with made.client(token) as api:
            refused = api.post("/v1/understand", json=ask())
            assert refused.status_code == 403
            assert 'scope="understand"' in refused.headers["www-authenticate"]
            assert "understand" in Problem.model_validate(refused.json()).detail
    with made.client(UNDERSTAND) as api:
        assert api.post("/v1/understand", json=ask()).status_code == 200
        assert [api.get(path).status_code for path in ("/metrics", "/v1/versions")] == [403, 403]
    with made.client(ADMIN) as api:
        assert [api.get(path).status_code for path in ("/metrics", "/v1/versions")] == [200, 200]


def test_without_tokens_only_names_of_this_machine_are_answered(tmp_path: Path) -> None:
    with world(tmp_path).client() as api:
        assert api.post("/v1/understand", json=ask(), headers={"host": "evil.example"}).status_code == 400
        assert api.post("/v1/understand", json=ask(), headers={"host": "localhost:1"}).status_code == 200
        # A page of another origin can send a form without asking first, but no JSON.
        posted = api.post("/v1/understand", content=json.dumps(ask()), headers={"content-type": "text/plain"})
        assert posted.status_code == 422


def test_ten_megabytes_are_refused_whether_their_size_is_told_or_not(tmp_path: Path) -> None:
    made = world(tmp_path)
    body = json.dumps(ask("长" * 3_500_000)).encode()
    assert len(body) > 10_000_000
    with made.client() as api:
        told = api.post("/v1/understand", content=body, headers={"content-type": "application/json"})
        parts = (body[start : start + 100_000] for start in range(0, len(body), 100_000))
        untold = api.post("/v1/understand", content=parts, headers={"content-type": "application/json"})
        for refused in (told, untold):
            assert refused.status_code == 413
            assert Problem.model_validate(refused.json()).request_id == refused.headers["x-request-id"]
        assert api.post("/v1/understand", json=ask()).status_code == 200
    assert made.figure("kickwheel_requests_total", path="other", method="POST", status="413") >= 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (ask("x" * 2001), "text"),
        (ask(""), "text"),
        (ask("a\x00b"), "text"),
        (ask("x", user="a\nb"), "user"),
        (ask("x", position=0), "position"),
        (ask("x", model="other"), "model"),
        ([], "body"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, body: object, field: str) -> None:
    made = world(tmp_path)
    with made.client() as api:
        refused = api.post("/v1/understand", json=body)
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        (error,) = Problem.model_validate(refused.json()).errors
        assert field in error
    assert made.written.records == []


@pytest.mark.parametrize("content", [b"{", b'{"text": "\\ud800"}', b"\xff\xfe", b'{"text": NaN}', b"[" * 5_000])
def test_what_is_no_json_is_refused_and_not_repeated(tmp_path: Path, content: bytes) -> None:
    with world(tmp_path).client() as api:
        refused = api.post("/v1/understand", content=content, headers={"content-type": "application/json"})
    assert refused.status_code in (400, 422)
    assert Problem.model_validate(refused.json()).status == refused.status_code


def test_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    made = world(tmp_path, tokens=TOKENS, calls_per_second=0.5)
    with made.client(UNDERSTAND) as api:
        assert api.post("/v1/understand", json=ask()).status_code == 200
        refused = api.post("/v1/understand", json=ask())
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "2"
    with made.client(ADMIN) as api:  # another token's calls are its own
        assert api.get("/v1/versions").status_code == 200


def test_a_request_s_id_is_kept_or_made_and_logged_without_the_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with world(tmp_path).client() as api, caplog.at_level(logging.INFO, "kickwheel"):
        kept = api.post("/v1/understand", json=ask(), headers={"x-request-id": "req-17"})
        made = api.post("/v1/understand", json=ask(), headers={"x-request-id": "evil\tline"})
    assert kept.headers["x-request-id"] == "req-17"
    assert made.headers["x-request-id"] not in ("", "evil\tline")
    lines = [json.loads(record.message) for record in caplog.records if record.name == "kickwheel.serving.access"]
    assert [line["request_id"] for line in lines] == ["req-17", made.headers["x-request-id"]]
    assert lines[0]["status"] == 200
    assert TEXT not in caplog.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ServiceUnavailable("model 'x' at http://10.0.0.7/v1 cannot be reached"), 503),
        (AnswerTimeout("too late"), 504),
        (RequestRefused("no"), 502),
        (ZeroDivisionError("inside"), 503),
    ],
)
def test_a_version_that_fails_is_a_typed_error_without_its_insides(tmp_path: Path, error: Exception, status: int) -> None:
    student = Scripted()
    made = world(tmp_path, {"old": student})
    with made.client() as api:
        student.answer = lambda _text: error
        refused = api.post("/v1/understand", json=ask())
    assert refused.status_code == status
    assert "10.0.0.7" not in refused.text
    assert ("retry-after" in refused.headers) == (status == 503)
    (record,) = made.written.records  # what failed is on record too
    assert (record.status, record.frame) == (status, None)


def test_the_probe_answers_in_its_place_and_says_so(tmp_path: Path) -> None:
    student = Scripted()
    made = world(tmp_path, {"old": student}, fallback=Scripted(), cache_size=10)
    with made.client() as api:
        student.answer = lambda _text: ServiceUnavailable("down")
        reply = api.post("/v1/understand", json=ask()).json()
        assert (reply["degraded"], reply["model_version"], reply["calibrated"]) == (True, "orders-probe", False)
        assert "did not" in reply["note"]
        student.answer = Scripted.answer
        assert api.post("/v1/understand", json=ask()).json()["degraded"] is False  # a makeshift answer is not kept
    assert [record.model_version for record in made.written.records] == ["orders-probe", "old"]


def test_another_spelling_is_answered_from_memory_with_its_own_code_points(tmp_path: Path) -> None:
    student = Scripted()
    made = world(tmp_path, {"old": student}, cache_size=10)
    other = "👩‍👩‍👧 把 昨天 的订单，同步到2号仓 🚚"
    with made.client() as api:
        first = api.post("/v1/understand", json=ask()).json()
        second = api.post("/v1/understand", json=ask(other)).json()
    assert (first["cached"], second["cached"]) == (False, True)
    assert [other[slot["start"] : slot["end"]] for slot in second["frame"]["slots"]] == ["昨天", "2号仓"]
    assert first["inference_id"] != second["inference_id"]
    assert len(student.questions) == 1
    assert made.figure("kickwheel_cache_lookups_total", result="hit") == 1
    assert len(made.written.records) == 2


def test_confidence_is_calibrated_where_a_calibration_lies_beside_the_artifact(tmp_path: Path) -> None:
    from tests.unit.serving.serving_world import routing, version

    made = world(tmp_path)
    calibrated = version("old", folder=str(calibration_folder(tmp_path, bias=-2.0, threshold=0.4)))
    made.put(routing(2).model_copy(update={"champion": calibrated}))
    with made.client() as api:
        reply = api.post("/v1/understand", json=ask()).json()
    assert reply["calibrated"] is True
    assert reply["confidence"] == pytest.approx(1 / (1 + 2.718281828**2 / 3))  # odds of 3 times e^-2
    assert reply["low_confidence"] is True


def test_metrics_count_paths_first_bytes_and_failures_downstream(tmp_path: Path) -> None:
    student = Scripted()
    made = world(tmp_path, {"old": student})
    with made.client() as api:
        api.post("/v1/understand", json=ask())
        student.answer = lambda _text: StageFailed("inside")
        assert api.post("/v1/understand", json=ask()).status_code == 500
        api.get("/nowhere/42")
        text = api.get("/metrics").text
    counted = {"path": "/v1/understand", "method": "POST"}
    assert made.figure("kickwheel_requests_total", status="200", **counted) == 1
    assert made.figure("kickwheel_requests_total", status="500", **counted) == 1
    assert made.figure("kickwheel_requests_total", path="other", method="GET", status="404") == 1
    assert made.figure("kickwheel_first_byte_seconds_count", path="/v1/understand") == 2
    for edge in ("0.05", "0.5", "0.95", "+Inf"):
        assert f'kickwheel_request_seconds_bucket{{le="{edge}",path="/v1/understand"}}' in text


def test_the_description_is_served_and_names_tokens_and_problems(tmp_path: Path) -> None:
    with world(tmp_path, tokens=TOKENS).client() as api:
        described = api.get("/openapi.json").json()
        assert api.get("/docs").status_code == 200
    post = described["paths"]["/v1/understand"]["post"]
    assert post["security"] == [{"token": ["understand"]}] or post["security"] == [{"token": []}]
    assert {"401", "403", "413", "422", "429", "503"} <= set(post["responses"])
    assert "application/problem+json" in post["responses"]["422"]["content"]


def test_wrong_paths_and_methods_are_problems_too(tmp_path: Path) -> None:
    with world(tmp_path).client() as api:
        assert Problem.model_validate(api.get("/nowhere").json()).status == 404
        refused = api.get("/v1/understand")
        assert refused.status_code == 405
        assert refused.headers["allow"] == "POST"
        assert api.get(f"{HERE}/healthz").json()["status"] == "alive"
