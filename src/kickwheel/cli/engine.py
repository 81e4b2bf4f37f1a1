"""``kickwheel engine``: the model server's settings, its arms and its starts, measured on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.progress import Progress

from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError

if TYPE_CHECKING:
    from schemas.base import Contract

app = typer.Typer(
    help="Measure the model server on this machine: search its settings, compare what it serves, time its starts.",
    no_args_is_help=True,
)

DomainFolder = Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)]
Adapters = Annotated[list[str] | None, typer.Option("--adapter", help="NAME=FOLDER; several times; none: the champion")]
AtOnce = Annotated[int, typer.Option(min=1, help="Requests sent all at once: their rate is the most a server gives")]
Requests = Annotated[int, typer.Option(min=1, help="Requests of the latency step")]
OfferedRate = Annotated[float, typer.Option(min=0, help="Offered rate of the latency step; 0: half of the first server's most")]
Tokens = Annotated[int, typer.Option(min=0, help="Length that replies are made to have; 0: as the model ends them")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as one JSON object")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be started, and start nothing")]


@app.command("tune")
def tune(
    domain: DomainFolder,
    starts: Annotated[int, typer.Option(min=1, max=8, help="Server starts at most")] = 8,
    adapter: Adapters = None,
    at_once: AtOnce = 64,
    requests: Requests = 100,
    rate: OfferedRate = 0.0,
    tokens: Tokens = 16,
    out: Annotated[Path | None, typer.Option(help="Server profile to write; empty: HOME/DOMAIN/profile-DEVICE.yaml")] = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Search engine settings in at most 8 starts, and write the best as a server profile.

    From the white paper's 256 sequences and blocks of 16 tokens one setting is changed at a time. A search that was killed
    goes on with the start where it was. Exit codes: 0 a profile was written, 1 no settings could be measured, 2 bad input.

    Examples:

        kickwheel engine tune examples/dataops

        kickwheel engine tune examples/dataops --starts 3 --at-once 32 --requests 40 --json

        kickwheel serve-model examples/dataops --profile .kickwheel/dataops/profile-cpu.yaml
    """
    from kickwheel.cli.engine_place import engine_place
    from kickwheel.throughput.engine_search import changes, start_of

    place = engine_place(domain, adapter or [], at_once=at_once, rate=rate, requests=requests, tokens=tokens)
    device = place.bench.settings.device
    profile = out or place.folder.parent / f"profile-{device}.yaml"
    if dry_run:
        lines = [f"start 1: {start_of(device).model_dump_json(exclude_none=True)}"]
        lines += [f"then one of them at a time, {starts - 1} more starts at most:", *(f"  {item}" for item in changes(device))]
        results().print("\n".join([*lines, f"profile: {profile}"]), markup=False, soft_wrap=True)
        return
    from kickwheel.throughput.engine_runs import run_search

    with _progress("server starts", starts) as told:
        report = run_search(place, starts, profile, told)
    from kickwheel.reporting.engine_tables import search_lines

    place.record("engine tune", report, search_lines(report), profile)
    _show(report, [*search_lines(report), "", f"profile: {profile}" if report.chosen else ""], as_json)
    if not report.chosen:
        raise typer.Exit(1)


