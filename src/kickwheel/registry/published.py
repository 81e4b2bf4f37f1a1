"""``registry/`` of a domain: one YAML file a published task, and ``history.jsonl``, one line a publication."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import yaml

from kickwheel.errors import DomainError
from kickwheel.workspace import read_jsonl
from kickwheel.yaml_document import read_yaml
from schemas.registry import CatalogueRelease, PublishedSource, PublishedTask
from schemas.task import TaskSchema

FOLDER = "registry"
HISTORY = "history.jsonl"
_LINE = re.compile(r"\bline \d+ says\b")
"""In a flag: the line moves with every edit above it."""


@dataclass(frozen=True)
class Registry:
    """What is published."""

    tasks: tuple[PublishedTask, ...]
    history: tuple[CatalogueRelease, ...]

    @property
    def version(self) -> str | None:
        """Of the catalogue; None: nothing was ever published."""
        return self.history[-1].version if self.history else None

    def last_version(self, intent: str) -> str | None:
        """The last version of an intent that was removed or renamed away; None: there never was one of this name."""
        known = [task.version for release in self.history for task in release.tasks if task.version and task.intent == intent]
        return known[-1] if known else None


def task_file(folder: Path, intent: str) -> Path:
    """Where a task is published."""
    return folder / FOLDER / f"{intent}.yaml"


def history_file(folder: Path) -> Path:
    """Where publications are written down."""
    return folder / FOLDER / HISTORY


def read_registry(folder: Path) -> Registry:
    """The registry of a domain's folder; empty where nothing is published.

    Raises:
        InputError: a file does not hold; names file, line and field.
    """
    tasks = [_read_task(path) for path in sorted((folder / FOLDER).glob("*.yaml"))]
    history = history_file(folder)
    releases = read_jsonl(history, CatalogueRelease) if history.is_file() else []
    if tasks and not releases:
        raise DomainError("is missing, and tasks are published: which version do they belong to?", file=history)
    return Registry(tuple(tasks), tuple(releases))


def _read_task(path: Path) -> PublishedTask:
    task = read_yaml(path, PublishedTask)
    if task.intent != path.stem:
        raise DomainError(f"expected {path.stem!r}, the file's name, got {task.intent!r}", file=path, field="intent")
    return task


def published_versions(folder: Path) -> dict[UUID, str]:
    """Versions of the published tasks by id.

    Raises:
        InputError: as :func:`read_registry`.
    """
    return {task.id: task.version for task in read_registry(folder).tasks}


def published_form(task: TaskSchema, folder: Path, version: str) -> PublishedTask:
    """A task as it is published. Where the target is unknown, that is what its flag says."""
    return PublishedTask(
        version=version,
        id=task.id,
        intent=task.intent,
        action=task.action,
        entity=task.entity,
        target=task.target,
        qualifier=task.qualifier,
        description=task.description,
        phrasings=task.phrasings,
        slots=task.slots,
        schedule=task.schedule,
        flag=_LINE.sub("the document says", task.flag or "") if task.target else "",
        sources=tuple(
            PublishedSource(document=_relative(source.document, folder), quote=source.quote) for source in task.provenance
        ),
    )


def to_yaml(task: PublishedTask) -> str:
    """The file's text: keys in the contract's order, defaults left out."""
    data = {"schema_version": task.schema_version} | task.model_dump(mode="json", exclude_defaults=True)
    text: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=120)
    return text


def _relative(document: str, folder: Path) -> str:
    path = Path(document)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
