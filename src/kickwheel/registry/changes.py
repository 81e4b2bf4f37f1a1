"""What changed between a published task and the same task now."""

from __future__ import annotations

from collections.abc import Iterator

from kickwheel.registry.versions import LEVELS
from schemas.registry import ChangeKind, PublishedTask, TaskChange
from schemas.task import Schedule, SlotSpec


def changes_between(before: PublishedTask, after: PublishedTask) -> list[TaskChange]:
    """Changes in the order of the level table; none where only the version differs."""
    found = [*_task_changes(before, after), *_slot_changes(before, after)]
    if not found and before.model_copy(update={"version": after.version}) != after:
        found = [change("slot_wording_changed", before="", after="order of slots")]
    order = list(LEVELS)
    return sorted(found, key=lambda item: order.index(item.kind))


def change(kind: ChangeKind, *, slot: str | None = None, before: str = "", after: str = "") -> TaskChange:
    """A change with its level."""
    return TaskChange(kind=kind, level=LEVELS[kind], slot=slot, before=before, after=after)


def in_words(item: TaskChange) -> str:
    """A change as a person reads it: ``slot_removed region``, ``schedule_changed: 0 9 * * * UTC -> 0 10 * * * UTC``."""
    head = " ".join(filter(None, (item.kind, item.slot)))
    if not item.before and not item.after:
        return head
    return f"{head}: {item.before or '(none)'} -> {item.after or '(none)'}"


def _task_changes(before: PublishedTask, after: PublishedTask) -> Iterator[TaskChange]:
    if before.intent != after.intent:
        yield change("intent_renamed", before=before.intent, after=after.intent)
    if before.id != after.id or _does(before) != _does(after):
        learnt = before.target is None and (before.action, before.qualifier) == (after.action, after.qualifier)
        yield change("target_found" if learnt else "task_replaced", before=_does(before), after=_does(after))
    if before.schedule != after.schedule:
        yield change("schedule_changed", before=_time(before.schedule), after=_time(after.schedule))
    if before.flag != after.flag:
        yield change("flag_raised" if after.flag else "flag_cleared", before=before.flag, after=after.flag)
    for name in ("description", "entity"):
        if getattr(before, name) != getattr(after, name):
            yield change("wording_changed", before=getattr(before, name), after=getattr(after, name))
    if before.sources != after.sources:
        yield change("wording_changed", before=_quotes(before), after=_quotes(after))
    if before.phrasings != after.phrasings:
        yield change("phrasings_changed", before="; ".join(before.phrasings), after="; ".join(after.phrasings))


def _slot_changes(before: PublishedTask, after: PublishedTask) -> Iterator[TaskChange]:
    old, new = {slot.name: slot for slot in before.slots}, {slot.name: slot for slot in after.slots}
    yield from (change("slot_removed", slot=name, before=old[name].type) for name in old if name not in new)
    yield from (change("slot_added", slot=name, after=new[name].type) for name in new if name not in old)
    for name in old:
        if name in new:
            yield from _spec_changes(old[name], new[name])


def _spec_changes(before: SlotSpec, after: SlotSpec) -> Iterator[TaskChange]:
    name = before.name
    if before.type != after.type:
        yield change("slot_type_changed", slot=name, before=before.type, after=after.type)
    elif after.type == "enum":
        lost, gained = set(before.values) - set(after.values), set(after.values) - set(before.values)
        if lost:
            yield change("values_narrowed", slot=name, before=_listed(before), after=_listed(after))
        elif gained:
            yield change("values_widened", slot=name, before=_listed(before), after=_listed(after))
        elif before.values != after.values:
            yield change("slot_wording_changed", slot=name, before=_listed(before), after=_listed(after))
    elif before.values != after.values:
        yield change("slot_wording_changed", slot=name, before=_listed(before), after=_listed(after))
    if before.pattern != after.pattern:
        kind: ChangeKind = "pattern_changed" if after.pattern else "pattern_dropped"
        yield change(kind, slot=name, before=before.pattern, after=after.pattern)
    if before.description != after.description:
        yield change("slot_wording_changed", slot=name, before=before.description, after=after.description)


def _does(task: PublishedTask) -> str:
    return " ".join(filter(None, (task.action, task.target or task.entity, task.qualifier)))


def _time(schedule: Schedule | None) -> str:
    return f"{schedule.cron or schedule.rrule} {schedule.zone}" if schedule else ""


def _quotes(task: PublishedTask) -> str:
    return "; ".join(f"{source.document}: {source.quote}" for source in task.sources)


def _listed(slot: SlotSpec) -> str:
    return ", ".join(slot.values)
