"""Which drafts become rows: the rules, the gate to the evaluation, diversity, and a labeller who did not write them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kickwheel.intent.normal_text import comparable
from kickwheel.seeding.checks import failed_rules
from kickwheel.seeding.coverage import WHOLE_INTENT
from kickwheel.seeding.leakage import HeldOut, leaked_rows
from kickwheel.seeding.similar_texts import trigrams
from kickwheel.seeding.synthesis.ports import Draft
from kickwheel.settings import SeedingSettings
from schemas.frame import Frame
from schemas.synthesis import SynthesisOrder
from schemas.task import TaskCatalog
from schemas.utterance import Provenance, Utterance, language_of

IntentOf = Callable[[str], str | None]
"""What a labeller takes a text's intent for; None: it can't tell."""

MAX_CODE_POINTS = 300


@dataclass(frozen=True)
class Labellers:
    """Who may contradict a draft.

    Args:
        probe: the independent labeller; it knows ``probe_knows`` intents and no others.
        reader: the teacher, asked to label the text afresh with another prompt; None: there is none. It answers for the intents
            that the probe does not know, and for boundary rows, which are written so that the probe is torn.
    """

    probe: IntentOf
    probe_knows: frozenset[str]
    reader: IntentOf | None = None


class DraftCheck:
    """Checks drafts one after another; what was kept counts against those that follow."""

    def __init__(
        self,
        catalog: TaskCatalog,
        labelled: Sequence[Utterance],
        held_out: HeldOut,
        labellers: Labellers,
        settings: SeedingSettings,
    ) -> None:
        self._catalog, self._held_out, self._labellers, self._settings = catalog, held_out, labellers, settings
        self._known = [trigrams(row.text) for row in labelled]
        self.unchecked = 0

    def row(self, order: SynthesisOrder, draft: Draft, round_number: int) -> Utterance | str:
        """The row of a draft, or why it is none."""
        if draft.frame is None:
            return draft.error or "empty"
        if reason := self._refused(order, draft.text, draft.frame):
            return reason
        row = Utterance(
            id="syn-" + hashlib.sha256(f"{draft.frame.intent}\n{draft.text}".encode()).hexdigest()[:16],
            text=draft.text,
            language=language_of(draft.text),
            frame=draft.frame,
            provenance=Provenance(
                source="synthetic",
                model=draft.model or None,
                prompt_sha256=draft.prompt_sha256,
                parent=draft.parent,
                round=round_number,
            ),
        )
        seeding = self._settings
        if leaked_rows([row], self._held_out, threshold=seeding.near_duplicate, templates=seeding.template_leaks):
            return "leaks_into_evaluation"
        if reason := self._contradicted(order, row):
            return reason
        self._known.append(trigrams(row.text))
        return row

    def _refused(self, order: SynthesisOrder, text: str, frame: Frame) -> str | None:
        if not comparable(text) or len(text) > MAX_CODE_POINTS:
            return "blank_or_too_long"
        if frame.intent != order.intent:
            return "other_intent"
        if language_of(text) != order.language:
            return "other_language"
        if order.slot != WHOLE_INTENT and order.slot not in frame.values:
            return "slot_missing"
        if broken := failed_rules(text, frame, self._catalog):
            return broken[0]
        own = trigrams(text)
        limit = self._settings.synthetic_similarity
        if any(len(own & other) >= limit * len(own | other) for other in self._known):
            return "too_similar"
        return None

    def _contradicted(self, order: SynthesisOrder, row: Utterance) -> str | None:
        by_probe = order.intent in self._labellers.probe_knows and order.reason != "boundary"
        judge = self._labellers.probe if by_probe else self._labellers.reader
        if judge is None:
            self.unchecked += 1
            return None
        return None if judge(row.text) == order.intent else "labeller_disagrees"
