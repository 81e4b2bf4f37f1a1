"""The key of a server that wants one: sent to it, never in a message; and what a stage's figures depend on of a server."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pydantic import SecretStr

from kickwheel.errors import AccessRefused, InputError
from kickwheel.inference.vllm_adapter import model_server
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.lineage import server_inputs
from kickwheel.settings import ServerSettings
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.ports import LoadPlan
from kickwheel.workspace import fingerprint

KEY = "k-not-to-be-seen"


class Guarded(BaseHTTPRequestHandler):
    """As vLLM with --api-key: what lies under /v1 wants the key; a server that talks too much says it back."""

    def do_GET(self) -> None:
        right = self.headers.get("Authorization") == f"Bearer {KEY}"
        body = b'{"data": [{"id": "base", "parent": null}]}' if right else b'{"error": "Unauthorized"}'
        self.send_response(200 if right or not self.path.startswith("/v1") else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        right = self.headers.get("Authorization") == f"Bearer {KEY}"
        body = f"bad request with {self.headers.get('Authorization')}".encode()
        self.send_response(400 if right else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:  # type: ignore[override]
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_that_wants_a_key_is_reached_with_it(url: str, tmp_path: Path) -> None:
    settings = ServerSettings(url=url, api_key=SecretStr(KEY))
    with model_server(settings, base_path=Path(), log=tmp_path / "log", enable_lora=True) as server:
        assert server.base_name == "base"
        assert server.api_key.get_secret_value() == KEY
        assert KEY not in repr(server) + repr(settings) + settings.model_dump_json() + str(server.engine_settings)
        generator = ProcessGenerator(url, api_key=server.api_key.get_secret_value())
    assert generator.run(LoadPlan((b"{}",), (0.0,))).samples[0].error == "http_400"
    assert ProcessGenerator(url).run(LoadPlan((b"{}",), (0.0,))).samples[0].error == "http_401"


def test_without_the_right_key_the_message_names_the_setting_and_never_the_key(url: str) -> None:
    for key, said in (("", "wants a key: set KICKWHEEL_SERVER__API_KEY"), ("wrong-one", "does not take the key of")):
        endpoint = VllmEndpoint(url, api_key=SecretStr(key))
        with pytest.raises(AccessRefused, match=said) as refused:
            endpoint.base_name()
        assert "wrong-one" not in str(refused.value)
        endpoint.close()


def test_a_key_that_the_server_says_back_is_masked(url: str) -> None:
    endpoint = VllmEndpoint(url, api_key=SecretStr(KEY))
    with pytest.raises(Exception, match="400") as refused:
        endpoint.first_token("base")
    assert "***" in str(refused.value)
    assert KEY not in str(refused.value)
    endpoint.close()


PROFILE = """schema_version: "1"
name: mine
device: cpu
engine: {max_num_seqs: %d}
"""


def of(**fields: object) -> str:
    return fingerprint(*server_inputs(ServerSettings.model_validate(fields)))


def test_figures_depend_on_what_a_profile_holds_and_not_on_where_it_lies_or_on_the_key(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(PROFILE % 64, encoding="utf-8")
    other.write_text("# another place, another comment\n" + PROFILE % 64, encoding="utf-8")
    before = of(profile=str(one))
    assert of(profile=str(other)) == before
    assert of(profile=str(one), api_key="k") == before
    assert of() != before
    one.write_text(PROFILE % 32, encoding="utf-8")
    assert of(profile=str(one)) != before
    with pytest.raises(InputError):
        of(profile=str(tmp_path / "none.yaml"))
    assert of(profile=str(tmp_path / "none.yaml"), url="http://gpu:8000/v1") == of(url="http://gpu:8000/v1")
