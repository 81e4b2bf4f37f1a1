"""The llm recogniser: a model reads a statement, and what it says is held against it.

One call a statement, and one more that shows what was wrong with a reply that can't be used. Its tasks carry a flag: no rule
confirms them. Where the model finds no task, or says nothing that can be used, the answer is the rules' question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from kickwheel.errors import RequestRefused
from kickwheel.inference.ports import ChatClient, ChatReply
from kickwheel.intent.llm_prompt import LlmPrompt
from kickwheel.intent.llm_reply import ReadTriple, ReplyProblem, ReplyRefused, read_reply
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.rules import RulesRecogniser
from kickwheel.intent.suspicion import not_read

ATTEMPTS = 2
"""The first reply, and one more that is shown what was wrong."""


@dataclass(frozen=True)
class Reading:
    """What a model makes of a statement."""

    found: tuple[ReadTriple | Refused, ...] = ()
    """Empty without a ``problem``: the model finds no task in it."""
    problem: ReplyProblem | None = None
    """Why no reply could be used."""
    confidence: float | None = None
    """Geometric mean of the probabilities of the reply's tokens; None: the server gave none, which is not a low one."""


@dataclass(frozen=True)
class LlmRecogniser:
    """See the module.

    Args:
        client: asked for the same thing twice; a :class:`~kickwheel.inference.remembering_client.RememberingClient`
            makes one call of it.
        rules: where their question is the answer; their glossary is the model's.
        max_concurrency: calls at the same time.
        progress: (done, total) of the statements that the model is asked about.
    """

    client: ChatClient
    prompt: LlmPrompt
    rules: RulesRecogniser
    max_concurrency: int = 1
    progress: Callable[[int, int], None] | None = None

    def prepare(self, texts: Sequence[str]) -> None:
        """Ask about each text, several at once; the replies are in the client's memory then.

        Raises:
            ServiceError: the model does not answer, or refuses every one of them. What it has answered is kept.
        """
        asked = list(dict.fromkeys(map(normalise, texts)))
        refusals: list[RequestRefused] = []
        pool = ThreadPoolExecutor(max_workers=max(1, min(self.max_concurrency, len(asked))), thread_name_prefix="reader")
        try:
            for done, future in enumerate(as_completed([pool.submit(self._read, text) for text in asked]), start=1):
                try:
                    future.result()
                except RequestRefused as error:
                    refusals.append(error)
                if self.progress is not None:
                    self.progress(done, len(asked))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if refusals and len(refusals) == len(asked):
            raise refusals[0]

    def recognise(self, text: str) -> list[Recognised | Refused]:
        """Triples or refusals of one statement.

        Raises:
            ServiceError: the model does not answer.
        """
        reading = self.read(text)
        if reading.problem:
            return [self._question(text, f"the model's reply can't be used: {reading.problem}", None)]
        if not reading.found:
            return [self._question(text, "the model finds no task", reading.confidence)]
        return [self._outcome(found, reading) for found in reading.found]

    def read(self, text: str) -> Reading:
        """What the model makes of a statement. One that nobody reads is not sent.

        Raises:
            ServiceError: the model does not answer.
        """
        try:
            return self._read(text)
        except RequestRefused:
            return Reading(problem="refused")

    def _read(self, text: str) -> Reading:
        text = normalise(text)
        if unreadable := not_read(text):
            return Reading((unreadable,))
        first = request = self.prompt.request(text)
        problem: ReplyProblem | None = None
        for _ in range(ATTEMPTS):
            reply = self.client.complete(request)
            try:
                found = read_reply(text, reply, self.rules.glossary, seconds_first=self.rules.seconds_first)
            except ReplyRefused as refused:
                problem = refused.kind
                request = self.prompt.again(first, reply, refused.kind, str(refused))
            else:
                return Reading(found, confidence=_confidence(reply))
        return Reading(problem=problem)

    def _outcome(self, found: ReadTriple | Refused, reading: Reading) -> Recognised | Refused:
        if isinstance(found, Refused):
            return found
        unconfirmed = f"read by a model ({self.client.model}); no rule confirms it"
        flag = "; ".join(filter(None, [found.triple.flag, unconfirmed]))
        return replace(found.triple, flag=flag, confidence=reading.confidence)

    def _question(self, text: str, why: str, confidence: float | None) -> Refused:
        """The rules' refusal; where they map the statement and the model doesn't, a person must look."""
        for outcome in self.rules.recognise(text):
            if isinstance(outcome, Refused):
                return replace(outcome, question=f"{outcome.question} ({why})", confidence=confidence)
        return Refused("needs_review", f"The rules map this, but {why}: is it a task?")


def _confidence(reply: ChatReply) -> float | None:
    return None if reply.mean_logprob is None else round(min(1.0, math.exp(reply.mean_logprob)), 3)
