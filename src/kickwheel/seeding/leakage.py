"""The gate between training rows and evaluation rows: what would be learned by heart is not learned at all.

By near-duplicate, by template (the same text but for slot values) and by parent, not by equal text alone. Evaluation rows are
never touched (cleanlab/cleanlab 1158); their texts are read for this, and nothing is chosen by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from kickwheel.errors import StageFailed
from kickwheel.intent.normal_text import comparable
from kickwheel.seeding.similar_texts import most_similar
from schemas.seed_checks import LeakedRow, LeakReason
from schemas.utterance import Utterance

HeldOut = Mapping[Literal["valid", "eval"], Sequence[Utterance]]
_IDS_SHOWN = 10


def leaked_rows(rows: Sequence[Utterance], held_out: HeldOut, *, threshold: float, templates: bool) -> list[LeakedRow]:
    """Rows that are too near to an evaluation row, each with the nearest one, in the order of the rows.

    Args:
        threshold: similarity of a near-duplicate.
        templates: whether the same text with other slot values counts; it can only be told of labelled rows.
    """
    others = [(split, other) for split, split_rows in held_out.items() for other in split_rows]
    by_id = {other.id: (split, other) for split, other in others}
    by_template = {template: (split, other) for split, other in reversed(others) if (template := _template(other))}
    similar = most_similar([row.text for row in rows], [other.text for _, other in others], threshold)
    found = []
    for place, row in enumerate(rows):
        parent = row.provenance.parent if row.provenance else None
        if match := similar.get(place):
            found.append(_leak(row, others[match.other], "near_duplicate", match.similarity))
        elif parent is not None and parent in by_id:
            found.append(_leak(row, by_id[parent], "parent"))
        elif templates and (twin := by_template.get(_template(row))):
            found.append(_leak(row, twin, "template"))
    return found


def refuse_leaks(rows: Sequence[Utterance], held_out: HeldOut, *, threshold: float, templates: bool) -> None:
    """Stop before training on rows that should not have come this far.

    Raises:
        StageFailed: names them.
    """
    leaks = leaked_rows(rows, held_out, threshold=threshold, templates=templates)
    if leaks:
        raise StageFailed(
            f"{len(leaks)} training rows would leak into the evaluation: {told_all(leaks)}. Take them out of the training "
            "rows, or out of the evaluation if they should never have been in it; seeding.near_duplicate and "
            "seeding.template_leaks say what counts"
        )


def told(leak: LeakedRow) -> str:
    """A leak in words."""
    how = {
        "near_duplicate": f"is {100 * leak.similarity:.0f} % the same as",
        "template": "differs in slot values only from",
        "parent": "was made from",
    }
    return f"{leak.id} {how[leak.reason]} {leak.split} row {leak.other}"


def told_all(leaks: Sequence[LeakedRow]) -> str:
    """The first leaks in words, and how many more there are."""
    more = [f"and {len(leaks) - _IDS_SHOWN} more"] if len(leaks) > _IDS_SHOWN else []
    return "; ".join([*(told(leak) for leak in leaks[:_IDS_SHOWN]), *more])


def _leak(
    row: Utterance, other: tuple[Literal["valid", "eval"], Utterance], reason: LeakReason, similarity: float | None = None
) -> LeakedRow:
    split, twin = other
    if similarity is None:
        nearest = most_similar([row.text], [twin.text], 1e-9).get(0)
        similarity = nearest.similarity if nearest else 0.0
    return LeakedRow(id=row.id, split=split, other=twin.id, reason=reason, similarity=similarity)


def _template(row: Utterance) -> str:
    """The text with slot names for slot values; empty where that is the text itself, or nothing but slots."""
    if row.frame is None or not row.frame.slots:
        return ""
    parts, end = [], 0
    for slot in row.frame.slots:
        parts += [comparable(row.text[end : slot.start]), f"<{slot.name}>"]
        end = slot.end
    parts.append(comparable(row.text[end:]))
    return "".join(parts) if any(part and not part.startswith("<") for part in parts) else ""
