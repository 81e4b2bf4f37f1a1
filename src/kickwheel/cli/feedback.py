"""``kickwheel feedback``: events about served answers, in and out of the domain's store, and what they say."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.output import fail, messages, results
from kickwheel.cli.reading import refusals

if TYPE_CHECKING:
    from pydantic import BaseModel

    from schemas.evidence import CaseEvidence

app = typer.Typer(help="Events about served answers: import, export, status, signals, bad cases, erase.", no_args_is_help=True)

DomainFolder = Annotated[Path, typer.Argument(help="Folder of the domain")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing")]


@app.command("import")
def import_events(
    domain: DomainFolder,
    file: Annotated[Path, typer.Argument(help="JSONL of inference records and events, in any order; - reads stdin")],
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take records and events from a file. What is there already, by id, counts once; importing again changes nothing.

    A line that does not hold ends the command with 2 before anything is written.

    Examples:

        kickwheel feedback import examples/dataops events.jsonl

        kickwheel feedback export examples/dataops | ssh other kickwheel feedback import dataops - --json
    """
    from rich.progress import track

    from kickwheel.domain import load_domain
    from kickwheel.feedback.exchange import imported, parsed_lines, submissions
    from kickwheel.feedback.opening import opened_store

    with refusals():
        found = load_domain(domain)
        settings = found.resolved_settings()
        lines = sys.stdin if str(file) == "-" else None
        facts = list(parsed_lines(file, lines))
        if dry_run:
            result = imported(facts)
        else:
            parts = submissions(facts)
            with opened_store(settings, found.name) as store:
                receipts = [store.add([part])[0] for part in track(parts, "importing", console=messages(), transient=True)]
            result = imported(facts, receipts)
    _show(result, as_json, f"{result.records} records, {result.events} events read; {result.added} events are new")


@app.command("export")
def export_events(
    domain: DomainFolder,
    file: Annotated[Path | None, typer.Argument(help="File to write; without it: stdout")] = None,
) -> None:
    """Write all records and events as JSONL, oldest first: `import` takes it.

    Example:

        kickwheel feedback export examples/dataops events.jsonl
    """
    from kickwheel.domain import load_domain
    from kickwheel.feedback.opening import opened_store
    from kickwheel.workspace import write_jsonl

    with refusals():
        found = load_domain(domain)
        with opened_store(found.resolved_settings(), found.name) as store:
            if file is None:
                for item in store.everything():
                    sys.stdout.write(item.model_dump_json() + "\n")
            else:
                rows = write_jsonl(file, store.everything()).rows
                messages().print(f"{rows} rows: {file}", markup=False, soft_wrap=True)


@app.command("status")
def status(domain: DomainFolder, as_json: AsJson = False) -> None:
    """Say how much the store holds: by kind of event, what waits for its answer, how many users.

    Example:

        kickwheel feedback status examples/dataops --json | jq .waiting
    """
    from kickwheel.domain import load_domain
    from kickwheel.feedback.opening import opened_store

    with refusals():
        found = load_domain(domain)
        with opened_store(found.resolved_settings(), found.name) as store:
            result = store.status()
    kinds = ", ".join(f"{kind} {number}" for kind, number in result.by_kind.items()) or "none"
    text = (
        f"{result.store}\n{result.inferences} answers, {result.events} events of {result.users} users\nevents: {kinds}\n"
        f"{result.waiting} wait for an answer that is not known yet, {result.session_level} are about a session as a whole"
    )
    _show(result, as_json, text)


