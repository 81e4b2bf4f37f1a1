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

from kickwheel.inference.frame_codec import encode_frame
from schemas.feedback import FeedbackEvent
from schemas.frame import OUT_OF_SCOPE, Frame, Prediction


@dataclass(frozen=True)
class ClosedSet:
    """One case's text with its candidate frames."""

    case: str
    text: str
    frames: tuple[Frame, ...]


def closed_set(event: FeedbackEvent, champion: Prediction, probe: Prediction, probe_ranking: Sequence[str] = ()) -> ClosedSet:
    """Candidate frames of one case, each once, in an order that depends on case and frames only.

    ``probe_ranking`` is the probe's intents, most probable first. Fewer than two frames come back only where there is no other
    intent: no choice, nothing to teach.
    """
    said = (champion.frame, event.correction, event.operator_label, probe.frame)
    unique = list(dict.fromkeys(frame for frame in said if frame is not None))
    intents = {frame.intent for frame in unique}
    rivals = [Frame(intent=intent) for intent in dict.fromkeys([*probe_ranking, OUT_OF_SCOPE]) if intent not in intents]
    unique += rivals[: max(0, 2 - len(unique))]
    return ClosedSet(event.case, event.text, tuple(sorted(unique, key=lambda frame: _place(event.case, frame))))


def _place(case: str, frame: Frame) -> tuple[str, str]:
    """Sort key: a hash of case and frame, the frame itself against a collision."""
    written = encode_frame(frame) + str([(slot.start, slot.end) for slot in frame.slots])
    return hashlib.sha256(f"{case}\0{written}".encode()).hexdigest(), written
