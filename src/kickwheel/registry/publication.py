"""Publishing: the registry becomes what the documents say now, all of it or nothing."""

from __future__ import annotations

import datetime
from pathlib import Path

from kickwheel.domain_folder import Domain
from kickwheel.registry.changes import in_words
from kickwheel.registry.comparison import compare
from kickwheel.registry.journal import finish_pending, refuse_pending, write_together
from kickwheel.registry.published import history_file, published_form, read_registry, task_file, to_yaml
from schemas.registry import CatalogueDiff, CatalogueRelease, ReleasedTask
from schemas.task import TaskCatalog


def publish(catalog: TaskCatalog, domain: Domain, *, today: datetime.date, dry_run: bool = False) -> CatalogueDiff:
    """Write the registry; where nothing changed, nothing is written. An interrupted publication is finished first.

    Args:
        today: day of the publication, UTC.

    Returns:
        What changed against the registry as it was.

    Raises:
        InputError: the registry or a file of labels does not hold.
    """
    folder = domain.folder
    if dry_run:
        refuse_pending(folder)
    else:
        finish_pending(folder)
    diff = compare(catalog, read_registry(folder), domain)
    if diff.next is None or diff.level is None or dry_run:
        return diff
    release = CatalogueRelease(
        version=diff.next,
        date=today,
        level=diff.level,
        tasks=tuple(
            ReleasedTask(
                intent=task.intent,
                previous_intent=task.previous_intent if task.previous_intent != task.intent else None,
                version=task.next,
                level=task.level,
                changes=tuple(in_words(item) for item in task.changes),
            )
            for task in diff.tasks
        ),
    )
    write_together(folder, _files(catalog, diff, folder) | {history_file(folder): _history(folder, release)})
    return diff


def _files(catalog: TaskCatalog, diff: CatalogueDiff, folder: Path) -> dict[Path, str | None]:
    """Files of the tasks that changed; None: to be removed."""
    tasks = {task.intent: task for task in catalog.tasks}
    gone = [task.previous_intent for task in diff.tasks if task.previous_intent and task.previous_intent not in tasks]
    files: dict[Path, str | None] = {task_file(folder, intent): None for intent in gone}
    for changed in diff.tasks:
        if changed.next:
            published = published_form(tasks[changed.intent], folder, changed.next)
            files[task_file(folder, changed.intent)] = to_yaml(published)
    return files


def _history(folder: Path, release: CatalogueRelease) -> str:
    path = history_file(folder)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    return f"{before}{release.model_dump_json(exclude_none=True)}\n"
