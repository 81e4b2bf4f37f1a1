"""Every teacher call on disk before its reply is used: what was paid for once is not paid for again, whatever kills us.

(argilla-io/distilabel 469, 52, 1065: paid generations lost; 956: failed rows without a reason.)
"""

from __future__ import annotations

import threading
from pathlib import Path

from pydantic import Field

from kickwheel.errors import InputError
from kickwheel.inference.error_kinds import UNSETTLED
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.inference.student_prompt import as_openai
from kickwheel.workspace import append_durably, fingerprint, read_log
from schemas.base import Contract, Sha256
from schemas.frame import Frame


class TeacherCall(Contract):
    """One line of the log: what was asked, what came back, and what became of it."""

    key: Sha256 = Field(description="Hash of model, messages, schema and sampling")
    prompt_sha256: Sha256 = Field(description="Hash of the messages")
    utterance: str
    attempt: int = Field(ge=1, description="1, or 2 after a reply that did not hold")
    model: str = Field(description="Served name that answered, else the one that was asked")
    raw: str = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    mean_logprob: float | None = Field(default=None, description="None: the server gave none")
    intent_confidence: float | None = Field(default=None, description="Probability of the intent; None: not known")
    slot_confidence: dict[str, float] = Field(default_factory=dict, description="Slot -> probability of its value")
    frame: Frame | None = None
    error: str | None = Field(
        default=None, description="Why there is no frame: truncated, malformed, …, or of error_kinds where no reply came"
    )
    message: str = Field(default="", description="What the service said, where it gave no reply")

    @property
    def settled(self) -> bool:
        """Whether asking again would be asking for the same answer. What is not is kept for the reader, and asked again."""
        return self.error not in UNSETTLED

    def reply(self) -> ChatReply:
        """The reply as it came."""
        return ChatReply(
            text=self.raw,
            finish_reason=self.finish_reason,
            model=self.model,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            mean_logprob=self.mean_logprob,
        )


def prompt_sha256(request: ChatRequest) -> str:
    """Hash of the messages alone, for provenance."""
    return fingerprint(as_openai(request.messages))


class LabelLog:
    """Append-only log of calls. Safe to use from many threads."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise InputError("the log of teacher calls is a file, this is a folder", file=path)
        self._path = path
        self._lock = threading.Lock()
        self._known = {call.key: call for call in read_log(path, TeacherCall) if call.settled}

    def get(self, key: str) -> TeacherCall | None:
        """The settled call of a key."""
        return self._known.get(key)

    def add(self, call: TeacherCall) -> None:
        """Write a call; when this returns, the disk has it."""
        with self._lock:
            append_durably(self._path, [call])
            if call.settled:
                self._known[call.key] = call
