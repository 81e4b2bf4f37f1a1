"""What a change of the tasks touches: labelled rows, evaluation rows, feedback, deployments."""

from __future__ import annotations

from collections.abc import Sequence

from kickwheel.domain_folder import Domain
from kickwheel.intent.slot_values import broken_rule
from kickwheel.registry.labels import label_files, read_lines, relative_name
from schemas.frame import Frame
from schemas.registry import ChangeKind, Impact, PublishedTask, TaskChange, TaskDiff, TouchedRows

_WHOLE_INTENT: frozenset[ChangeKind] = frozenset({"intent_removed", "intent_renamed", "task_replaced", "slot_added"})
_ROWS_WITH_SLOT: frozenset[ChangeKind] = frozenset({"slot_removed", "slot_type_changed"})
_ROWS_THAT_BREAK: frozenset[ChangeKind] = frozenset({"values_narrowed", "pattern_changed"})
_DEPLOYMENTS: frozenset[ChangeKind] = frozenset(
    {
        "intent_removed",
        "intent_renamed",
        "task_replaced",
        "task_added",
        "target_found",
        "schedule_changed",
        "flag_raised",
        "flag_cleared",
    }
)


def impact_of(
    diffs: Sequence[TaskDiff], domain: Domain, before: Sequence[PublishedTask], now: Sequence[PublishedTask]
) -> Impact:
    """What the changes touch. Rows carry the intent's published name until they are migrated.

    Raises:
        InputError: a file of labels does not hold.
    """
    by_intent = {task.intent: task for task in now}
    touched = []
    for split, path in label_files(domain):
        ids = [
            line.id for line in read_lines(path, split) if line.frame and any(_touches(d, line.frame, by_intent) for d in diffs)
        ]
        if ids:
            touched.append(TouchedRows(split=split, file=relative_name(path, domain), rows=len(ids), ids=tuple(ids)))
    return Impact(
        tasks=tuple(diff.intent for diff in diffs),
        slots=tuple(dict.fromkeys(f"{diff.intent}.{change.slot}" for diff in diffs for change in diff.changes if change.slot)),
        rows=tuple(rows for rows in touched if rows.split not in ("eval", "feedback")),
        evaluation=next((rows for rows in touched if rows.split == "eval"), None),
        feedback=next((rows for rows in touched if rows.split == "feedback"), None),
        deployments=_deployments(diffs, {task.intent for task in (*before, *now) if task.target}),
    )


def _touches(diff: TaskDiff, frame: Frame, now: dict[str, PublishedTask]) -> bool:
    if frame.intent != diff.previous_intent:
        return False
    return any(_touches_row(change, frame, now.get(diff.intent)) for change in diff.changes)


def _touches_row(change: TaskChange, frame: Frame, task: PublishedTask | None) -> bool:
    if change.kind in _WHOLE_INTENT:
        return True
    values = [slot.value for slot in frame.slots if slot.name == change.slot]
    if change.kind in _ROWS_WITH_SLOT:
        return bool(values)
    spec = next((slot for slot in task.slots if slot.name == change.slot), None) if task else None
    return change.kind in _ROWS_THAT_BREAK and spec is not None and any(broken_rule(value, spec) for value in values)


def _deployments(diffs: Sequence[TaskDiff], deployable: set[str]) -> tuple[str, ...]:
    names = [
        name
        for diff in diffs
        if any(change.kind in _DEPLOYMENTS for change in diff.changes)
        for name in (diff.previous_intent, diff.intent)
        if name in deployable
    ]
    return tuple(dict.fromkeys(name for name in names if name))
