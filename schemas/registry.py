"""The registry of a domain: published task schemas, what changes between two versions, and how labels follow."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from schemas.base import Contract, Sha256, Slug
from schemas.task import Schedule, SemanticVersion, SlotSpec

Level = Literal["major", "minor", "patch"]
ChangeKind = Literal[
    "intent_removed",
    "intent_renamed",
    "task_replaced",
    "slot_removed",
    "slot_type_changed",
    "values_narrowed",
    "pattern_changed",
    "task_added",
    "target_found",
    "slot_added",
    "values_widened",
    "pattern_dropped",
    "schedule_changed",
    "flag_raised",
    "flag_cleared",
    "wording_changed",
    "phrasings_changed",
    "slot_wording_changed",
]
LabelFile = Literal["seeds", "pool", "valid", "eval", "review", "feedback"]


class PublishedSource(Contract):
    """A statement that a published task was read from. Its line is left out: it moves with every edit above it."""

    document: str = Field(description="Relative to the domain's folder")
    quote: str


class PublishedTask(Contract):
    """One file of the registry: a task as it was published, without what only its reading knows (notes, confidence)."""

    schema_version: Literal["1"] = "1"
    version: SemanticVersion = Field(description="Of this task")
    id: UUID = Field(description="As in TaskSchema: it outlives a renamed intent")
    intent: Slug
    action: Slug
    entity: str = Field(default="", description="What the document calls the target")
    target: Slug | None = Field(default=None, description="None: unknown to the glossary")
    qualifier: str = Field(default="", description="Tells tasks of the same action and target apart")
    description: str = ""
    phrasings: tuple[str, ...] = Field(default=(), description="How users may ask for it")
    slots: tuple[SlotSpec, ...] = ()
    schedule: Schedule | None = None
    flag: str = Field(
        default="", description="Why a person must look at a task with a known target; it is neither deployed nor run"
    )
    sources: tuple[PublishedSource, ...] = ()


class TaskChange(Contract):
    """One difference between a published task and what the documents say now."""

    kind: ChangeKind = Field(description="docs/registry.md says what each means")
    level: Level = Field(description="What it does to the version")
    slot: Slug | None = Field(default=None, description="The slot that changed; None: not a slot")
    before: str = Field(default="", description="In words; empty: there was none")
    after: str = Field(default="", description="In words; empty: there is none any more")


class TaskDiff(Contract):
    """All changes of one task."""

    intent: Slug = Field(description="Its name now; of a removed task the published one")
    previous_intent: Slug | None = Field(default=None, description="Its published name; None: it is new")
    published: SemanticVersion | None = Field(default=None, description="None: it is not published")
    next: SemanticVersion | None = Field(default=None, description="Version that publishing gives it; None: it is removed")
    level: Level = Field(description="The highest level of its changes")
    changes: tuple[TaskChange, ...] = Field(min_length=1, description="In the order of the level table")


class TouchedRows(Contract):
    """Labelled rows of one file that a change touches."""

    split: LabelFile
    file: str = Field(description="Relative to the domain's folder")
    rows: int = Field(ge=0, description="How many")
    ids: tuple[str, ...] = Field(description="Of all of them, in file order")


class Impact(Contract):
    """What the changes touch."""

    tasks: tuple[Slug, ...] = Field(description="Intents with a change of any level")
    slots: tuple[str, ...] = Field(description="Changed slots, as intent.slot")
    rows: tuple[TouchedRows, ...] = Field(description="Of seeds, pool, valid and review")
    evaluation: TouchedRows | None = Field(description="Of eval: figures before and after are no longer of the same rows")
    feedback: TouchedRows | None
    deployments: tuple[Slug, ...] = Field(description="By name, which is the intent: to be deployed again, or to be removed")


class CatalogueDiff(Contract):
    """What the documents say now against what is published."""

    schema_version: Literal["1"] = "1"
    domain: str
    published: SemanticVersion | None = Field(description="Of the catalogue; None: nothing is published yet")
    next: SemanticVersion | None = Field(description="Version that publishing gives the catalogue; None: nothing changed")
    level: Level | None = Field(description="The highest level of all changes; None: nothing changed")
    tasks: tuple[TaskDiff, ...] = Field(description="Tasks that changed, by intent")
    unchanged: int = Field(ge=0, description="Tasks that did not")
    impact: Impact


class ReleasedTask(Contract):
    """One task of a release."""

    intent: Slug
    previous_intent: Slug | None = Field(default=None, description="Its name before, where it was renamed")
    version: SemanticVersion | None = Field(default=None, description="None: removed with this release")
    level: Level = Field(description="The highest level of its changes")
    changes: tuple[str, ...] = Field(description="In words")


class CatalogueRelease(Contract):
    """One line of ``registry/history.jsonl``: one publication."""

    version: SemanticVersion = Field(description="Of the catalogue")
    date: datetime.date = Field(description="Day of publication, UTC")
    level: Level = Field(description="The highest level of its tasks")
    tasks: tuple[ReleasedTask, ...] = Field(description="Tasks that changed, by intent")


class SplitCondition(Contract):
    """What a row's label must hold."""

    slot: Slug = Field(description="Name before any renaming")
    present: bool = Field(default=True, description="False: the label has no such slot")
    values: tuple[str, ...] = Field(default=(), description="Any of these, without regard to case and width; empty: any value")


