"""Where the time of a start goes: marks in vLLM's log, on our own clock.

Read from the logs of vLLM 0.32 (CPU) and 0.24 (GPU). A version that says something else in other words makes a phase longer
and its neighbour shorter, or leaves one out; the sum is always the time to the first token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from schemas.engine import StartupPhase

Phase = Literal["import", "configure", "engine", "weights", "compile", "kv_cache", "graphs", "serve", "first_token"]
PHASES: tuple[Phase, ...] = get_args(Phase)

# The line that ends a phase: what comes after it belongs to the next. Of several matches the last counts for weights,
# whose loader speaks more than once.
_ENDS: tuple[tuple[Phase, re.Pattern[str]], ...] = (
    ("import", re.compile(r"version \d+\.\d+|vLLM API server version|non-default args")),
    ("configure", re.compile(r"Initializing a V1 LLM engine")),
    ("engine", re.compile(r"Starting to load model")),
    ("weights", re.compile(r"Model loading took|Loading weights took|Loading drafter model")),
    ("compile", re.compile(r"torch\.compile takes|torch\.compile took|Initial profiling/warmup run took|Dynamo bytecode")),
    ("kv_cache", re.compile(r"KV cache size|Available KV cache memory")),
    ("graphs", re.compile(r"Graph capturing finished")),
)

# Seconds that vLLM itself reports of a phase; 0.24 and 0.32 differ in their words.
_REPORTED: tuple[tuple[Phase, re.Pattern[str]], ...] = (
    ("weights", re.compile(r"Loading weights took ([\d.]+)")),
    ("compile", re.compile(r"torch\.compile (?:takes|took) ([\d.]+) ?s")),
    ("graphs", re.compile(r"Graph capturing finished in ([\d.]+)")),
    ("serve", re.compile(r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+)")),
)
INIT_ENGINE = "serve"
"""``init engine`` spans compilation, KV cache and graphs; it stands with the phase after them."""


@dataclass(frozen=True)
class LogLine:
    """A line of the server's log and when we saw it, in seconds since its process was started."""

    at: float
    text: str


def startup_phases(lines: Sequence[LogLine], *, ready_s: float, first_token_s: float) -> tuple[StartupPhase, ...]:
    """Phases of a start, in order; those that left no mark are left out, and their time is with the next that did.

    Args:
        ready_s: from process start to the first healthy answer.
        first_token_s: what the very first request took.
    """
    ends: dict[Phase, float] = {}
    reported: dict[Phase, float] = {}
    for line in lines:
        for phase, pattern in _ENDS:
            if (phase not in ends or phase == "weights") and pattern.search(line.text):
                ends[phase] = line.at
        for phase, pattern in _REPORTED:
            if (match := pattern.search(line.text)) and phase != INIT_ENGINE:
                reported[phase] = float(match.group(1).rstrip("."))
    ends["serve"] = ready_s
    ends["first_token"] = ready_s + first_token_s
    found: list[StartupPhase] = []
    before = 0.0
    for phase in PHASES:
        if phase not in ends:
            continue
        end = min(max(ends[phase], before), ends["first_token"])
        found.append(StartupPhase(name=phase, seconds=end - before, reported_s=reported.get(phase)))
        before = end
    return tuple(found)


def compiles_from_cache(lines: Sequence[LogLine]) -> bool | None:
    """Whether torch.compile took its graphs from a cache; None where the log says nothing of compiling."""
    said = [line.text for line in lines if "compil" in line.text.lower()]
    if any("Directly load" in text for text in said):
        return True
    return False if any("torch.compile takes" in text or "torch.compile took" in text for text in said) else None
