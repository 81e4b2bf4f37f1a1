"""``kickwheel intent``: what requirement documents become."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from kickwheel.cli import intent_deploy, intent_execute, intent_registry, intent_text
from kickwheel.cli.output import messages, results
from kickwheel.cli.reading import reading_progress, refusals

app = typer.Typer(help="Requirement documents and the tasks that they become.", no_args_is_help=True)
app.command("execute")(intent_execute.command)
app.command("deploy")(intent_deploy.command)
app.command("text")(intent_text.command)
app.command("diff")(intent_registry.diff)
app.command("publish")(intent_registry.publish)
app.command("migrate")(intent_registry.migrate)


class CronFormat(StrEnum):
    """How cron expressions are read and written."""

    STANDARD = "standard"
    SECONDS_FIRST = "seconds-first"


class RecogniserName(StrEnum):
    """Who reads statements."""

    RULES = "rules"
    LLM = "llm"
    HYBRID = "hybrid"


Reader = Annotated[
    RecogniserName | None,
    typer.Option(
        "--recogniser",
        help="rules, llm (the teacher's endpoint) or hybrid (it suggests what rules refuse); default: intent.recogniser",
    ),
]
Zone = Annotated[str | None, typer.Option(help="IANA zone of times for which neither statement nor document names one")]


@app.command("map")
def map_files(
    files: Annotated[
        list[Path], typer.Argument(help="Documents (.md, .txt, .docx, .pdf, .html) or domain folders; - reads stdin as text")
    ],
    zone: Zone = None,
    recogniser: Reader = None,
    glossary: Annotated[
        Path | None, typer.Option(help="glossary.yaml of business words; default: the domain's around FILE")
    ] = None,
    now: Annotated[str | None, typer.Option(help="Time from which --preview counts, ISO 8601; default: now")] = None,
    cron_format: Annotated[CronFormat, typer.Option(help="seconds-first: six fields, read and written")] = CronFormat.STANDARD,
    preview: Annotated[int, typer.Option(min=0, max=100, help="Add the next N fire times, with daylight saving notes")] = 0,
    as_json: Annotated[bool, typer.Option("--json/--table", help="One JSON object a line, or a table")] = True,
) -> None:
    """Map documents: one line a task or rejection. Rejections are results: the exit code stays 0.

    Examples:

        kickwheel intent map requirements.md --zone UTC

        echo 每日9点同步用户订单至数据湖 | kickwheel intent map - --zone Asia/Shanghai --preview 3

        kickwheel intent map examples/dataops --cron-format seconds-first --table
    """
    from kickwheel.cli.intent_lines import MapOptions, map_lines

    with refusals(), reading_progress() as progress:
        options = MapOptions(
            zone=zone,
            glossary=glossary,
            now=_instant(now),
            seconds_first=cron_format is CronFormat.SECONDS_FIRST,
            preview=preview,
            recogniser=recogniser.value if recogniser else None,
            progress=progress,
        )
        lines = map_lines(files, options, stdin=sys.stdin)
    if as_json:
        for line in lines:
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        return
    table = _table("statement", "task", "schedule", "zone", "why not, or what to know")
    for line in lines:
        task = f"{line['action']} {line['target'] or '?'}" if line["status"] == "mapped" else f"[yellow]{line['reason']}[/]"
        about = " ".join(
            filter(None, [line["question"], line["flag"], *line["notes"], *(fire["at"] for fire in line.get("next", []))])
        )
        table.add_row(line["quote"], task, line["cron"] or line["rrule"] or "", line["zone"] or "", about)
    results().print(table)


@app.command("check")
def check_mapping(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    recogniser: Reader = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object")] = False,
) -> None:
    """Compare what statements become with the domain's expected.jsonl. Exit code 1 on a miss.

    Examples:

        kickwheel intent check examples/dataops

        kickwheel intent check examples/dataops --json | jq .missed
    """
    from kickwheel.domain import load_domain
    from kickwheel.errors import DomainError
    from kickwheel.intent.expectations import Expectation, check_expectations
    from kickwheel.intent.recogniser_adapter import open_recogniser
    from kickwheel.workspace import read_jsonl

    with refusals(), reading_progress() as progress:
        found = load_domain(domain)
        if found.expected is None:
            raise DomainError("there is no expected.jsonl to compare with", file=domain)
        expected = read_jsonl(found.expected, Expectation)
        if not expected:
            raise DomainError("holds no statement, so there is nothing to compare with", file=found.expected)
        settings = found.resolved_settings()
        with open_recogniser(
            settings,
            found.glossary(),
            domain=found.name,
            knowledge=found.knowledge,
            choice=recogniser.value if recogniser else None,
            progress=progress,
        ) as reader:
            verdicts = check_expectations(
                expected,
                domain=found.name,
                zone=found.zone,
                recogniser=reader,
                min_interval_minutes=settings.intent.min_interval_minutes,
            )
    missed = [verdict for verdict in verdicts if verdict.missed]
    if as_json:
        report = {
            "domain": found.name,
            "statements": len(verdicts),
            "missed": len(missed),
            "wrongly_accepted": sum(verdict.wrongly_accepted for verdict in missed),
            "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
        }
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        table = _table("statement", "triple", "schema field", "verdict")
        for verdict in verdicts:
            triple = "; ".join(
                " / ".join(filter(None, (line.action, line.entity, line.cron or line.rrule))) or str(line.reason)
                for line in verdict.got
            )
            fields = "; ".join(" ".join(filter(None, (line.intent, line.zone))) or line.status for line in verdict.got)
            told = f"[red]miss: {', '.join(verdict.missed)}[/]" if verdict.missed else "[green]ok[/]"
            table.add_row(verdict.statement, triple, fields, told)
        results().print(table)
        messages().print(f"{len(verdicts) - len(missed)} of {len(verdicts)} as expected")
    if missed:
        raise typer.Exit(1)


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _instant(text: str | None) -> datetime:
    """An aware time; without an offset it is UTC, never the host's zone."""
    if text is None:
        return datetime.now(UTC)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no ISO 8601 time, e.g. 2026-03-01T12:00:00Z", param_hint="--now") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
