"""Users who are simulated: how they act on a right and on a wrong answer, some of them wrongly.

The figures are those of the example's bundled feedback (docs/example-domain.md). A policy may be measured against such users;
what real ones do is another matter, and every event says that it is replayed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.feedback import Behaviour, FeedbackEvent
from schemas.frame import Frame, Prediction


@dataclass(frozen=True)
class Habits:
    """What users do, as shares of the answers that they see.

    Args:
        noise: reactions of the other kind: a right answer is met as if it were wrong, corrected into a wrong frame
            or given up; a wrong one is taken for right. Operators err as often.
        corrects: of answers met as wrong, edited into what was wanted.
        abandons: of answers met as wrong, given up.
        operators: of all answers, labelled by an operator afterwards.
        leaves_early: of answers met as right, left before the end all the same.
    """

    noise: float = 0.15
    corrects: float = 0.45
    abandons: float = 0.25
    operators: float = 0.10
    leaves_early: float = 0.10


class SimulatedUsers:
    """A population of users; deterministic under ``rng``."""

    def __init__(self, frames: Sequence[Frame], rng: random.Random, habits: Habits = Habits(), users: int = 200):
        """``frames``: of other utterances; a wrong label takes its intent from one of them."""
        self._intents = sorted({frame.intent for frame in frames})
        self._rng = rng
        self._habits = habits
        self._users = users

    def meet(self, case: str, text: str, wanted: Frame, answer: Prediction, *, model: str) -> FeedbackEvent:
        """One user asks ``text``, wants ``wanted``, sees ``answer`` and acts."""
        rng, habits = self._rng, self._habits
        right = answer.frame == wanted
        erring = rng.random() < habits.noise
        believed = self._mistaken(wanted) if erring and right else answer.frame if erring and answer.frame else wanted
        pleased = answer.frame is not None and believed == answer.frame
        behaviour = self._content() if pleased else self._discontent()
        labels = rng.random() < habits.operators
        slips = labels and rng.random() < habits.noise
        return FeedbackEvent(
            case=case,
            user=f"sim-{rng.randrange(self._users):04d}",
            text=text,
            arm="champion",
            propensity=1.0,
            model=model,
            answer=answer.frame,
            behaviour=behaviour,
            correction=believed if behaviour.corrected else None,
            operator_label=(self._mistaken(wanted) if slips else wanted) if labels else None,
            completed=not behaviour.corrected and not behaviour.abandoned and answer.frame is not None,
            replayed=True,
        )

    def _content(self) -> Behaviour:
        rng = self._rng
        early = rng.random() < self._habits.leaves_early
        return Behaviour(
            dwell_s=round(rng.lognormvariate(0.9 if early else 2.5, 0.4), 1),
            scroll=round(rng.uniform(0.1, 0.6) if early else rng.uniform(0.85, 1.0), 2),
            bounced=early and rng.random() < 0.5,
        )

    def _discontent(self) -> Behaviour:
        rng, habits = self._rng, self._habits
        draw = rng.random()
        brief = rng.random() < 0.5
        return Behaviour(
            dwell_s=round(rng.lognormvariate(1.25 if brief else 2.8, 0.4), 1),
            scroll=round(rng.uniform(0.0, 0.5) if brief else rng.uniform(0.3, 0.95), 2),
            bounced=brief and rng.random() < 0.4,
            back_and_return=0 if brief else rng.randrange(5),
            corrected=draw < habits.corrects,
            abandoned=habits.corrects <= draw < habits.corrects + habits.abandons,
            turns=rng.randrange(2, 6),
        )

    def _mistaken(self, wanted: Frame) -> Frame:
        """A wrong frame: another intent, or one slot too few."""
        if wanted.slots and self._rng.random() < 0.5:
            left_out = self._rng.randrange(len(wanted.slots))
            return Frame(intent=wanted.intent, slots=wanted.slots[:left_out] + wanted.slots[left_out + 1 :])
        others = [intent for intent in self._intents if intent != wanted.intent] or ["out_of_scope"]
        return Frame(intent=self._rng.choice(others))
