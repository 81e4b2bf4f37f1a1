"""The recogniser that settings name, with the model at the teacher's address where one is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.intent.glossary import Glossary
from kickwheel.intent.hybrid import HybridRecogniser
from kickwheel.intent.knowledge import read_facts
from kickwheel.intent.llm import LlmRecogniser
from kickwheel.intent.llm_prompt import LlmPrompt
from kickwheel.intent.ports import Recogniser
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.settings import RecogniserChoice, Settings

CALL_LOG = "recogniser_calls.jsonl"
"""Every reply of the model: below ``home`` in the domain's folder, or at its top for documents of no domain."""


@contextmanager
def open_recogniser(
    settings: Settings,
    glossary: Glossary,
    *,
    domain: str = "",
    knowledge: Path | None = None,
    choice: RecogniserChoice | None = None,
    seconds_first: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Recogniser]:
    """A recogniser for the time of the block. The teacher is asked only where its address is set, and nothing twice.

    Args:
        domain: whose log remembers the replies; empty: none's.
        knowledge: ``knowledge.csv``.
        choice: instead of ``intent.recogniser``.
        progress: (done, total) of the statements that the model is asked about.

    Raises:
        InputError: a model is wanted and none is configured, or a fact does not hold.
    """
    choice = choice or settings.intent.recogniser
    rules = RulesRecogniser(glossary, seconds_first)
    teacher = settings.teacher
    if choice == "llm" and not teacher.base_url:
        raise InputError(
            "the recogniser llm needs a model: set KICKWHEEL_TEACHER__BASE_URL and KICKWHEEL_TEACHER__MODEL to an "
            "OpenAI-compatible endpoint, or take rules or hybrid",
            field="intent.recogniser",
        )
    if choice == "rules" or not teacher.base_url:
        yield rules
        return
    if not teacher.model:
        raise InputError(
            f"which model at {teacher.base_url} is to read statements? Set KICKWHEEL_TEACHER__MODEL, or take the rules",
            field="teacher.model",
        )
    from kickwheel.inference.metered_client import LimitedClient
    from kickwheel.inference.openai_adapter import OpenAIChatClient
    from kickwheel.inference.patient_client import PatientClient
    from kickwheel.inference.rate_limit import RateLimiter
    from kickwheel.inference.remembering_client import RememberingClient

    client = OpenAIChatClient(teacher.base_url, teacher.model, teacher.api_key, teacher.timeout_s)
    limiter = RateLimiter(teacher.requests_per_minute, teacher.tokens_per_minute, clock=time.monotonic, sleep=time.sleep)
    try:
        patient = PatientClient(LimitedClient(client, limiter), time.sleep)
        remembering = RememberingClient(patient, settings.home / domain / CALL_LOG)
        prompt = LlmPrompt(glossary, read_facts(knowledge))
        llm = LlmRecogniser(remembering, prompt, rules, teacher.max_concurrency, progress)
        yield llm if choice == "llm" else HybridRecogniser(rules, llm, settings.intent.second_opinion)
    finally:
        client.close()