class SplitPart(Contract):
    """One part of an intent that is split. Row ids decide before conditions, a part with neither takes the rest."""

    into: Slug = Field(description="Intent that the rows get")
    when: SplitCondition | None = Field(default=None, description="Decides by the label")
    rows: tuple[str, ...] = Field(default=(), description="Ids of rows that belong here, whatever their label holds")


class MigrationMap(Contract):
    """``migration.yaml``: where labels go. Names on the left are those that rows carry before."""

    rename: Mapping[Slug, Slug] = Field(default={}, description="old: new")
    merge: Mapping[Slug, tuple[Slug, ...]] = Field(default={}, description="new: [old, old]")
    split: Mapping[Slug, tuple[SplitPart, ...]] = Field(default={}, description="old: parts")
    rename_slots: Mapping[Slug, Mapping[Slug, Slug]] = Field(default={}, description="old intent: {old slot: new slot}")
    drop_slots: Mapping[Slug, tuple[Slug, ...]] = Field(default={}, description="old intent: slots that labels lose")


class MigratedFile(Contract):
    """What a migration does to one file of labels."""

    split: LabelFile
    file: str = Field(description="Relative to the domain's folder")
    rows: int = Field(ge=0, description="Rows before")
    changed: int = Field(ge=0, description="Rows that get another label and stay in the file")
    set_aside: int = Field(ge=0, description="Rows that go to the review file")
    taken_back: int = Field(ge=0, description="Rows that come back from the review file")
    moves: Mapping[str, int] = Field(description="Changed rows by 'old intent -> new intent'")
    backup: str | None = Field(description="Copy of the file as it was, named by its hash; None: it did not change")


class MigrationReport(Contract):
    """What a migration did, or would do."""

    schema_version: Literal["1"] = "1"
    domain: str
    written: bool = Field(description="False: a dry run, or nothing to do")
    resumed: bool = Field(description="An interrupted migration or publication was finished first")
    files: tuple[MigratedFile, ...] = Field(description="Of every split that the domain has")
    waiting: int = Field(ge=0, description="Rows in the review file afterwards")
    eval_note: str = Field(description="What happens to the evaluation rows, in words")


class MigrationReviewRow(Contract):
    """One line of ``registry/migration-review.jsonl``: a row whose label nobody could decide."""

    id: str
    split: LabelFile
    line: int = Field(ge=1, description="Line of the file that it was taken from, where it goes back to")
    reason: str
    candidates: tuple[Slug, ...] = Field(description="Intents that it may belong to")
    row: Annotated[Mapping[str, Any], Field(description="The row as it was, unknown fields and all")]


class JournalEntry(Contract):
    """One file of a change that is made as a whole."""

    before: Sha256 | None = Field(description="Hash of the file that is replaced; None: there was none")
    text: str | None = Field(description="What the file holds afterwards; None: it is removed")


class Journal(Contract):
    """A change of several files that was decided on: it exists while the change is being made, and is finished after a kill."""

    files: Mapping[str, JournalEntry] = Field(description="By path relative to the domain's folder")
