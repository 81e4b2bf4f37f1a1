"""A chat client whose replies a test writes down. It answers; it never stands in for a model that is being measured."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from kickwheel.inference.ports import ChatReply, ChatRequest

Answer = str | Exception | ChatReply


class ScriptedTeacher:
    """Replies from a function of the request, or from a queue that may run dry. Safe to use from many threads.

    Args:
        script: the answers; an exception among them is raised.
        call_log: file that gets one JSON line a call, before it is answered, so that another process can count.
    """

    def __init__(
        self,
        script: Callable[[ChatRequest], Answer] | Iterable[Answer],
        *,
        model: str = "scripted-teacher",
        call_log: Path | None = None,
    ) -> None:
        self._script = script if callable(script) else _from_queue(script)
        self._model = model
        self._call_log = call_log
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []

    @property
    def model(self) -> str:
        """Served model name."""
        return self._model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Record the call, then answer. Token counts are words."""
        with self._lock:
            self.requests.append(request)
            if self._call_log is not None:
                with self._call_log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"last": request.messages[-1].content}, ensure_ascii=False) + "\n")
            answer = self._script(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        prompt = sum(len(message.content.split()) for message in request.messages)
        return ChatReply(answer, "stop", self._model, prompt, len(answer.split()))


def _from_queue(answers: Iterable[Answer]) -> Callable[[ChatRequest], Answer]:
    queue = deque(answers)

    def next_answer(_: ChatRequest) -> Answer:
        if not queue:
            raise AssertionError("the scripted teacher was asked more often than it has answers")
        return queue.popleft()

    return next_answer
