"""How fast a pool is scored and chosen from: ``python -m benchmarks.acquisition [--rows 1000000] [--classes 77]``.

Vectors, weights and probabilities are drawn, on one core. Prints one JSON object:

- ``rows_per_second``: from vectors to entropy, margin and intent, chunk by chunk, of a linear student.
- ``selection_s``: seconds to choose ``--select`` rows of all, by strategy; ids, scores and vectors lie in memory.
- ``peak_gib``: of memory beyond what the drawn vectors take.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

from kickwheel.probe.embedding_probe import EmbeddingProbe
from kickwheel.seeding.acquisition import STRATEGIES, Candidates, select, survey
from kickwheel.seeding.probed_pool import CHUNK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=77)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--select", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    vectors = np.empty((options.rows, options.dimensions), dtype=np.float32)
    for start in range(0, options.rows, CHUNK):
        part = rng.standard_normal((min(CHUNK, options.rows - start), options.dimensions), dtype=np.float32)
        vectors[start : start + CHUNK] = part / np.linalg.norm(part, axis=1, keepdims=True)
    probe = EmbeddingProbe(rng.normal(scale=20, size=(options.dimensions, options.classes)), np.zeros(options.classes))
    before = peak_gib()
    with threadpool_limits(limits=1):
        started = time.monotonic()
        found = survey(probe.probabilities(vectors[start : start + CHUNK]) for start in range(0, options.rows, CHUNK))
        scoring = time.monotonic() - started
        seconds = {}
        for name in STRATEGIES:
            started = time.monotonic()
            pool = Candidates(
                ids=[f"row-{(row * 7919) % options.rows:08d}-{row}" for row in range(options.rows)],
                entropy=found.entropy,
                margin=found.margin,
                predicted=found.predicted,
                intents=[f"intent-{k}" for k in range(options.classes)],
                spans=found.margin,
                embed=lambda positions: vectors[positions],
            )
            select(pool, options.select, strategy=name, audit_share=0.1, rng=np.random.default_rng(0))
            seconds[name] = round(time.monotonic() - started, 2)
    report = {
        "rows": options.rows,
        "classes": options.classes,
        "dimensions": options.dimensions,
        "rows_per_second": round(options.rows / scoring),
        "selected": options.select,
        "selection_s": seconds,
        "peak_gib": round(peak_gib() - before, 2),
    }
    print(json.dumps(report, indent=1))


def peak_gib() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