@app.command("arms")
def arms(
    domain: DomainFolder,
    adapter: Adapters = None,
    arm: Annotated[str, typer.Option(help="Comma-separated; empty: all that can be measured")] = "",
    blocks: Annotated[int, typer.Option(min=1, help="Rounds through all arms, every other one backwards")] = 4,
    at_once: AtOnce = 64,
    requests: Requests = 60,
    rate: OfferedRate = 0.0,
    tokens: Tokens = 16,
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Compare base, adapter, merged, mixed adapters, without prefix cache, structured: the same load in alternating order.

    Says in ratios with 95 % intervals what each costs, and whether to serve merged weights or the adapter.
    Exit codes: 0 measured, 2 bad input. A comparison that was killed goes on with the block where it was.

    Examples:

        kickwheel engine arms examples/dataops --adapter tuned=adapters/tuned

        kickwheel engine arms examples/dataops --arm base,adapter,merged --blocks 6 --json | jq .recommendation
    """
    from kickwheel.cli.engine_place import engine_place
    from schemas.engine import ArmName

    known: tuple[ArmName, ...] = get_args(ArmName)
    wanted = [name.strip() for name in arm.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(known)):
        raise InputError(f"unknown arm {', '.join(unknown)}: expected some of {', '.join(known)}", field="--arm")
    place = engine_place(domain, adapter or [], at_once=at_once, rate=rate, requests=requests, tokens=tokens)
    chosen, left_out = place.arms(tuple(name for name in known if name in wanted) or known)
    if dry_run:
        lines = [f"{blocks} blocks of {', '.join(chosen)}", *(f"not {name}: {why}" for name, why in left_out.items())]
        results().print("\n".join(lines), markup=False, soft_wrap=True)
        return
    from kickwheel.reporting.engine_tables import arms_lines
    from kickwheel.throughput.engine_runs import run_arms

    with _progress("arms in blocks", blocks * len(chosen)) as told:
        report = run_arms(place, chosen, left_out, blocks, told)
    place.record("engine arms", report, arms_lines(report))
    _show(report, arms_lines(report), as_json)


@app.command("cold-start")
def cold_start(
    domain: DomainFolder,
    rounds: Annotated[int, typer.Option(min=1, help="Starts for each way of warming")] = 1,
    way: Annotated[str, typer.Option(help="Comma-separated: none, forward, full")] = "none,forward,full",
    empty_caches: Annotated[
        bool, typer.Option("--empty-caches", help="One start more, with empty compile caches (GPU)")
    ] = False,
    at_once: Annotated[
        int,
        typer.Option(min=0, help="One start more: so many requests at once before anything else, against the version before"),
    ] = 200,
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Time starts by phase, and the first requests after no warm-up, one forward pass, and a full warm-up.

    A last server is asked all at once before anything else. MLflow keeps that; against the newest one on the same engine and
    device, P95 up by more than 30 % or memory by more than 15 % is an alarm.

    Exit codes: 0 measured, 2 bad input or the server does not start. A killed measurement goes on with the start where it was.

    Examples:

        kickwheel engine cold-start examples/dataops

        kickwheel engine cold-start examples/dataops --rounds 3 --way none,full --json | jq .rows
    """
    from kickwheel.cli.engine_place import engine_place
    from kickwheel.throughput.cold_start import WAYS

    wanted = [name.strip() for name in way.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(WAYS)):
        raise InputError(f"unknown way {', '.join(unknown)}: expected some of {', '.join(WAYS)}", field="--way")
    ways = tuple(name for name in WAYS if name in wanted)
    place = engine_place(domain, [], at_once=1, rate=0.0, requests=1, tokens=0, champion=False)
    if dry_run:
        told_of = f", and one for {at_once} requests at once" if at_once else ""
        starts = rounds * len(ways) + empty_caches + bool(at_once)
        results().print(f"{starts} starts: {', '.join(ways)}, {rounds} each{told_of}", soft_wrap=True)
        return
    from kickwheel.reporting.engine_tables import cold_start_lines
    from kickwheel.throughput.engine_runs import run_cold_start

    with _progress("server starts", rounds * len(ways)) as told:
        report = run_cold_start(
            place, ways, rounds, told, empty_caches=empty_caches, at_once=at_once,
            baseline=lambda server: place.last_burst(server, at_once),
        )  # fmt: skip
    place.record("engine cold-start", report, cold_start_lines(report))
    _show(report, cold_start_lines(report), as_json)


class _progress:  # noqa: N801
    """A bar on stderr for the time of the block; call it with (done, total)."""

    def __init__(self, what: str, total: int):
        self._bar = Progress(console=messages(), transient=True)
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> _progress:
        self._bar.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _show(report: Contract, lines: list[str], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(report.model_dump(mode="json")) + "\n")
    else:
        sys.stdout.write("\n".join(lines) + "\n")
