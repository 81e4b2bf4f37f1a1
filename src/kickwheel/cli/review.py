"""``kickwheel review``: rows that wait for people, on a page, in files, in Label Studio, and how far they are."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from kickwheel.cli import review_flow, review_serve
from kickwheel.cli.output import fail, messages, results

if TYPE_CHECKING:
    from kickwheel.review.queue import DomainReview
    from schemas.review import ReviewStatus


class _ServeByDefault(TyperGroup):
    """``kickwheel review DOMAIN`` is ``kickwheel review serve DOMAIN``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["serve", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Rows that wait for people. `kickwheel review DOMAIN` opens the page.", no_args_is_help=True, cls=_ServeByDefault
)
app.command("serve")(review_serve.command)
app.command("wait")(review_flow.wait)
app.command("resume")(review_flow.resume)

DomainFolder = Annotated[Path, typer.Argument(help="Folder of the domain")]


class Format(StrEnum):
    """What a file is written for."""

    JSONL = "jsonl"
    LABEL_STUDIO = "label-studio"


class Rows(StrEnum):
    """Which rows are written."""

    OPEN = "open"
    CONFLICTS = "conflicts"
    ANSWERED = "answered"
    ALL = "all"


@app.command("export")
def export_rows(
    domain: DomainFolder,
    file: Annotated[Path, typer.Argument(help="File to write")],
    kind: Annotated[Format, typer.Option("--format", help="jsonl, or tasks for Label Studio")] = Format.JSONL,
    rows: Annotated[Rows, typer.Option(help="open: to be filled in, without others' answers")] = Rows.OPEN,
) -> None:
    """Write rows of the queue: JSONL to be filled in, or tasks for Label Studio with its labelling interface beside them.

    Examples:

        kickwheel review export examples/dataops rows.jsonl

        kickwheel review export examples/dataops answers.jsonl --rows all

        kickwheel review export examples/dataops tasks.json --format label-studio
    """
    from kickwheel.review.exchange import sheet
    from kickwheel.review.label_studio import interface, tasks
    from kickwheel.workspace import write_atomically, write_jsonl

    review = open_review(domain)
    standings = review.standings()
    if kind is Format.JSONL:
        count = write_jsonl(file, sheet(standings, rows.value)).rows
    else:
        listed = tasks(standings, rows.value)
        write_atomically(file, listed.text)
        write_atomically(file.with_suffix(".xml"), interface(review.catalog))
        count = listed.rows
        messages().print(f"labelling interface: {file.with_suffix('.xml')}", markup=False, soft_wrap=True)
    messages().print(f"{count} rows: {file}", markup=False, soft_wrap=True)


@app.command("import")
def import_answers(
    domain: DomainFolder,
    file: Annotated[Path, typer.Argument(help="A filled-in export, or Label Studio's JSON export")],
    kind: Annotated[Format, typer.Option("--format", help="jsonl, or Label Studio's JSON export")] = Format.JSONL,
    reviewer: Annotated[str, typer.Option(help="Whose the answers are, where the file does not say")] = "",
) -> None:
    """Take answers from a file. All of it or nothing; importing it again changes nothing; exit code 2 where it does not hold.

    Examples:

        kickwheel review import examples/dataops rows.jsonl --reviewer ana

        kickwheel review import examples/dataops project-1.json --format label-studio
    """
    from kickwheel.review.exchange import read_sheet, take
    from kickwheel.review.label_studio import read_annotations
    from kickwheel.review.standing import status_of

    review = open_review(domain)
    read = read_sheet if kind is Format.JSONL else read_annotations
    answers, problems = read(file, review.standings(), review.catalog, reviewer=reviewer, at=datetime.now(UTC))
    for problem in problems:
        fail(problem)
    if problems:
        messages().print("nothing was taken: correct the file and import it again")
        raise typer.Exit(2)
    taken = take(answers, review.log)
    told = f"{taken.added} answers taken, {taken.known} known before"
    if taken.superseded:
        told += f", {taken.superseded} left out: their reviewer has changed them since"
    messages().print(told)
    _tell_conflicts(status_of(review.domain.name, review.standings()))


@app.command("status")
def show_status(
    domain: DomainFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Say how many rows are open, settled and in conflict, who has answered what, and how far reviewers agree.

    Examples:

        kickwheel review status examples/dataops

        kickwheel review status examples/dataops --json | jq .pairs
    """
    from kickwheel.review.standing import status_of

    review = open_review(domain)
    status = status_of(review.domain.name, review.standings())
    if as_json:
        sys.stdout.write(status.model_dump_json(indent=1) + "\n")
        return
    sys.stdout.write(
        f"{status.domain}: {status.rows} rows, {status.settled} settled, {status.open} open ({status.skipped} skipped), "
        f"{len(status.conflicts)} in conflict\n"
    )
    people = _table("reviewer", "answered", "suggestion accepted", "skipped")
    for one in status.reviewers:
        people.add_row(Text(one.name), str(one.answered), str(one.accepted), str(one.skipped))
    pairs = _table("pair", "rows of both", "same intent", "same label", "Cohen's kappa")
    for pair in status.pairs:
        shares = (f"{pair.same_intent:.0%}", f"{pair.same_frame:.0%}", _figure(pair.kappa))
        pairs.add_row(Text(" / ".join(pair.reviewers)), str(pair.shared), *shares)
    for table in (people, pairs):
        if table.row_count:
            results().print(table)
    if status.pairs:
        sys.stdout.write(f"Krippendorff's alpha of the intents: {_figure(status.alpha)}\n")
    _tell_conflicts(status)


def open_review(folder: Path) -> DomainReview:
    """A domain's queue and answers.

    Raises:
        DomainError: the folder does not hold.
    """
    from kickwheel.domain import load_domain
    from kickwheel.review.queue import DomainReview

    domain = load_domain(folder)
    return DomainReview(domain, domain.resolved_settings().home)


def _tell_conflicts(status: ReviewStatus) -> None:
    for conflict in status.conflicts:
        said = "; ".join(
            f"{answer.reviewer}: {answer.frame.intent} {answer.frame.values or ''}".rstrip()
            for answer in conflict.answers
            if answer.frame
        )
        messages().print(f"conflict {conflict.id} {conflict.text!r}: {said}", markup=False, soft_wrap=True)


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in headers:
        table.add_column(header)
    return table


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"
