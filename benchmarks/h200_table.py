"""The GPU benchmark's results as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def table(done: Mapping[str, Any]) -> str:
    """Tables of the steps that are there; what is missing is left out."""
    machine = done.get("machine", {})
    lines = [f"{machine.get('chip', '?')}, {machine.get('cores', '?')} cores, {machine.get('date', '')}", ""]
    for part in (_starts, _arms, _searches, _large):
        lines += part(done)
    return "\n".join(lines)


def _starts(done: Mapping[str, Any]) -> Iterator[str]:
    starts = [done[step] for step in ("start_cold", "start_filled") if step in done]
    if not starts:
        return
    names = list(dict.fromkeys(phase["name"] for start in starts for phase in start["phases"]))
    yield "| caches | " + " | ".join(names) + " | ready | first of each kind, ms | warm P50, ms |"
    yield "|---|" + "---|" * (len(names) + 3)
    for start in starts:
        seconds = {phase["name"]: phase["seconds"] for phase in start["phases"]}
        cells = [f"{seconds[name]:.1f}" if name in seconds else "–" for name in names]
        first = " / ".join(f"{1000 * value:.0f}" for value in start["first_s"])
        warm = sorted(start["warm_s"])[len(start["warm_s"]) // 2]
        yield f"| {start['caches']} | " + " | ".join(cells) + f" | {start['ready_s']:.1f} s | {first} | {1000 * warm:.0f} |"
    yield ""


def _arms(done: Mapping[str, Any]) -> Iterator[str]:
    if "arms" not in done:
        return
    arms = done["arms"]
    yield f"| arm | requests/s, all at once | P50 / P99 at {arms['rate']:g}/s, ms | TTFT P50 / P99, ms | errors |"
    yield "|---|---|---|---|---|"
    for arm in arms["arms"]:
        latency, first = arm["latency_ms"], arm["ttft_ms"]
        yield (
            f"| {arm['arm']} | {arm['rate']:.0f} | {_ms(latency['p50'])} / {_ms(latency['p99'])} | "
            f"{_ms(first['p50'])} / {_ms(first['p99'])} | {sum(arm['errors'].values())} |"
        )
    yield ""
    for item in arms["ratios"]:
        if item["figure"] != "p99_ms":
            bounds = "" if item["low"] is None else f" ({item['low']:.2f} to {item['high']:.2f})"
            yield f"- {item['of']} over {item['over']}, {item['figure']}: {item['ratio']:.2f}{bounds}"
    yield f"- serve: {arms['recommendation']} ({arms['why']})"
    yield ""


def _searches(done: Mapping[str, Any]) -> Iterator[str]:
    found = {name: done[f"search_{name}"] for name in ("base_1", "base_2", "adapter", "merged") if f"search_{name}" in done}
    if not found:
        return
    yield "| arm | largest rate that holds the SLO, requests/s | first that missed | steps | ended by |"
    yield "|---|---|---|---|---|"
    for name, item in found.items():
        missed = f"{item['first_miss']:.1f}" if item["first_miss"] else "–"
        yield f"| {name} | {item['largest_rate']:.1f} | {missed} | {item['points']} | {item['ended_by']} |"
    if {"base_1", "base_2"} <= found.keys() and found["base_1"]["largest_rate"]:
        apart = found["base_2"]["largest_rate"] / found["base_1"]["largest_rate"] - 1
        yield f"the two runs of base are {100 * apart:+.1f} % apart"
    yield ""


def _large(done: Mapping[str, Any]) -> Iterator[str]:
    found = {arm: done[f"large_{arm}"] for arm in ("base", "adapter") if f"large_{arm}" in done}
    if not found:
        return
    yield "| 8 B, offered requests/s | " + " | ".join(f"{arm}: achieved, P50 / P99 ms" for arm in found) + " |"
    yield "|---|" + "---|" * len(found)
    for number in range(len(next(iter(found.values()))["rates"])):
        points = [found[arm]["rates"][number] for arm in found]
        cells = [f"{p['achieved']:.1f}, {_ms(p['p50_ms'])} / {_ms(p['p99_ms'])}{_early(p)}" for p in points]
        yield f"| {points[0]['offered']:g} | " + " | ".join(cells) + " |"
    cells = [
        f"{p['achieved']:.1f}, {p['tokens_in_s'] + p['tokens_out_s']:,} tokens/s in and out"
        for p in (found[arm]["at_once"] for arm in found)
    ]
    yield "| all at once | " + " | ".join(cells) + " |"


def _early(point: Mapping[str, Any]) -> str:
    return " (ended early)" if point["stopped_early"] else ""


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
