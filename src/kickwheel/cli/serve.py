"""``kickwheel serve``: the understanding API of a domain."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kickwheel.cli.environment import prepare
from kickwheel.cli.output import messages, results
from kickwheel.errors import InputError

if TYPE_CHECKING:
    from kickwheel.serving.access import Tokens


def command(
    domain: Annotated[Path, typer.Argument(help="Folder of the domain")],
    host: Annotated[str, typer.Option(help="Address to listen on; another than this machine's needs tokens")] = "",
    port: Annotated[int, typer.Option(min=-1, max=65535, help="0: a free one; -1: the setting's", show_default=False)] = -1,
    model_url: Annotated[str, typer.Option(help="Model server that runs, e.g. http://gpu:8000/v1; empty: start one")] = "",
    model: Annotated[str, typer.Option(help="Name at that server; empty: the registry's champion, loaded there")] = "",
    probe: Annotated[bool, typer.Option("--probe", help="Serve the probe, in this process")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what is served as one JSON object on stdout")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be served, and end")] = False,
) -> None:
    """Serve a domain: texts to frames, feedback back. Ctrl-C or SIGTERM ends it, after what has begun is answered.

    What answers is the routing in service (kickwheel promote changes it, also while this runs); where there is none yet, the
    registry's champion on a vLLM that is started here; where that cannot be had, the probe, and it says so. One process uses
    one core; start more, each with its own port, behind a balancer: they follow the same routing. Exit code 2: it can't start.

    Examples:

        kickwheel serve examples/dataops

        kickwheel serve examples/dataops --model-url http://gpu:8000/v1 --port 8501

        kickwheel serve examples/dataops --probe --dry-run --json
    """
    from kickwheel.domain import load_domain
    from kickwheel.serving.access import read_tokens
    from kickwheel.serving.server_adapter import refuse_open_door

    if probe and (model_url or model):
        raise InputError("the probe is in this process and needs no model server", field="--probe")
    if model and not model_url:
        raise InputError("name the server where this model is, too", field="--model-url")
    found = load_domain(domain)
    settings = found.resolved_settings()
    prepare(settings.home)
    address = host or settings.serving.host
    tokens = read_tokens(settings.serving.tokens, settings.serving.tokens_file)
    refuse_open_door(address, tokens)
    # Libraries print to stdout as they like; with --json it holds the one object and nothing else.
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        from kickwheel.serving.first_routing_adapter import choose, in_service

        choice = choose(found, settings, model_url=model_url, model=model, probe=probe)
    said = {"domain": found.name, "serves": choice.told, "champion": choice.champion.name, "tokens": tokens.names}
    if dry_run:
        _say({**said, "address": f"http://{address}:{port if port >= 0 else settings.serving.port}", "dry_run": True}, as_json)
        return
    from kickwheel.serving.opening_adapter import open_app
    from kickwheel.serving.records_adapter import opened_writer
    from kickwheel.serving.server_adapter import address_of, listener, run

    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    with listener(address, settings.serving.port if port < 0 else port) as bound:
        messages().print(f"{found.name}: {choice.told}", markup=False, soft_wrap=True)
        with in_service(found, settings, choice) as routing, opened_writer(settings, found.name) as writer:
            app = open_app(found, settings, tokens, writer)
            told = {**said, "address": address_of(bound), "revision": routing.revision}
            run(app, bound, drain_s=settings.serving.drain_s, on_start=lambda: _started(told, tokens, as_json))


def _started(told: dict[str, object], tokens: Tokens, as_json: bool) -> None:
    _say(told, as_json)
    door = f"tokens: {', '.join(tokens.names)}" if tokens else "no token is configured: whoever is on this machine may call"
    messages().print(f"{door}; Ctrl-C ends it", markup=False, soft_wrap=True)


def _say(told: dict[str, object], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    else:
        results().print(
            f"understanding API  {told['address']}   description: {told['address']}/docs", markup=False, soft_wrap=True
        )
        if told.get("dry_run"):
            results().print(f"would serve {told['serves']}", markup=False, soft_wrap=True)
