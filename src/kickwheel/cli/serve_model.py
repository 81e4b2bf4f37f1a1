"""``kickwheel serve-model``: start, warm, watch and stop a model server, or load adapters onto one that runs."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kickwheel.cli.output import messages, results
from kickwheel.cli.serve_model_target import Wanted, changed, model_path, settings_of, wanted_of
from kickwheel.errors import InputError, KickwheelError

if TYPE_CHECKING:
    from kickwheel.settings import ServerSettings


def command(
    target: Annotated[str, typer.Argument(help="Domain folder, or a model: package:NAME, a folder, a hub id")] = "",
    adapter: Annotated[list[str] | None, typer.Option(help="NAME=FOLDER of a LoRA adapter; may be given several times")] = None,
    merged: Annotated[bool, typer.Option("--merged", help="Merge the one adapter into the base and serve the result")] = False,
    profile: Annotated[str, typer.Option(help="Server profile (YAML), e.g. of `kickwheel engine tune`")] = "",
    device: Annotated[str, typer.Option(help="cpu or gpu; empty: the setting KICKWHEEL_SERVER__DEVICE")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: a free one")] = 0,
    url: Annotated[str, typer.Option(help="A server that runs: load adapters there, warm it, check it, leave it running")] = "",
    unload: Annotated[list[str] | None, typer.Option(help="With --url: adapter to unload; may be given several times")] = None,
    warm_up: Annotated[
        str, typer.Option(help="none; forward: one forward pass; full: each kind of request until steady")
    ] = "full",
    log: Annotated[Path | None, typer.Option(help="Log of the server; empty: under the home folder")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return when it is ready; it runs on until --stop")] = False,
    held_for: Annotated[str, typer.Option(hidden=True, help="Domain whose promotion starts this server, and ends it")] = "",
    stop: Annotated[str, typer.Option(help="Stop the server of this URL, or `all`")] = "",
    show: Annotated[bool, typer.Option("--list", help="Servers that run")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, when the server is ready")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command that would be run")] = False,
) -> None:
    """Start vLLM, load adapters, warm it, and hold it until Ctrl-C. Whatever ends this command ends the server.

    Of a domain without --adapter, the champion is served beside the base, where there is one.
    Exit codes: 0 stopped on request (Ctrl-C, SIGTERM, --stop), 1 the server died or hung, 2 bad input or it did not come up.

    Examples:

        kickwheel serve-model examples/dataops

        kickwheel serve-model examples/dataops --adapter tuned=adapters/tuned --adapter trial=adapters/trial --port 8000

        kickwheel serve-model package:smollm2-135m-instruct --adapter tuned=adapters/tuned --merged --detach --json

        kickwheel serve-model --url http://127.0.0.1:8000/v1 --adapter next=adapters/next --unload trial

        kickwheel serve-model examples/dataops --profile .kickwheel/dataops/profile-cpu.yaml --dry-run

        kickwheel serve-model --stop all
    """
    from kickwheel.settings import get_settings

    home = get_settings().home
    if show or stop:
        _list_or_stop(home, stop, as_json)
        return
    if detach:
        _detach(home, as_json)
        return
    if warm_up not in ("none", "forward", "full"):
        raise InputError(f"expected none, forward or full, got {warm_up!r}", field="--warm-up")
    if unload and not url:
        raise InputError("needs --url: adapters are unloaded from a server that runs", field="--unload")
    if not target and not url:
        raise InputError("expected a domain folder or a model (or --url, --stop, --list)", field="TARGET")
    wanted = wanted_of(target, adapter or [], merged=merged, resolved=settings_of(target), champion=not url)
    changes: dict[str, str | int] = {"profile": profile, "device": device, "port": port, "url": url}
    server = changed(wanted.settings.server, changes)
    if dry_run:
        _show_plan(wanted, server, home, as_json)
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    with contextlib.redirect_stdout(sys.stderr):
        folder = model_path(wanted, home, url)
    _hold(wanted, server, folder, log, home, warm_up, unload or [], as_json, held_for)  # type: ignore[arg-type]


def _show_plan(wanted: Wanted, server: ServerSettings, home: Path, as_json: bool) -> None:
    from kickwheel.inference.vllm_adapter import plan_server

    name = wanted.base.removeprefix("package:")
    path = home / "models" / ("merged" if wanted.merged else name) if wanted.base.startswith("package:") else Path(name)
    planned = plan_server(server, base_path=path, enable_lora=not wanted.merged, served_name=wanted.served_name)
    loads = {} if wanted.merged else {adapter.name: str(adapter.folder) for adapter in wanted.adapters}
    if as_json:
        sys.stdout.write(json.dumps({"command": planned.command, "adapters": loads, "merged": wanted.merged}) + "\n")
        return
    results().print(shlex.join(planned.command), markup=False, soft_wrap=True)
    for adapter, folder in loads.items():
        results().print(f"then load {adapter} from {folder}", markup=False, soft_wrap=True)


def _hold(
    wanted: Wanted,
    server: ServerSettings,
    model_path: Path,
    log: Path | None,
    home: Path,
    warm: Literal["none", "forward", "full"],
    unload: list[str],
    as_json: bool,
    held_for: str,
) -> None:
    from kickwheel.inference.held_server_adapter import held_server, watch
    from kickwheel.inference.log_names import log_file

    try:
        with held_server(
            server,
            model_path=model_path,
            served_name=wanted.served_name,
            adapters=() if wanted.merged else wanted.adapters,
            enable_lora=not wanted.merged,
            warm=warm,
            log=log or log_file(home),
            home=home,
            held_for=held_for,
        ) as held:
            for name in unload:
                held.server.unload_adapter(name)
            _print_record(held.record.model_dump(), as_json)
            if server.url:
                return
            messages().print("Ctrl-C stops it", markup=False)
            try:
                watch(held.server)
            except KickwheelError as error:
                messages().print(str(error), markup=False, soft_wrap=True)
                raise typer.Exit(1) from None
    except KeyboardInterrupt:
        messages().print("stopped")


def _print_record(record: dict[str, object], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
        return
    started = record["startup_s"]
    took = f"ready after {started:.1f} s, " if isinstance(started, float) else ""
    names = [str(record["model"]), *(str(name) for name in record["adapters"])]  # type: ignore[attr-defined]
    results().print(f"{record['url']}  {', '.join(names)}", markup=False, soft_wrap=True)
    messages().print(f"{record['version']}: {took}warm after {record['warm_up_s']:.1f} s", markup=False)
    if record["log"]:
        messages().print(f"log: {record['log']}", markup=False, soft_wrap=True)


def _list_or_stop(home: Path, stop: str, as_json: bool) -> None:
    from kickwheel.inference.detached_adapter import running_servers, stop_server

    found = running_servers(home)
    if stop:
        found = [record for record in found if stop in ("all", record.url, record.url.removesuffix("/v1"))]
        if not found and stop != "all":
            raise InputError(f"no server of ours runs at {stop}: see --list", field="--stop")
        for record in found:
            stop_server(record)
    if as_json:
        sys.stdout.write(json.dumps([record.model_dump() for record in found]) + "\n")
        return
    for record in found:
        names = ", ".join((record.model, *record.adapters))
        done = "stopped  " if stop else ""
        results().print(f"{done}{record.url}  {names}  process {record.pid}", markup=False, soft_wrap=True)
    if not found:
        messages().print("no server of ours runs")


def _detach(home: Path, as_json: bool) -> None:
    from kickwheel.inference.detached_adapter import start_detached

    arguments = [
        argument for argument in sys.argv[sys.argv.index("serve-model") + 1 :] if argument not in ("--detach", "--json")
    ]
    server = start_detached(arguments, home=home)
    _print_record(server.record.model_dump(), as_json)
