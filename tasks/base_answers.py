"""The untuned base's answers on valid, asked once: the gate of each lap compares a challenger with them, too.

They are a function of base, rows and prompt, so they are kept under a hash of those and not paid for twice.
"""

from __future__ import annotations

import json

from kickwheel.evaluation.answered import AnsweredStudent
from kickwheel.inference.ports import Student
from kickwheel.inference.student_prompt import zero_shot_messages
from kickwheel.workspace import fingerprint, read_jsonl, write_jsonl
from schemas.frame import Prediction
from tasks.wiring import Place, Students, base_model


def base_on_valid(place: Place, served: Students) -> Student:
    """A student that gives the base's answers on valid; a base that fails to answer all of them is asked again next time."""
    asked = served.student("base", None, lambda text: zero_shot_messages(text, place.catalog))
    texts = [row.text for row in place.domain.rows("valid")]
    prompt = zero_shot_messages("", place.catalog)
    key = fingerprint(
        sorted((path.name, path.stat().st_size) for path in base_model(place).path.glob("*.safetensors")),
        place.settings.model.base,
        served.evaluated_with,
        [message.content for message in prompt],
        json.dumps(texts),
    )
    path = place.settings.home / place.domain.name / "base-answers" / f"{key[:16]}.jsonl"
    if not path.is_file():
        write_jsonl(path, asked.predict(texts))
    return AnsweredStudent("base", dict(zip(texts, read_jsonl(path, Prediction), strict=True)), asked)
