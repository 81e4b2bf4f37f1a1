"""The hybrid recogniser: rules first; a model for what they refuse. Nothing that the model says is accepted.

Its reading becomes a suggestion: the statement stays rejected (``needs_review``), with a sentence that the rules map to just
what the model says. Putting that sentence into the document is the review. Where it contradicts what the rules did make out,
the question says so. A task that the rules map with a flag (an entity that the glossary doesn't know) stays as it is, and where
the model reads it otherwise the flag says that too. Without a model, hybrid is the rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from kickwheel.intent.canonical import canonical_sentence, same_task
from kickwheel.intent.llm import LlmRecogniser, Reading
from kickwheel.intent.llm_reply import ReadTriple
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.ports import Recognised, Refused, Suggestion
from kickwheel.intent.rules import RulesRecogniser
from schemas.task import RejectionReason

ASKED: frozenset[RejectionReason] = frozenset({"not_a_task", "unknown_action", "unknown_target"})
"""Refusals that a model is asked about. No model settles which time or zone is meant, or what contradicts itself."""
_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True)
class HybridRecogniser:
    """See the module.

    Args:
        llm: None: none is configured.
        second_opinion: the model also reads what the rules map without a flag, and where it differs the task gets one.
    """

    rules: RulesRecogniser
    llm: LlmRecogniser | None = None
    second_opinion: bool = False

    def prepare(self, texts: Sequence[str]) -> None:
        """Ask the model about all that it will be asked about.

        Raises:
            ServiceError: the model does not answer.
        """
        if self.llm is not None:
            self.llm.prepare([text for text in texts if self._asks(self.rules.recognise(text))])

    def recognise(self, text: str) -> list[Recognised | Refused]:
        """Triples of the rules and refusals, some of them with what the model suggests.

        Raises:
            ServiceError: the model does not answer.
        """
        text = normalise(text)
        outcomes = self.rules.recognise(text)
        if self.llm is None or not self._asks(outcomes):
            return outcomes
        reading = self.llm.read(text)
        if any(isinstance(outcome, Refused) for outcome in outcomes):
            return self._with_suggestions(text, outcomes, reading)
        if reading.problem and not self.second_opinion:
            return outcomes
        difference = _difference(outcomes, reading)
        return [_flagged(outcome, difference, self.llm.client.model) for outcome in outcomes]

    def _asks(self, outcomes: Sequence[Recognised | Refused]) -> bool:
        refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
        if refused:
            return all(outcome.reason in ASKED for outcome in refused)
        return self.second_opinion or any(isinstance(outcome, Recognised) and outcome.flag for outcome in outcomes)

    def _with_suggestions(
        self, text: str, outcomes: Sequence[Recognised | Refused], reading: Reading
    ) -> list[Recognised | Refused]:
        """The rules' triples as they are; their refusals with the model's other triples, one each while there are any."""
        settled = [outcome for outcome in outcomes if isinstance(outcome, Recognised)]
        refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
        read = [found for found in reading.found if isinstance(found, ReadTriple)]
        missed = [known for known in settled if not any(same_task(known, found.triple) for found in read)]
        suggestions = [
            suggestion
            for found in read
            if not any(same_task(known, found.triple) for known in settled)
            and (suggestion := self._suggestion(text, found, reading.confidence))
        ]
        if not suggestions and not reading.found and reading.problem is None:
            agreed = reading.confidence  # rules and model agree that there is no task
            refused = [
                replace(refusal, confidence=agreed) if refusal.reason == "not_a_task" else refusal for refusal in refused
            ]
        reviewed = [
            _review(refusal, suggestion, self._doubts(text, suggestion.triple, missed))
            for refusal, suggestion in zip(chain(refused, repeat(refused[-1])), suggestions, strict=False)
        ]
        return [*settled, *reviewed, *refused[len(reviewed) :]]

    def _suggestion(self, text: str, found: ReadTriple, confidence: float | None) -> Suggestion | None:
        if self.llm is None:
            return None
        sentence = canonical_sentence(found, chinese=bool(_HAN.search(text)), rules=self.rules)
        if sentence is None:
            return None
        return Suggestion(replace(found.triple, confidence=confidence), sentence, self.llm.client.model)

    def _doubts(self, text: str, suggested: Recognised, missed: Sequence[Recognised]) -> list[str]:
        """Where the model contradicts what the rules made out."""
        actions = self.rules.glossary.action_pattern.finditer(text)
        said = {self.rules.glossary.action_of(found.group()) for found in actions}
        doubts = []
        if said and suggested.action not in said:
            doubts.append(f"the statement's words name {' and '.join(sorted(said))}, the model {suggested.action}")
        for known in missed:
            also = "with another time" if (known.action, known.target) == (suggested.action, suggested.target) else "too"
            doubts.append(f"the rules read {known.action} {known.entity} {also}, the model does not")
        return doubts


def _review(refused: Refused, suggestion: Suggestion, doubts: Sequence[str]) -> Refused:
    parts = [refused.question, f"A model reads it as {suggestion.statement!r}: if that is meant, write that instead"]
    if doubts:
        parts.append(f"They disagree: {'; '.join(doubts)}")
    return Refused("needs_review", ". ".join(parts), suggestion)


def _difference(outcomes: Sequence[Recognised | Refused], reading: Reading) -> str | None:
    """How the model's reading of a statement differs from triples of the rules; None: it doesn't."""
    if reading.problem:
        return f"gives no second opinion ({reading.problem})"
    triples = [outcome for outcome in outcomes if isinstance(outcome, Recognised)]
    read = [found.triple for found in reading.found if isinstance(found, ReadTriple)]
    if len(read) == len(reading.found) == len(triples) and all(any(same_task(a, b) for b in read) for a in triples):
        return None
    told = "; ".join(f"{found.action} {found.target or found.entity}" for found in read) or "no task"
    same_names = {(a.action, a.target) for a in read} == {(a.action, a.target) for a in triples}
    return f"reads {told}" + (" at other times" if same_names else "")


def _flagged(outcome: Recognised | Refused, difference: str | None, model: str) -> Recognised | Refused:
    if difference is None or isinstance(outcome, Refused):
        return outcome
    return replace(outcome, flag="; ".join(filter(None, [outcome.flag, f"a model ({model}) {difference}"])))
