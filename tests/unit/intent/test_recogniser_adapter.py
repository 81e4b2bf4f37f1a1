"""Which recogniser the settings make, and what it tells a model's endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.hybrid import HybridRecogniser
from kickwheel.intent.llm import LlmRecogniser
from kickwheel.intent.ports import Refused
from kickwheel.intent.recogniser_adapter import CALL_LOG, open_recogniser
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.settings import RecogniserChoice, Settings
from kickwheel.testing.model_server import FakeModelServer

GLOSSARY = load_glossary()
KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer(reply=lambda messages, model: '{"tasks": []}') as running:
        yield running


def settings_for(home: Path, url: str, model: str = "base", **intent: object) -> Settings:
    teacher = {"base_url": url, "model": model, "api_key": KEY}
    return Settings.model_validate({"home": home, "teacher": teacher, "intent": intent})


@pytest.mark.parametrize("choice", ["rules", "hybrid", None])
def test_without_an_endpoint_it_is_the_rules(tmp_path: Path, choice: RecogniserChoice | None) -> None:
    with open_recogniser(Settings(home=tmp_path), GLOSSARY, choice=choice, seconds_first=True) as recogniser:
        assert recogniser == RulesRecogniser(GLOSSARY, seconds_first=True)


def test_llm_without_an_endpoint_says_what_to_set(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="KICKWHEEL_TEACHER__BASE_URL"),
        open_recogniser(Settings(home=tmp_path), GLOSSARY, choice="llm"),
    ):
        pass


def test_endpoint_without_a_model_says_what_to_set(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="KICKWHEEL_TEACHER__MODEL"),
        open_recogniser(settings_for(tmp_path, "http://127.0.0.1:9/v1", ""), GLOSSARY),
    ):
        pass


def test_settings_choose_and_an_argument_overrules(tmp_path: Path, server: FakeModelServer) -> None:
    settings = settings_for(tmp_path, server.url, recogniser="llm", second_opinion=True)
    with open_recogniser(settings, GLOSSARY) as recogniser:
        assert isinstance(recogniser, LlmRecogniser)
    with open_recogniser(settings, GLOSSARY, choice="hybrid") as recogniser:
        assert isinstance(recogniser, HybridRecogniser)
        assert recogniser.second_opinion
    with open_recogniser(settings, GLOSSARY, choice="rules") as recogniser:
        assert isinstance(recogniser, RulesRecogniser)


@pytest.mark.parametrize(("domain", "folder"), [("shop", "shop"), ("", ".")])
def test_replies_are_remembered_below_home_and_the_key_is_in_no_prompt(
    tmp_path: Path, server: FakeModelServer, domain: str, folder: str
) -> None:
    knowledge = tmp_path / "knowledge.csv"
    knowledge.write_text("subject,relation,object\norders,stored in,data lake\n", encoding="utf-8")
    for _ in range(2):
        with open_recogniser(settings_for(tmp_path, server.url), GLOSSARY, domain=domain, knowledge=knowledge) as recogniser:
            recogniser.prepare(["把用户订单捎到数据湖"])
            [found] = recogniser.recognise("把用户订单捎到数据湖")
            assert isinstance(found, Refused)
    [chat] = server.chats
    assert "orders stored in data lake" in json.dumps(chat.body)
    assert KEY not in json.dumps(chat.body)
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    log = tmp_path / folder / CALL_LOG
    assert KEY not in log.read_text(encoding="utf-8")
    assert log.read_bytes().count(b"\n") == 1
