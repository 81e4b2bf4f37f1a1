"""schemathesis over the API's own description, over HTTP: whatever it makes up, the API keeps to what it says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import schemathesis
import uvicorn
from fastapi import FastAPI
from hypothesis import HealthCheck, given, seed, settings
from pydantic import SecretStr
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from kickwheel.serving.access import read_tokens
from kickwheel.serving.feedback_api import feedback_router
from kickwheel.serving.records_adapter import opened_writer
from kickwheel.serving.server_adapter import address_of, listener
from kickwheel.settings import Settings
from tests.unit.serving.serving_world import world

TOKEN = "everything-" + "0" * 16
OPERATIONS = (
    ("POST", "/v1/understand"),
    ("POST", "/v1/feedback"),
    ("GET", "/v1/signals"),
    ("GET", "/v1/versions"),
    ("GET", "/metrics"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
)


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The application on a free port of this machine."""
    with listener("127.0.0.1", 0) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield address_of(bound)
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    home: Path = tmp_path_factory.mktemp("home")
    tokens = read_tokens(SecretStr(f"all:understand+feedback+admin:{TOKEN}"), None)
    with opened_writer(Settings(home=home), "dataops") as writer:
        app = world(home, tokens=tokens).app(feedback=feedback_router(writer))
        with running(app) as url:
            yield schemathesis.openapi.from_url(f"{url}/openapi.json")


def test_every_route_of_the_description_is_tried(described: schemathesis.BaseSchema) -> None:
    found = {(made.ok().method.upper(), made.ok().path) for made in described.get_all_operations()}
    assert found == set(OPERATIONS)


# The server's thread draws from `random`, too (retries, ids): Hypothesis takes that for its strategy's doing.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_api_keeps_to_its_description(
    described: schemathesis.BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    operation = described[path][method]
    asks = bool(operation.body or operation.query)
    if mode is GenerationMode.NEGATIVE and not operation.body:
        return  # query parameters that nobody knows are let pass, as everywhere
    # Spans that fit their text, or that one of two fields is there, are rules between fields: no JSON Schema states them.
    left_out = [positive_data_acceptance] if path in ("/v1/feedback", "/v1/signals") else []
    examples = 25 if asks else 2

    @seed(7)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps_to_it(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=left_out)

    keeps_to_it()
