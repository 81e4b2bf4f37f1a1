"""What a search would do, without doing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kickwheel.domain import load_domain
from kickwheel.settings import get_settings
from kickwheel.throughput.asked import asked_settings
from kickwheel.throughput.load_shape import describe_load, schedule_of
from kickwheel.throughput.slo import describe
from schemas.throughput import RateRequest


def planned(domain: Path, request: RateRequest) -> dict[str, Any]:
    """The plan as plain data.

    Raises:
        DomainError: the folder does not hold.
    """
    found = load_domain(domain)
    settings = asked_settings(get_settings(found.settings), request)
    load = settings.throughput
    rates = [load.start_rate * 2**number for number in range(4)]
    common = {
        "domain": found.name,
        "slo": describe(load.slo),
        "server": settings.server.url or f"one is started on the {settings.server.device}",
        "model": request.model or ("the base" if request.base else "the newest lap's adapter"),
        "utterances": len(found.rows("eval")),
        "one_at_a_time": min(load.unloaded_requests, len(found.rows("eval"))),
        "burst": load.burst,
    }
    if request.load is not None:
        schedule = schedule_of(request.load, settings.seed)
        return {
            **common,
            "load": describe_load(request.load),
            "requests": len(schedule) or request.load.requests,
            "seconds": round(schedule[-1], 3) if schedule else None,
        }
    return {
        **common,
        "first_rates": rates,
        "seconds_of_those_steps": [max(load.step_s, load.min_requests / rate) for rate in rates],
        "most_steps": load.max_points,
        "tolerance": load.tolerance,
        "arrivals": load.arrivals,
    }


def plan_lines(plan: dict[str, Any]) -> list[str]:
    """The same as sentences."""
    first = f"{plan['burst']} at once before the warm-up, then " if plan["burst"] else ""
    if "load" in plan:
        span = "" if plan["seconds"] is None else f", the last one due after {plan['seconds']:g} s"
        return [
            f"{plan['domain']}: {plan['load']} for {plan['model']}, held against {plan['slo']}",
            f"server: {plan['server']}",
            f"requests: {first}{plan['one_at_a_time']} one at a time, then {plan['requests']}{span}",
            "nothing was started",
        ]
    steps = ", ".join(
        f"{rate:g} ({seconds:.0f} s)" for rate, seconds in zip(plan["first_rates"], plan["seconds_of_those_steps"], strict=True)
    )
    return [
        f"{plan['domain']}: the largest rate of {plan['model']} that holds {plan['slo']}",
        f"server: {plan['server']}",
        f"requests: {plan['utterances']} utterances of eval; {first}{plan['one_at_a_time']} one at a time",
        f"rates: {steps} and so on until one misses, then between, until they are {100 * plan['tolerance']:g} % apart; "
        f"{plan['most_steps']} steps at most, {plan['arrivals']} arrivals",
        "nothing was started",
    ]
