"""fetch: paging, tries again where that helps, whole files, against a real local HTTP server."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from kickwheel.errors import ExecutionFailed, KickwheelError, RateLimited, RequestRefused, ServiceUnavailable, TaskRefused
from kickwheel.execution.fetch import FetchExecutor
from kickwheel.execution.ports import Surroundings
from tests.unit.execution.execution_world import binding, everything_below, task

Around = Callable[..., Surroundings]
Reply = tuple[int, dict[str, str], Any]
TASK = task("fetch", "fetch_api_logs", "api_logs")


@dataclass
class Service:
    """Answers what ``answer`` makes of path, query and the number of the request; keeps what it was asked."""

    url: str = ""
    answer: Callable[[str, dict[str, str], int], Reply] = lambda path, query, number: (200, {}, [])
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            found.asked.append((parts.path, query, dict(self.headers)))
            status, headers, body = found.answer(parts.path, query, len(found.asked))
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def bound_to(more: str = "") -> Any:
    return binding(f"  source: {{http: {{url: '${{API}}/logs'{more}}}}}\n  output: {{file: '${{home}}/logs.jsonl'}}")


def fetch(service: Service, around: Around, more: str = "", waits: list[float] | None = None, **environment: str) -> Any:
    bound = bound_to(more)
    return FetchExecutor().run(TASK, bound, around(bound, {"API": service.url, **environment}, waits))


def lines(home: Path) -> list[Any]:
    return [json.loads(line) for line in (home / "logs.jsonl").read_text(encoding="utf-8").splitlines()]


def test_one_request_without_paging(service: Service, around: Around, home: Path) -> None:
    service.answer = lambda path, query, number: (200, {}, {"data": {"items": [{"text": "日志"}, {"text": "b"}]}})
    result = fetch(service, around, ", records: data.items, params: {since: yesterday}")
    assert lines(home) == [{"text": "日志"}, {"text": "b"}]
    assert (result.rows_written, result.outputs[0].file.rows) == (2, 2)
    assert [(path, query) for path, query, _ in service.asked] == [("/logs", {"since": "yesterday"})]


def test_pages_are_counted_up_to_the_first_empty_one(service: Service, around: Around, home: Path) -> None:
    service.answer = lambda path, query, number: (200, {}, [{"page": query["p"]}] if int(query["p"]) <= 3 else [])
    result = fetch(service, around, ", params: {size: 1}, paging: {by: page, parameter: p, max_pages: 3}")
    assert lines(home) == [{"page": "1"}, {"page": "2"}, {"page": "3"}]
    assert result.notes == ("3 pages",)
    assert all(query["size"] == "1" for _, query, _ in service.asked)


def test_cursors_are_followed_to_the_reply_that_names_none(service: Service, around: Around, home: Path) -> None:
    following = {None: "a", "a": "b", "b": None}
    service.answer = lambda path, query, number: (
        200, {}, {"items": [{"at": query.get("cursor")}], "meta": {"next": following[query.get("cursor")]}},
    )  # fmt: skip
    fetch(service, around, ", records: items, paging: {by: cursor, next: meta.next}")
    assert lines(home) == [{"at": None}, {"at": "a"}, {"at": "b"}]


def test_links_are_followed_with_their_own_query(service: Service, around: Around, home: Path) -> None:
    def answer(path: str, query: dict[str, str], number: int) -> Reply:
        headers = {"Link": f'</logs?after={number}>; rel="next", </logs>; rel="first"'} if number < 3 else {}
        return 200, headers, [{"after": query.get("after"), "size": query.get("size")}]

    service.answer = answer
    fetch(service, around, ", params: {size: 9}, paging: {by: link}")
    assert lines(home) == [{"after": None, "size": "9"}, {"after": "1", "size": None}, {"after": "2", "size": None}]


def test_credentials_do_not_follow_a_link_or_a_redirect_to_another_host(service: Service, around: Around) -> None:
    headers = ", headers: {Authorization: 'Bearer ${TOKEN}'}"
    service.answer = lambda path, query, number: (200, {"Link": '<http://elsewhere.example/x>; rel="next"'}, [{"a": 1}])
    with pytest.raises(ExecutionFailed, match=r"another host, elsewhere\.example"):
        fetch(service, around, headers + ", paging: {by: link}", TOKEN="s3cret")
    service.answer = lambda path, query, number: (302, {"Location": "http://elsewhere.example/x"}, "")
    with pytest.raises(RequestRefused, match=r"redirects to elsewhere\.example"):
        fetch(service, around, headers, TOKEN="s3cret")
    assert {sent["Authorization"] for _, _, sent in service.asked} == {"Bearer s3cret"}


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (503, {}, [1.0, 2.0]),
        (500, {"Retry-After": "7"}, [7.0, 7.0]),
        (429, {"Retry-After": "30"}, [30.0, 30.0]),
        (429, {"Retry-After": "Mon, 02 Nov 2026 09:00:40 GMT"}, [40.0, 40.0]),
        (429, {}, [1.0, 2.0]),
        (408, {}, [1.0, 2.0]),
    ],
)
def test_what_may_help_is_tried_again_after_the_wait_that_is_asked_for(
    service: Service, around: Around, home: Path, status: int, headers: dict[str, str], waits: list[float]
) -> None:
    service.answer = lambda path, query, number: (200, {}, [{"ok": 1}]) if number == 3 else (status, headers, "busy")
    waited: list[float] = []
    fetch(service, around, waits=waited)
    assert waited == waits
    assert lines(home) == [{"ok": 1}]


@pytest.mark.parametrize(
    ("status", "headers", "kind", "requests"),
    [
        (404, {}, RequestRefused, 1),
        (401, {}, RequestRefused, 1),
        (429, {"Retry-After": "86400"}, RateLimited, 1),
        (503, {}, ServiceUnavailable, 3),
    ],
)
def test_what_does_not_help_is_not_tried_and_the_old_file_stays(
    service: Service,
    around: Around,
    home: Path,
    status: int,
    headers: dict[str, str],
    kind: type[KickwheelError],
    requests: int,
) -> None:
    home.mkdir(parents=True)
    (home / "logs.jsonl").write_text('{"old": 1}\n', encoding="utf-8")
    service.answer = lambda path, query, number: (200, {}, [{"new": 1}]) if query["page"] == "1" else (status, headers, "no")
    with pytest.raises(kind, match=f"answered {status}"):
        fetch(service, around, ", attempts: 3, paging: {by: page}")
    assert len(service.asked) == 1 + requests
    assert lines(home) == [{"old": 1}]
    assert [path.name for path in home.iterdir()] == ["logs.jsonl"]


@pytest.mark.parametrize(
    ("paging", "answer", "told"),
    [
        ("{by: page}", lambda path, query, number: (200, {}, [{"same": 1}]), "is the page before again"),
        ("{by: page, max_pages: 2}", lambda path, query, number: (200, {}, [{"n": number}]), "more than 2 pages"),
        (
            "{by: cursor, next: next, max_pages: 2}",
            lambda path, query, number: (200, {}, {"next": number}),
            "more than 2 pages",
        ),
        ("{by: cursor, next: next}", lambda path, query, number: (200, {}, {"next": "x"}), "fetched already"),
    ],
)
def test_pages_that_do_not_end_are_an_error_not_a_shorter_file(
    service: Service, around: Around, home: Path, paging: str, answer: Callable[..., Reply], told: str
) -> None:
    def with_items(path: str, query: dict[str, str], number: int) -> Reply:
        status, headers, body = answer(path, query, number)
        return status, headers, body if isinstance(body, list) else {**body, "items": [{}]}

    service.answer = with_items
    records = ", records: items" if "cursor" in paging else ""
    with pytest.raises(ExecutionFailed, match=told):
        fetch(service, around, f"{records}, paging: {paging}")
    assert not (home / "logs.jsonl").exists()


@pytest.mark.parametrize("body", ["<html>", {"items": []}, [1, 2], {"data": {"items": {}}}])
def test_an_answer_that_is_no_list_of_objects_is_told(service: Service, around: Around, body: Any) -> None:
    service.answer = lambda path, query, number: (200, {}, body)
    with pytest.raises(ExecutionFailed, match=r"no JSON|to be a list of objects"):
        fetch(service, around)


def test_a_service_that_is_down_is_unavailable(around: Around) -> None:
    bound, waits = bound_to(", attempts: 2"), []
    with pytest.raises(ServiceUnavailable, match=r"GET \$\{API\}/logs: cannot be reached"):
        FetchExecutor().run(TASK, bound, around(bound, {"API": "http://127.0.0.1:9"}, waits))
    assert waits == [1.0]


def test_no_secret_is_in_an_error_or_a_log(service: Service, around: Around, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service.answer = lambda path, query, number: (403, {}, f"token {query['token']} of {path} is not allowed")
    with pytest.raises(RequestRefused) as caught:
        fetch(service, around, ", params: {token: '${TOKEN}'}", TOKEN="s3cret/+")
    assert "token ${TOKEN} of /logs is not allowed" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "token=${TOKEN}" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_dry_run_asks_the_service_nothing_and_writes_nothing(service: Service, around: Around, tmp_path: Path) -> None:
    before = everything_below(tmp_path)
    bound = bound_to(", paging: {by: link}")
    plan = FetchExecutor().plan(TASK, bound, around(bound, {"API": service.url}))
    assert plan.steps[0].startswith("GET ${API}/logs page by page (link, at most 1000)")
    assert (plan.rows, service.asked, everything_below(tmp_path)) == (None, [], before)
    with pytest.raises(TaskRefused, match="environment variable API is not set"):
        FetchExecutor().plan(TASK, bound, around(bound))
