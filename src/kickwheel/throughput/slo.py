"""Whether a load step met its objective, how an objective is written, and whether the step counts at all."""

from __future__ import annotations

import math
import re
from typing import Final

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.throughput.accuracy import may_be_chance
from kickwheel.throughput.ports import Sample, StopRule
from schemas.throughput import LoadPoint, Percentiles, Slo

VOID_SHARE = 0.05
"""P99 send delay above this share of the measured P50 latency: the generator was too slow to say anything."""

LATENCY_LIMITS: Final = ("p99_ms", "p95_ms", "p90_ms", "p50_ms")
_AT_LEAST: Final = frozenset({"joint_accuracy_ratio", "achieved_ratio"})
_TERM = re.compile(r"^\s*([A-Za-z0-9_]+)\s*(<=|>=|<|>|==|=)\s*(\S+?)\s*$")


def parse_slo(text: str) -> Slo:
    """``p99_ms<=5000,error_rate<=0.01,joint_accuracy_ratio>=0.99``: what is not named is no objective.

    Raises:
        InputError: a term that can't be read, an unknown name (the known ones are listed), a direction that makes no sense, a
            value out of range, a name given twice.
    """
    limits: dict[str, float | None] = dict.fromkeys(Slo.model_fields)
    named: set[str] = set()
    for term in filter(str.strip, text.split(",")):
        match = _TERM.match(term)
        if match is None:
            raise _refused(f"{term.strip()!r} can't be read: expected NAME<=VALUE or NAME>=VALUE")
        name, relation, value = match.groups()
        if name not in limits:
            raise _refused(f"there is no objective {name!r}")
        wanted = ">=" if name in _AT_LEAST else "<="
        if relation != wanted:
            raise _refused(f"{name} is written {name}{wanted}VALUE, got {term.strip()!r}")
        if name in named:
            raise _refused(f"{name} is given twice")
        named.add(name)
        try:
            limits[name] = float(value)
        except ValueError:
            raise _refused(f"{name}: {value!r} is no number") from None
        if not math.isfinite(limits[name] or 0.0):
            raise _refused(f"{name}: {value!r} is no limit")
    if not named:
        raise _refused("no objective is named")
    try:
        return Slo.model_validate(limits)
    except ValidationError as error:
        first = error.errors()[0]
        raise _refused(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def describe(slo: Slo) -> str:
    """The form that :func:`parse_slo` reads."""
    return ",".join(f"{name}{'>=' if name in _AT_LEAST else '<='}{value:g}" for name, value in slo.limits.items())


def missed(slo: Slo, point: LoadPoint) -> tuple[str, ...]:
    """Objectives that the step missed, in words with the figure; what was not measured is missed. Empty: all held.

    A ratio of accuracies is missed only where the rows lost are more than chance (:func:`~.accuracy.may_be_chance`).
    """
    if point.succeeded == 0:
        return ("not one request was answered",)
    said = [f"ended early: {point.stopped_early}"] if point.stopped_early else []
    measured = measures(point)
    for name, limit in slo.limits.items():
        value = measured.get(name)
        if value is None:
            said.append(f"{name} was not measured, wanted {limit:g}")
        elif name == "joint_accuracy_ratio" and point.accuracy and may_be_chance(point.accuracy):
            continue
        elif name in _AT_LEAST and value < limit:
            said.append(f"{name} {value:.4g} below {limit:g}")
        elif name not in _AT_LEAST and value > limit:
            said.append(f"{name} {value:.4g} above {limit:g}")
    return tuple(said)


def measures(point: LoadPoint) -> dict[str, float | None]:
    """The step's figure for each objective's name."""
    groups: dict[str, Percentiles] = {
        "": point.latency_ms,
        "ttft_": point.ttft_ms,
        "tpot_": point.tpot_ms,
        "itl_": point.itl_ms,
    }
    found: dict[str, float | None] = {
        f"{prefix}{share}_ms": getattr(percentiles, share)
        for prefix, percentiles in groups.items()
        for share in ("p50", "p90", "p95", "p99")
    }
    found["error_rate"] = (point.sent - point.succeeded) / point.sent if point.sent else None
    found["joint_accuracy_ratio"] = point.accuracy.ratio if point.accuracy else None
    found["achieved_ratio"] = min(1.0, point.achieved_rate / point.offered_rate) if point.offered_rate > 0 else None
    return found


def within_slo(slo: Slo, sample: Sample) -> bool:
    """Whether one reply met the latency limits: what goodput counts.

    For each kind of latency that the SLO limits, the limit of its highest percentile is that of a single reply (as in
    DistServe, OSDI 2024, and ``vllm bench serve --goodput``).
    """
    limits = slo.limits
    return all(
        value is None or limit is None or 1000 * value <= limit
        for value, limit in (
            (sample.latency, _highest(limits, "")),
            (None if sample.first_token is None else sample.first_token - sample.scheduled, _highest(limits, "ttft_")),
            (time_per_output_token(sample), _highest(limits, "tpot_")),
        )
    )


def time_per_output_token(sample: Sample) -> float | None:
    """Seconds a token after the first; None for a reply of one token."""
    if sample.first_token is None or sample.last_token is None or sample.completion_tokens < 2:
        return None
    return (sample.last_token - sample.first_token) / (sample.completion_tokens - 1)


def stop_rule(slo: Slo, requests: int) -> StopRule | None:
    """When a step of so many requests is lost for certain, whatever becomes of the rest.

    The P99 of 300 is the 297th: three may take longer. With an error rate of 0.01 three more may fail instead. So the seventh
    that failed or took longer than the limit loses the step. Of several limits the highest percentile's is taken. None: the
    SLO limits no latency, or no errors.
    """
    for name, share in zip(LATENCY_LIMITS, (0.99, 0.95, 0.90, 0.50), strict=True):
        limit = getattr(slo, name)
        if limit is not None and slo.error_rate is not None:
            over = requests - math.ceil(share * requests - 1e-9)
            return StopRule(limit_s=limit / 1000, allowed=over + math.floor(slo.error_rate * requests + 1e-9))
    return None


def is_void(*, send_delay_p99_ms: float, latency_ms: Percentiles) -> bool:
    """Whether the generator itself was too late. Without a reply there is nothing to compare with: not void."""
    return latency_ms.p50 is not None and send_delay_p99_ms > VOID_SHARE * latency_ms.p50


def _highest(limits: dict[str, float], prefix: str) -> float | None:
    return next((limits[name] for share in ("p99", "p95", "p90", "p50") if (name := f"{prefix}{share}_ms") in limits), None)


def _refused(message: str) -> InputError:
    known = ", ".join(Slo.model_fields)
    return InputError(f"{message}. Objectives: {known}; e.g. p99_ms<=5000,error_rate<=0.01", field="--slo")
