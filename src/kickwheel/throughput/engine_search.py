"""A small search over engine settings: one thing is changed at a time, from the best so far, in at most eight starts.

The white paper's 256 sequences and blocks of 16 tokens are the start (F11). Each later start changes one setting; it is kept
where the rate is higher by more than the noise, or as high with a lower P99. Such a search finds no interplay of settings; with
eight starts of half a minute to three minutes, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kickwheel.errors import KickwheelError
from schemas.engine import Device, EngineFigures, EngineSettings, EngineTrial

MOST_STARTS = 8
NOISE = 0.03
"""Share by which a rate must be higher to count as better: two runs of the same settings differ by that much."""

SLOW = 10.0
"""A P99 of so many times the best trial's is no longer worth any rate."""


@dataclass(frozen=True)
class Change:
    """One setting to try."""

    name: str
    value: object

    def applied(self, settings: EngineSettings) -> EngineSettings:
        """The settings with this change."""
        return EngineSettings.model_validate(settings.model_dump() | {self.name: self.value})

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


def start_of(device: Device) -> EngineSettings:
    """Where the search begins. vLLM's attention on a CPU takes blocks of 32 tokens and their multiples only (0.32 says so)."""
    on_cpu = device == "cpu"
    return EngineSettings(max_num_seqs=256, block_size=32 if on_cpu else 16, kv_space_gib=1 if on_cpu else None)


def changes(device: Device) -> tuple[Change, ...]:
    """What is tried, in this order: what usually matters most comes first. Settings of another device are left out."""
    both = (
        Change("max_num_seqs", 64),
        Change("max_num_batched_tokens", 8192 if device == "gpu" else 1024),
        Change("chunked_prefill", False),
    )
    if device == "gpu":
        own = (
            Change("graph_sizes", (1, 2, 4, 8, 16, 32, 64, 128, 256)),
            Change("gpu_memory_share", 0.5),
            Change("block_size", 32),
        )
        return (*both, *own, Change("prefix_caching", False))
    return (
        *both,
        Change("block_size", 128),
        Change("kv_space_gib", 2),
        Change("max_num_seqs", 16),
        Change("prefix_caching", False),
    )


def search(
    device: Device,
    measure: Callable[[int, EngineSettings], EngineFigures],
    *,
    starts: int = MOST_STARTS,
    known: Sequence[EngineTrial] = (),
    keep: Callable[[EngineTrial], None] = lambda _trial: None,
) -> list[EngineTrial]:
    """Try settings, at most ``starts`` of them.

    Args:
        measure: starts a server with the settings and measures it; an error of ours makes a trial that failed, since settings
            that do not start are an answer too.
        known: trials of an earlier, killed run: not started again where they are what would be tried now.
        keep: called with each new trial, before the next begins.
    """
    if not 1 <= starts <= MOST_STARTS:
        raise ValueError(f"expected 1 to {MOST_STARTS} starts, got {starts}")
    remembered = {trial.settings: trial for trial in known}
    trials: list[EngineTrial] = []
    for changed, settings in _candidates(device, trials):
        number = len(trials) + 1
        if settings in remembered:
            trial = remembered[settings].model_copy(update={"number": number, "changed": changed})
        else:
            trial = _tried(number, changed, settings, measure)
            keep(trial)
        trials.append(trial)
        if len(trials) == starts:
            break
    return with_front(trials)


def best_of(trials: Sequence[EngineTrial]) -> EngineTrial | None:
    """The trial to serve with: the highest rate, and among those within the noise of it the lowest P99."""
    measured = [trial for trial in trials if trial.figures is not None and not trial.figures.errors]
    best: EngineTrial | None = None
    for trial in measured:
        if best is None or is_better(trial, best):
            best = trial
    return best


def is_better(trial: EngineTrial, best: EngineTrial) -> bool:
    """Whether a trial is to be preferred; a difference within the noise never is, unless its P99 is lower by more than that."""
    if trial.figures is None or best.figures is None:
        return best.figures is None and trial.figures is not None
    new, old = _p99(trial.figures), _p99(best.figures)
    if trial.figures.rate > best.figures.rate * (1 + NOISE):
        return new <= SLOW * old
    return trial.figures.rate >= best.figures.rate * (1 - NOISE) and new < old * (1 - NOISE)


def with_front(trials: Sequence[EngineTrial]) -> list[EngineTrial]:
    """The trials, those of the Pareto front of rate (more is better) and P99 (less is better) marked."""

    def beaten(one: EngineFigures, other: EngineFigures) -> bool:
        at_least = other.rate >= one.rate and _p99(other) <= _p99(one)
        return at_least and (other.rate > one.rate or _p99(other) < _p99(one))

    figures = [trial.figures for trial in trials]
    marks = [mine is not None and not any(other is not None and beaten(mine, other) for other in figures) for mine in figures]
    return [trial.model_copy(update={"on_front": mark}) for trial, mark in zip(trials, marks, strict=True)]


def cost_per_1000(rate: float, price_per_hour: float) -> float | None:
    """Price of 1,000 requests on a machine that is kept at ``rate``; None at rate 0."""
    return 1000 * price_per_hour / 3600 / rate if rate > 0 else None


def _candidates(device: Device, trials: list[EngineTrial]) -> Iterator[tuple[str, EngineSettings]]:
    yield "the start", start_of(device)
    for change in changes(device):
        best = best_of(trials)
        base = best.settings if best else start_of(device)
        settings = change.applied(base)
        if all(settings != trial.settings for trial in trials):
            yield str(change), settings


def _tried(
    number: int, changed: str, settings: EngineSettings, measure: Callable[[int, EngineSettings], EngineFigures]
) -> EngineTrial:
    try:
        return EngineTrial(number=number, changed=changed, settings=settings, figures=measure(number, settings))
    except KickwheelError as error:
        return EngineTrial(number=number, changed=changed, settings=settings, failed=str(error)[-600:])


def _p99(figures: EngineFigures) -> float:
    return figures.latency_ms.p99 if figures.latency_ms.p99 is not None else float("inf")
