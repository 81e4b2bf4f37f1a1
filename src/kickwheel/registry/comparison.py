"""What the documents say now against what is published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kickwheel.domain_folder import Domain
from kickwheel.registry.changes import change, changes_between
from kickwheel.registry.impact import impact_of
from kickwheel.registry.published import Registry, published_form
from kickwheel.registry.versions import FIRST, bumped, highest
from schemas.registry import CatalogueDiff, PublishedTask, TaskChange, TaskDiff
from schemas.task import TaskCatalog


def compare(catalog: TaskCatalog, registry: Registry, domain: Domain) -> CatalogueDiff:
    """Changes of every task, the versions that they lead to, and what they touch.

    A task is known again by its id, else by its intent.

    Raises:
        InputError: a file of labels does not hold.
    """
    now = [published_form(task, domain.folder, FIRST) for task in catalog.tasks]
    diffs = sorted(_diffs(now, registry), key=lambda diff: diff.intent)
    level = highest(diff.level for diff in diffs)
    following = None
    if level:
        following = bumped(registry.version, level) if registry.version else FIRST
    return CatalogueDiff(
        domain=catalog.domain,
        published=registry.version,
        next=following,
        level=level,
        tasks=tuple(diffs),
        unchanged=len(now) - sum(diff.next is not None for diff in diffs),
        impact=impact_of(diffs, domain, registry.tasks, now),
    )


def pairs(now: Sequence[PublishedTask], registry: Registry) -> Iterator[tuple[PublishedTask | None, PublishedTask | None]]:
    """Published tasks beside the ones of now: by id first, so that a renamed intent is no removed one."""
    by_id = {task.id: task for task in registry.tasks}
    known = {task.intent: by_id[task.id] for task in now if task.id in by_id}
    left = {task.intent: task for task in registry.tasks if task.id not in {found.id for found in known.values()}}
    for task in now:
        yield known.get(task.intent) or left.pop(task.intent, None), task
    for task in left.values():
        yield task, None


def _diffs(now: Sequence[PublishedTask], registry: Registry) -> Iterator[TaskDiff]:
    for before, after in pairs(now, registry):
        if after is None and before is not None:
            yield _diff(before, None, [change("intent_removed")], None)
        elif after is not None and before is None:
            earlier = registry.last_version(after.intent)
            version = bumped(earlier, "major") if earlier else FIRST
            yield _diff(None, after, [change("task_added")], version)
        elif before is not None and after is not None and (found := changes_between(before, after)):
            yield _diff(before, after, found, bumped(before.version, highest(item.level for item in found) or "patch"))


def _diff(
    before: PublishedTask | None, after: PublishedTask | None, changes: Sequence[TaskChange], version: str | None
) -> TaskDiff:
    shown = after or before
    assert shown is not None  # noqa: S101 (a pair has at least one side)
    return TaskDiff(
        intent=shown.intent,
        previous_intent=before.intent if before else None,
        published=before.version if before else None,
        next=version,
        level=highest(item.level for item in changes) or "patch",
        changes=tuple(changes),
    )
