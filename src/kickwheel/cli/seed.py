"""``kickwheel seed``: what labelling would take, and what changed between versions of the labelled rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.output import results
from kickwheel.cli.reading import refusals

if TYPE_CHECKING:
    from schemas.seed_versions import SeedPlan, SeedSetDiff

app = typer.Typer(help="Labelled rows: plan their labelling, compare their versions.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object")]
_IDS_SHOWN = 10


@app.command("plan")
def plan(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say what the seeding stage of the next lap would ask and cost: rows, calls, tokens, money, time under the limits.

    No call is made and nothing is written. The lap is the one that `kickwheel run` would take up or open.

    Examples:

        kickwheel seed plan examples/dataops

        KICKWHEEL_TEACHER__REQUESTS_PER_MINUTE=60 kickwheel seed plan examples/dataops --json | jq .least_seconds
    """
    from kickwheel.domain import load_domain
    from kickwheel.intent.mapping import map_requirements
    from kickwheel.seeding.plan import plan_seeding
    from kickwheel.workspace import next_lap
    from schemas.task import TaskCatalog

    with refusals():
        found = load_domain(domain)
        settings = found.resolved_settings()
        lap = next_lap(settings.home, found.name)
        if lap.has("intent"):
            catalog = lap.load("intent", TaskCatalog)
        else:
            catalog = map_requirements(
                found.requirement_files,
                domain=found.name,
                zone=found.zone,
                glossary=found.glossary(),
                min_interval_minutes=settings.intent.min_interval_minutes,
            )
        teacher = settings.teacher
        model = teacher.model if teacher.base_url else Path(settings.model.base.removeprefix("package:")).name
        result = plan_seeding(found, settings, lap, catalog, model)
    if as_json:
        sys.stdout.write(result.model_dump_json(indent=1) + "\n")
    else:
        results().print("\n".join(_plan_lines(result)), markup=False, soft_wrap=True)


@app.command("diff")
def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="JSONL file of labelled rows, or first characters of a version's hash")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The newer one")],
    as_json: AsJson = False,
) -> None:
    """Compare two versions of labelled rows by id: added, removed, relabelled, reworded.

    Every seeding stage keeps its rows as a version under the home folder, named by their hash; reports show it.

    Examples:

        kickwheel seed diff 3fa1c09b 77d0e2aa

        kickwheel seed diff examples/dataops/seeds.jsonl 77d0e2aa --json | jq .relabelled
    """
    from kickwheel.seeding.seed_versions import diff_versions, find_version
    from kickwheel.settings import get_settings

    with refusals():
        home = get_settings().home
        result = diff_versions(find_version(before, home), find_version(after, home))
    if as_json:
        sys.stdout.write(result.model_dump_json(indent=1) + "\n")
    else:
        sys.stdout.write("\n".join(_diff_lines(result)) + "\n")


def _plan_lines(plan: SeedPlan) -> list[str]:
    lines = [f"{plan.domain}, lap {plan.lap}: {plan.model} would be asked, rows chosen by {plan.strategy}"]
    lines += [f"rounds done: {plan.finished_rounds}"] if plan.finished_rounds else []
    for item in plan.rounds:
        about = "" if item.exact else "about "
        lines.append(
            f"round {item.number}: {item.rows} rows, {item.remembered} answers remembered, {about}{item.calls} calls "
            f"(at most {item.most_calls}), {about}{item.prompt_tokens} + {item.completion_tokens} tokens"
        )
    lines.append(
        f"together: {plan.rows} rows, {plan.calls} calls (at most {plan.most_calls}), "
        f"{plan.prompt_tokens} + {plan.completion_tokens} tokens by upper estimate"
    )
    lines.append("cost: " + ("no prices are set" if plan.cost is None else f"{plan.cost:.4f}"))
    lines.append(f"time: at least {plan.least_seconds:.0f} s under the limits a minute, besides what the answers take")
    if plan.stops_at:
        lines.append(f"the budget ends the asking before the last row: {plan.stops_at}")
    return [*lines, "no call was made"]


def _diff_lines(result: SeedSetDiff) -> list[str]:
    def shown(name: str, ids: tuple[str, ...]) -> str:
        more = ", …" if len(ids) > _IDS_SHOWN else ""
        return f"{name}: {len(ids)}" + (f" ({', '.join(ids[:_IDS_SHOWN])}{more})" if ids else "")

    lines = [f"{result.before[:12]} -> {result.after[:12]}", shown("added", result.added), shown("removed", result.removed)]
    lines.append(f"relabelled: {len(result.relabelled)}")
    for row in result.relabelled[:_IDS_SHOWN]:
        old, new = (frame.model_dump_json() if frame else "no label" for frame in (row.before, row.after))
        lines.append(f"  {row.id}: {old} -> {new}")
    return [*lines, shown("reworded", result.reworded), f"unchanged: {result.unchanged}"]
