"""``kickwheel throughput``: the largest rate that holds an objective, as one number; with ``--load`` one load test."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results
from kickwheel.cli.reading import refusals

if TYPE_CHECKING:
    from schemas.throughput import RateRequest, ThroughputReport

NOTHING_HOLDS = 3
NOT_MEASURED = 1


def command(
    domain: Annotated[Path, typer.Argument(help="Domain folder, e.g. examples/dataops", show_default=False)],
    slo: Annotated[
        str,
        typer.Option(help="Objectives, e.g. p99_ms<=5000,error_rate<=0.01,joint_accuracy_ratio>=0.99; empty: as set"),
    ] = "",
    load: Annotated[
        str,
        typer.Option(
            help="One load test instead of the search: constant:20, poisson:20, steps:50,100,200,500, ramp:5-50, burst:200, "
            "trace:FILE.jsonl, concurrency:8"
        ),
    ] = "",
    seconds: Annotated[float, typer.Option(min=0.1, help="--load: how long; of steps each of them")] = 60.0,
    speed: Annotated[float, typer.Option(min=0.001, help="--load trace: 2 replays it in half the time")] = 1.0,
    url: Annotated[str, typer.Option(help="A server that runs, /v1 included; empty: the settings', or one is started")] = "",
    model: Annotated[str, typer.Option(help="Its name there; empty: the newest lap's adapter")] = "",
    base: Annotated[bool, typer.Option("--base", help="Load the untuned base, not the adapter")] = False,
    start: Annotated[float | None, typer.Option(min=0.05, help="First rate, requests a second; then doubled or halved")] = None,
    tolerance: Annotated[float, typer.Option(min=0.005, help="How exact: 0.05 is 5 %")] = 0.05,
    requests: Annotated[int, typer.Option(min=1, help="Requests of a step at least; of --load concurrency in all")] = 300,
    points: Annotated[int, typer.Option(min=1, help="Load steps at most")] = 24,
    unloaded: Annotated[int, typer.Option(min=1, help="Requests sent one at a time, before any load")] = 100,
    burst: Annotated[int, typer.Option(min=0, help="Requests sent all at once before the warm-up; 0: none")] = 0,
    arrivals: Annotated[str, typer.Option(help="constant or poisson; empty: the settings'")] = "",
    cores: Annotated[str, typer.Option(help="auto, separate or shared; empty: the settings'")] = "",
    structured: Annotated[bool, typer.Option("--structured", help="Ask for replies under the frames' JSON Schema")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; start nothing")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object on stdout")] = False,
) -> None:
    """Find the largest rate of requests that holds a service level objective.

    The domain's own utterances are sent with the product's own prompt, open loop: latencies count from the time at which a
    request was due. Rates are doubled until one misses, then the bracket is narrowed. A killed search is taken up where it was.
    With --load one load of any shape is put on the server instead, and held against the same objective.

    A server of --url that wants a key gets that of KICKWHEEL_SERVER__API_KEY.

    Exit codes: 0 a rate holds, or the load kept to it; 1 not measured (the server died, the report says where; a load whose
    generator was too slow); 2 bad input, or no server; 3 no rate holds, e.g. because one request at a time is too slow already,
    or the load missed.

    Examples:

        kickwheel throughput examples/dataops --slo "p99_ms<=5000,error_rate<=0.01,joint_accuracy_ratio>=0.99"

        kickwheel throughput examples/dataops --slo "ttft_p99_ms<=300" --url http://gpu:8000/v1 --model my-adapter --json

        kickwheel throughput examples/dataops --tolerance 0.1 --dry-run

        kickwheel throughput examples/dataops --load steps:50,100,200,500 --seconds 20 --slo "p99_ms<=800" --json

        kickwheel throughput examples/dataops --load trace:calls.jsonl --speed 2 --url http://gpu:8000/v1 --model my-adapter
    """
    from kickwheel.domain import load_domain

    with refusals():
        request = _request(
            slo=slo, url=url, model=model, base=base, start=start, tolerance=tolerance, requests=requests, points=points,
            unloaded=unloaded, burst=burst, arrivals=arrivals, cores=cores, structured=structured,
            load=load, seconds=seconds, speed=speed,
        )  # fmt: skip
        found = load_domain(domain)
        settings = found.resolved_settings()
        if dry_run:
            _say_plan(domain, request, as_json)
            return
        prepare(settings.home)
        from kickwheel.cli import launcher

        measured = launcher.put_load if request.load else launcher.find_largest_rate

        # Libraries print to stdout as they like; with --json it holds the report and nothing else.
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            report = measured(str(domain), request)
    _show(report, as_json)
    whole = None if report.searches else report.points[0] if report.points else None
    if not report.measured or (whole and whole.void):
        raise typer.Exit(NOT_MEASURED)
    if report.searches[0].largest_rate == 0 if report.searches else not (whole and whole.holds_slo):
        raise typer.Exit(NOTHING_HOLDS)


def _request(
    *, slo: str, url: str, model: str, base: bool, start: float | None, tolerance: float, requests: int, points: int,
    unloaded: int, burst: int, arrivals: str, cores: str, structured: bool, load: str, seconds: float, speed: float,
) -> RateRequest:  # fmt: skip
    from pydantic import ValidationError

    from kickwheel.errors import InputError
    from kickwheel.throughput.load_shape import parse_load
    from kickwheel.throughput.slo import parse_slo
    from schemas.throughput import RateRequest

    if model and base:
        raise InputError("--base and --model exclude each other", field="--base")
    try:
        return RateRequest.model_validate(
            {
                "slo": parse_slo(slo) if slo else None,
                "url": url,
                "model": model,
                "base": base,
                "start_rate": start,
                "tolerance": tolerance,
                "min_requests": requests,
                "max_points": points,
                "unloaded_requests": unloaded,
                "burst": burst,
                "arrivals": arrivals or None,
                "cores": cores or None,
                "structured": structured or None,
                "load": parse_load(load, seconds=seconds, requests=requests, speed=speed) if load else None,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(first["msg"], field=f"--{first['loc'][0]}") from error


def _say_plan(domain: Path, request: RateRequest, as_json: bool) -> None:
    from kickwheel.throughput.plan_text import plan_lines, planned

    plan = planned(domain, request)
    if as_json:
        import json

        sys.stdout.write(json.dumps(plan, ensure_ascii=False, indent=1) + "\n")
    else:
        results().print("\n".join(plan_lines(plan)), markup=False, soft_wrap=True)


def _show(report: ThroughputReport, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(report.model_dump_json(indent=1) + "\n")
        return
    from kickwheel.reporting.load_table import load_table

    results().print(load_table(report))
    if report.html:
        messages().print(f"report: {report.html}", soft_wrap=True)
