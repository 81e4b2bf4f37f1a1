"""The closed set of frames that a case is distilled over.

What the models answered and what people stated: 2 to 4 frames. Where all say the same, a rival fills the set up: the probe's
next-best intent, else ``out_of_scope``. (With ``out_of_scope`` in every set, the student learns above all never to say it: on
the example's ``valid`` its recall fell from 80 to 10 %.) What the user wanted is among them only if a model said it or a person
stated it. The order is by hash, so it tells neither the teacher nor the student which is right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from kickwheel.distillation.fusion import FusedCase
from kickwheel.inference.frame_codec import encode_frame
from schemas.feedback import FeedbackEvent
from schemas.frame import OUT_OF_SCOPE, Frame, Prediction

MOST_STATED = 3
"""Frames that users and operators put into a set, at most: with two models' answers, as many as the teacher has letters."""


@dataclass(frozen=True)
class ClosedSet:
    """One case's text with its candidate frames."""

    case: str
    text: str
    frames: tuple[Frame, ...]


def closed_set(
    event: FeedbackEvent,
    champion: Prediction,
    probe: Prediction,
    probe_ranking: Sequence[str] = (),
) -> ClosedSet:
    """Candidate frames of one case, each once, in an order that depends on case and frames only.

    ``probe_ranking`` is the probe's intents, most probable first. Fewer than two frames come back only where there is no other
    intent: no choice, nothing to teach.
    """
    said = (champion.frame, event.correction, event.operator_label, probe.frame)
    return _closed(event.case, event.text, said, probe_ranking)


def live_set(
    case: str, text: str, fused: FusedCase, champion: Prediction, probe: Prediction, probe_ranking: Sequence[str] = ()
) -> ClosedSet:
    """Candidate frames of a case of live traffic: the models' present answers, and the frames that signals speak for most."""
    best = sorted((item for item in fused.candidates if item.fused > 0), key=lambda item: -item.fused)[:MOST_STATED]
    said = (best[0].frame if best else None, champion.frame, *(item.frame for item in best[1:]), probe.frame)
    return _closed(case, text, said, probe_ranking)


def _closed(case: str, text: str, said: Sequence[Frame | None], probe_ranking: Sequence[str]) -> ClosedSet:
    unique = list(dict.fromkeys(frame for frame in said if frame is not None))
    intents = {frame.intent for frame in unique}
    rivals = [Frame(intent=intent) for intent in dict.fromkeys([*probe_ranking, OUT_OF_SCOPE]) if intent not in intents]
    unique += rivals[: max(0, 2 - len(unique))]
    return ClosedSet(case, text, tuple(sorted(unique, key=lambda frame: _place(case, frame))))


def _place(case: str, frame: Frame) -> tuple[str, str]:
    """Sort key: a hash of case and frame, the frame itself against a collision."""
    written = encode_frame(frame) + str([(slot.start, slot.end) for slot in frame.slots])
    return hashlib.sha256(f"{case}\0{written}".encode()).hexdigest(), written