@app.command("signals")
def signals(
    domain: DomainFolder,
    text: Annotated[str, typer.Option(help="Only this text, in any spelling")] = "",
    conflicts: Annotated[bool, typer.Option("--conflicts", help="Only cases with a conflict")] = False,
    most: Annotated[int, typer.Option("--limit", min=1, help="Cases to show in words")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the evidence about each case: figures by source, conflicts, whether the label moves, or why it does not.

    Examples:

        kickwheel feedback signals examples/dataops

        kickwheel feedback signals examples/dataops --conflicts --json | jq '.cases[].candidates'
    """
    from kickwheel.domain import load_domain
    from kickwheel.feedback.evidence import feedback_signals
    from kickwheel.feedback.opening import opened_store
    from kickwheel.spellings import case_key

    with refusals():
        found = load_domain(domain)
        settings = found.resolved_settings()
        cases = [case_key(text)] if text else None
        with opened_store(settings, found.name) as store:
            result = feedback_signals(store, settings.distillation, now=datetime.now(UTC), cases=cases)
    if conflicts:
        result = result.model_copy(update={"cases": tuple(case for case in result.cases if case.conflict)})
    lines = [line for case in result.cases[:most] for line in _case_lines(case)]
    lines.append(f"{len(result.cases)} cases shown, {result.moving} move their label, {result.conflicts} conflicts")
    _show(result, as_json, "\n".join(lines))


@app.command("bad-cases")
def bad_cases(
    domain: DomainFolder,
    write: Annotated[bool, typer.Option("--write", help="Keep them as review tasks and as targets of the next lap")] = False,
    as_json: AsJson = False,
) -> None:
    """Cluster answers that went wrong, by fingerprint and text; the worst clusters come first.

    With --write the top clusters (feedback.bad_case_share) become questions for people and rows of the next lap's pool.

    Examples:

        kickwheel feedback bad-cases examples/dataops

        kickwheel feedback bad-cases examples/dataops --write --json | jq '.clusters[].texts'
    """
    from kickwheel.domain import load_domain
    from kickwheel.feedback.bad_case_rows import write_targets
    from kickwheel.feedback.bad_cases import bad_case_report
    from kickwheel.feedback.opening import opened_store
    from kickwheel.seeding.personal_data import masked

    with refusals():
        found = load_domain(domain)
        settings = found.resolved_settings()
        with opened_store(settings, found.name) as store:
            result = bad_case_report(store, settings, now=datetime.now(UTC))
        if write:
            mask = masked if settings.seeding.mask_personal_data else None
            rows = write_targets(result, settings.home, found.name, pool=found.rows("pool"), masked=mask)
            messages().print(f"{rows} rows wait for people and for the next lap's seeding")
    lines = [
        f"{item.severity:6.1f}  {item.answers} answers, {len(item.texts)} texts  {item.fingerprint}\n        {item.texts[0]}"
        for item in result.clusters
    ]
    lines.append(f"{result.bad} of {result.answers} answers went wrong, in {result.all_clusters} clusters; the worst are shown")
    _show(result, as_json, "\n".join(lines))


@app.command("erase")
def erase(
    domain: DomainFolder,
    user: Annotated[str, typer.Option(help="Pseudonymous id of the user")] = "",
    older_than_days: Annotated[float, typer.Option(min=0, help="What is older; without: feedback.retention_days")] = 0,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove what is known of a user (answers, events about them, copies in laps), or what is older than the retention.

    Models that were trained on it are not changed: the laps with copies are named, so that you can decide on them.
    Exit code 2: neither a user nor a retention is given.

    Examples:

        kickwheel feedback erase examples/dataops --user u-17 --dry-run

        kickwheel feedback erase examples/dataops --older-than-days 90
    """
    from kickwheel.domain import load_domain
    from kickwheel.errors import InputError
    from kickwheel.feedback.lap_erasure import erase_copies
    from kickwheel.feedback.opening import opened_store
    from kickwheel.feedback.retention import apply_retention

    with refusals():
        found = load_domain(domain)
        settings = found.resolved_settings()
        days = older_than_days or settings.feedback.retention_days
        if not user and not days:
            raise typer.Exit(fail(InputError("give --user, --older-than-days or set feedback.retention_days")))
        if user:
            with opened_store(settings, found.name) as store:
                result = store.erase(user, dry_run=dry_run)
                laps = erase_copies(settings.home, found.name, user, dry_run=dry_run)
                result = result.model_copy(update={"laps": laps})
        else:
            result = apply_retention(settings, found.name, now=datetime.now(UTC), days=days, dry_run=dry_run)
    would = "would be " if dry_run else ""
    laps_told = f"; laps with copies: {', '.join(map(str, result.laps))}" if result.laps else ""
    _show(result, as_json, f"{result.inferences} answers and {result.events} events {would}removed{laps_told}")


def _case_lines(case: CaseEvidence) -> list[str]:
    verdict = "moves" if case.moves else f"held back: {case.held_back}"
    waiting = f", {case.labels_waiting} labels count from tomorrow" if case.labels_waiting else ""
    lines = [f"{case.text}", f"  {case.answers} answers, {len(case.signals)} signals, {verdict}{waiting}"]
    for item in case.candidates:
        sources = ", ".join(f"{source} {figure:+.2f}" for source, figure in item.by_source.items())
        values = " ".join(f"{slot.name}={slot.value}" for slot in item.frame.slots)
        conflict = "  CONFLICT" if item.conflict else ""
        people = f"{item.supporters} for, {item.opponents} against"
        lines.append(
            f"  {item.fused:+.2f}  {item.frame.intent} {values}".rstrip() + f"  ({sources}; users: {people}){conflict}"
        )
    return lines


def _show(result: BaseModel, as_json: bool, text: str) -> None:
    if as_json:
        sys.stdout.write(result.model_dump_json(indent=1) + "\n")
    else:
        results().print(text, markup=False, soft_wrap=True)
