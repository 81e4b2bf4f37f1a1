"""New weights in service: an adapter onto a running server; a second server, the switch, and the end of the first."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from kickwheel.errors import RequestRefused, ServerFailed, ServiceUnavailable
from kickwheel.inference.server_load import requests_left
from kickwheel.inference.switch_adapter import (
    ServerSwitch,
    drain,
    load_adapter_on_running,
    start_second_server,
    unload_adapter_on_running,
)
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.settings import ServerSettings
from kickwheel.testing.model_server import FakeModelServer
from schemas.serving import Routing, ServedVersion

NOW = Routing(revision=3, champion=ServedVersion(name="old", kind="vllm", url="http://127.0.0.1:1/v1", model="old"))
NEW = ServedVersion(name="new", kind="vllm", url="http://unknown/v1", model="unknown", registry_version="7")


def adapter(folder: Path, *modules: str) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"r": 8, "target_modules": list(modules or ("q_proj",))}))
    return folder


class Second:
    url, base_name = "http://127.0.0.1:2/v1", "new-merged"

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_an_adapter_is_loaded_beside_what_is_served_and_answers_when_the_call_returns(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "a")
    with FakeModelServer() as server:
        assert load_adapter_on_running(server.url, "next", folder) > 0
        assert server.adapters == {"next": str(folder)}
        assert server.chats[-1].body["model"] == "next"
        unload_adapter_on_running(server.url, "next")
        unload_adapter_on_running(server.url, "next")
        assert server.adapters == {}


def test_an_adapter_that_would_be_applied_in_part_is_refused_before_the_server_is_asked(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "a", "q_proj", "gate_proj")
    with FakeModelServer() as server:
        with pytest.raises(RequestRefused, match="gate_proj"):
            load_adapter_on_running(server.url, "next", folder, modules=("q_proj", "v_proj"))
        assert server.requests == []


def test_a_server_that_is_not_there_is_said_to_be_unavailable(tmp_path: Path) -> None:
    with FakeModelServer() as server:
        url = server.url
    with pytest.raises(ServiceUnavailable):
        load_adapter_on_running(url, "next", adapter(tmp_path / "a"))


def test_draining_waits_for_the_last_request() -> None:
    with FakeModelServer(ttft_s=0.8) as server:
        endpoint = VllmEndpoint(server.url)
        asked = threading.Thread(target=endpoint.first_token, args=("base",))
        asked.start()
        while not server.chats:
            pass
        assert drain(server.url, settle_s=0.0, limit_s=20.0)
        assert server.chats[0].finished is not None
        asked.join()
        endpoint.close()


def test_draining_gives_up_after_its_limit_and_says_so() -> None:
    with FakeModelServer(ttft_s=3.0) as server:
        endpoint = VllmEndpoint(server.url)
        asked = threading.Thread(target=endpoint.first_token, args=("base",))
        asked.start()
        while not server.chats:
            pass
        assert not drain(server.url, settle_s=0.0, limit_s=0.5)
        asked.join()
        endpoint.close()


def test_a_server_that_is_gone_has_nothing_left_to_do() -> None:
    with FakeModelServer() as server:
        url = server.url
    assert drain(url, settle_s=0.0)


def test_requests_are_counted_over_engines_and_not_twice() -> None:
    page = (
        '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="a b"} 2.0\n'
        'vllm:num_requests_running{engine="1"} 1.0\nvllm:num_requests_waiting{engine="0"} 4.0\n'
        'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 4.0\n'
    )
    assert requests_left(page) == 7
    assert requests_left("other 1.0\n") is None


def test_a_switch_writes_the_second_server_into_the_routing_then_drains_and_stops_the_first() -> None:
    order: list[str] = []
    second = Second()

    def start() -> Second:
        order.append("start")
        return second

    def write(routing: Routing) -> None:
        order.append(f"write {routing.revision}")

    def wait(url: str) -> bool:
        order.append(f"drain {url}")
        return True

    switch = ServerSwitch(start, write, wait_until_idle=wait)
    done = switch.promote(NOW, NEW, stop_first=lambda: order.append("stop"))
    assert order == ["start", "write 4", "drain http://127.0.0.1:1/v1", "stop"]
    assert done.routing.champion == ServedVersion(
        name="new", kind="vllm", url=second.url, model="new-merged", registry_version="7"
    )
    assert done.drained
    assert not second.stopped


def test_a_first_server_that_is_still_busy_is_left_running() -> None:
    stopped: list[str] = []
    switch = ServerSwitch(Second, lambda _routing: None, wait_until_idle=lambda _url: False)
    done = switch.promote(NOW, NEW, stop_first=lambda: stopped.append("first"))
    assert not done.drained
    assert stopped == []


def test_a_routing_that_cannot_be_written_ends_the_second_server_and_nothing_else() -> None:
    second, stopped = Second(), []

    def refuse(_routing: Routing) -> None:
        raise OSError("disk full")

    switch = ServerSwitch(lambda: second, refuse, wait_until_idle=lambda _url: True)
    with pytest.raises(OSError, match="disk full"):
        switch.promote(NOW, NEW, stop_first=lambda: stopped.append("first"))
    assert second.stopped
    assert stopped == []


STAND_IN = """
import sys, time
from kickwheel.testing.model_server import FakeModelServer
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with FakeModelServer(base_name=arguments["--served-model-name"], port=int(arguments["--port"]), {more}):
    time.sleep(600)
"""


def stand_in(tmp_path: Path, more: str = "") -> ServerSettings:
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN.replace("{more}", more), encoding="utf-8")
    return ServerSettings(command=f"{sys.executable} {script}", start_timeout_s=60, device="gpu", url="http://first/v1")


def test_a_second_server_is_warm_when_it_is_handed_over(tmp_path: Path) -> None:
    server = start_second_server(stand_in(tmp_path), model_path=tmp_path, log=tmp_path / "second.log", served_name="merged-v2")
    try:
        assert server.base_name == "merged-v2"
        assert server.is_healthy()
    finally:
        server.stop()
    assert not server.process or not server.process.is_running()


def test_a_second_server_that_does_not_come_up_leaves_nothing(tmp_path: Path) -> None:
    settings = ServerSettings(command=f"{sys.executable} -c 1", device="gpu", start_timeout_s=60)
    with pytest.raises(ServerFailed, match="ended while it started"):
        start_second_server(settings, model_path=tmp_path, log=tmp_path / "second.log")
