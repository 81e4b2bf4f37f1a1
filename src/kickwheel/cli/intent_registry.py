"""``kickwheel intent diff``, ``publish`` and ``migrate``: versions of a domain's tasks, and labels that follow them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.output import fail, messages
from kickwheel.cli.reading import refusals

if TYPE_CHECKING:
    from schemas.registry import CatalogueDiff, MigrationReport
    from schemas.task import TaskCatalog

DomainFolder = Annotated[Path, typer.Argument(help="Folder of the domain")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen and write nothing")]
_IDS_SHOWN = 5


def diff(domain: DomainFolder, as_json: AsJson = False) -> None:
    """Compare what the documents say now with the registry: changes, next versions, and what they touch.

    Examples:

        kickwheel intent diff examples/dataops

        kickwheel intent diff examples/dataops --json | jq .impact.rows
    """
    from kickwheel.domain import load_domain
    from kickwheel.execution.execute import tasks_of
    from kickwheel.registry.comparison import compare
    from kickwheel.registry.journal import refuse_pending
    from kickwheel.registry.published import read_registry

    with refusals():
        found = load_domain(domain)
        refuse_pending(found.folder)
        catalog = tasks_of(found)
        result = compare(catalog, read_registry(found.folder), found)
    _print_diff(result, as_json)
    _point_at_rejections(result, catalog)


def publish(domain: DomainFolder, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Write the registry: one file a task, a line of history. Where nothing changed, nothing is written.

    Examples:

        kickwheel intent publish examples/dataops --dry-run

        kickwheel intent publish examples/dataops
    """
    from kickwheel.domain import load_domain
    from kickwheel.execution.execute import tasks_of
    from kickwheel.registry.publication import publish as publish_catalogue

    with refusals():
        found = load_domain(domain)
        now = datetime.now(UTC)
        catalog = tasks_of(found)
        result = publish_catalogue(catalog, found, today=now.date(), dry_run=dry_run)
    _print_diff(result, as_json)
    _point_at_rejections(result, catalog)
    if result.next:
        messages().print(f"{'would publish' if dry_run else 'published'} {result.domain} {result.next}", markup=False)


def migrate(
    domain: DomainFolder,
    map_file: Annotated[
        Path, typer.Argument(metavar="MAP", help="migration.yaml: rename, merge, split, rename_slots, drop_slots")
    ],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Move labels to the intents that the documents name now. What the map can't decide goes to a review file.

    Examples:

        kickwheel intent migrate examples/dataops migration.yaml --dry-run

        kickwheel intent migrate examples/dataops migration.yaml
    """
    from kickwheel.domain import load_domain
    from kickwheel.execution.execute import tasks_of
    from kickwheel.registry.migration import migrate as migrate_labels
    from kickwheel.yaml_document import YamlProblems

    with refusals():
        found = load_domain(domain)
        try:
            report = migrate_labels(found, map_file, tasks_of(found), dry_run=dry_run)
        except YamlProblems as error:
            for problem in error.problems[:-1]:
                fail(problem)
            raise error.problems[-1] from None
    if as_json:
        sys.stdout.write(report.model_dump_json(indent=1) + "\n")
    else:
        _print_report(report)


def _print_diff(result: CatalogueDiff, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(result.model_dump_json(indent=1) + "\n")
        return
    if result.next is None:
        sys.stdout.write(f"{result.domain} {result.published or ''}: nothing changed\n")
        return
    from kickwheel.registry.changes import in_words

    lines = [f"{result.domain} {result.published or '(not published)'} -> {result.next} ({result.level})"]
    for task in result.tasks:
        lines.append(f"  {task.intent} {task.published or 'new'} -> {task.next or 'removed'} ({task.level})")
        lines += [f"    {change.level}: {in_words(change)}" for change in task.changes]
    impact = result.impact
    touched = [*impact.rows, *filter(None, (impact.evaluation, impact.feedback))]
    lines += ["touched:"] if touched or impact.deployments else []
    for rows in touched:
        more = ", …" if rows.rows > _IDS_SHOWN else ""
        lines.append(f"  {rows.file}: {rows.rows} rows ({', '.join(rows.ids[:_IDS_SHOWN])}{more})")
    if impact.deployments:
        lines.append(f"  deployments: {', '.join(impact.deployments)}")
    sys.stdout.write("\n".join(lines) + "\n")


def _point_at_rejections(result: CatalogueDiff, catalog: TaskCatalog) -> None:
    """A statement that was edited into one that is refused looks like a removed task."""
    removed = [task.intent for task in result.tasks if task.next is None]
    if removed and catalog.rejections:
        told = "; ".join(f"{item.source.document}:{item.source.line} ({item.reason})" for item in catalog.rejections)
        messages().print(
            f"removed: {', '.join(removed)}. Is it one of the statements that are rejected now? {told}", markup=False
        )


def _print_report(report: MigrationReport) -> None:
    lines = ["an interrupted change was finished first"] if report.resumed else []
    for file in report.files:
        if file.backup:
            lines.append(
                f"{file.file}: {file.changed} of {file.rows} rows relabelled, {file.set_aside} set aside, "
                f"{file.taken_back} taken back; before: {file.backup}"
            )
            lines += [f"  {move}: {count}" for move, count in file.moves.items()]
    if not any(file.backup for file in report.files):
        lines.append("nothing changed")
    elif not report.written:
        lines.append("dry run: nothing was written")
    lines.append(f"eval: {report.eval_note}")
    if report.waiting:
        lines.append(
            f"{report.waiting} rows wait in registry/migration-review.jsonl: name them under rows: in the map, run it again"
        )
    sys.stdout.write("\n".join(lines) + "\n")
