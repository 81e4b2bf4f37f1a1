"""The mover and the ledger of a domain, built from its settings."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path

from kickwheel.domain_folder import Domain
from kickwheel.feedback.opening import has_store, store_url
from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.promotion.exposures import exposures_of
from kickwheel.promotion.ledger import Ledger
from kickwheel.promotion.moves import Mover
from kickwheel.promotion.servers_adapter import DetachedServers
from kickwheel.promotion.traffic_adapter import ServedTraffic
from kickwheel.serving.routing_adapter import read_routing, routing_path
from kickwheel.settings import Settings
from kickwheel.tracking.registry_adapter import AdapterRegistry
from kickwheel.tracking.store_adapter import open_store
from schemas.promotion import Move, Standing
from schemas.trial import TrialVerdict


def ledger_path(home: Path, domain: str) -> Path:
    """Where a domain's ledger lies."""
    return home / domain / "promotions.jsonl"


def open_mover(domain: Domain, settings: Settings, *, by: str = "") -> Mover:
    """The mover of a domain's versions; ``by`` empty: this user."""
    client, _ = open_store(settings, domain.name)
    path = ledger_path(settings.home, domain.name)
    modules = settings.server.lora_modules if settings.server.device == "cpu" else ()
    traffic = ServedTraffic(
        routing_path(settings.home, domain.name),
        url=settings.server.url,
        modules=modules,
        servers=DetachedServers(domain.folder, domain.name, settings.home, settings.server),
    )
    return Mover(AdapterRegistry(client, domain.name, path), traffic, Ledger(path), by or getpass.getuser(), utc_now)


def utc_now() -> str:
    """ISO 8601 with microseconds, UTC."""
    return datetime.now(UTC).isoformat()


def standing(domain: Domain, mover: Mover) -> Standing:
    """What is in service, and how it came to be."""
    routing = mover.traffic.routing()
    return Standing(
        domain=domain.name,
        champion=mover.aliases.alias("champion"),
        challenger=mover.aliases.alias("challenger"),
        serving=routing.champion.name if routing else None,
        routing_revision=routing.revision if routing else None,
        moves=tuple(mover.ledger.moves()),
        unfinished=mover.ledger.unfinished(),
    )


def trial_move(ledger: Ledger, experiment: str) -> Move | None:
    """The ledger's line about the trial of that name that began last."""
    return next((m for m in reversed(ledger.moves()) if m.kind == "trial" and m.experiment == experiment), None)


def trial_of_version(domain: Domain, settings: Settings, version: str) -> TrialVerdict | None:
    """The running trial's verdict, if it is this version that is on trial and there are events to judge it by."""
    routing = read_routing(routing_path(settings.home, domain.name))
    if routing is None or routing.challenger is None or routing.challenger.registry_version != version:
        return None
    return look_at_trial(domain, settings, store_url(settings, domain.name)) if has_store(settings, domain.name) else None


def look_at_trial(domain: Domain, settings: Settings, events: str) -> TrialVerdict | None:
    """The running trial's verdict at this look; None: no trial is running. ``events``: address of the event store."""
    from kickwheel.distillation.trial import judge_trial

    routing = read_routing(routing_path(settings.home, domain.name))
    if routing is None or routing.challenger is None:
        return None
    move = trial_move(Ledger(ledger_path(settings.home, domain.name)), routing.experiment)
    since = datetime.fromisoformat(move.at) if move else datetime.min.replace(tzinfo=UTC)
    store = SqlEventStore(events)
    try:
        seen = exposures_of(store.exchanges(), routing, since=since)
    finally:
        store.close()
    return judge_trial(seen, settings.trial, experiment=routing.experiment, challenger_share=routing.challenger_share)
