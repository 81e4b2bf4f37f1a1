"""The pool scored by the probe: in chunks, with spans and vectors only where they are looked at."""

from __future__ import annotations

import numpy as np
import pytest

from kickwheel.embedding.ngrams import NgramEmbedder
from kickwheel.probe import Probe
from kickwheel.seeding.acquisition import STRATEGIES, select
from kickwheel.seeding.probed_pool import probed_pool
from kickwheel.settings import SeedingSettings
from tests.unit.seeding.seeding_world import POOL, SEEDS


@pytest.fixture(scope="module")
def probe() -> Probe:
    return Probe.fit(SEEDS, seed=0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_chooses_from_a_domain_s_pool(probe: Probe, name: str) -> None:
    settings = SeedingSettings.model_validate({"strategy": name})
    pool = probed_pool(probe, POOL, SEEDS, settings=settings, embedder=NgramEmbedder())
    taken = select(pool, 8, strategy=name, audit_share=0.1, rng=np.random.default_rng(0))
    assert len(set(taken)) == 8
    assert set(taken) <= {row.id for row in POOL}


def test_labels_are_counted_by_intent(probe: Probe) -> None:
    pool = probed_pool(probe, POOL, SEEDS, settings=SeedingSettings())
    assert sum(pool.labelled.values()) == len(SEEDS)
    assert pool.labelled["sync_orders"] == 12
    assert pool.spans is None
    assert pool.embed is None


def test_chunks_change_nothing(probe: Probe) -> None:
    settings = SeedingSettings(strategy="slots")
    whole = probed_pool(probe, POOL, SEEDS, settings=settings)
    parts = probed_pool(probe, POOL, SEEDS, settings=settings, chunk=7)
    assert whole.spans is not None
    assert parts.spans is not None
    assert whole.spans.tolist() == pytest.approx(parts.spans.tolist())
    assert whole.entropy.tolist() == pytest.approx(parts.entropy.tolist())


def test_spans_are_surer_where_the_probe_has_seen_them(probe: Probe) -> None:
    known, unknown, none = (
        "reload the orders of EMEA for yesterday",
        "reload qua zu blorp, the wibble",
        "complete customer profiles",
    )
    spans = probe.span_uncertainty([known, unknown, none], ["sync_orders", "sync_orders", "enrich_profiles"])
    assert 0 <= spans[0] < spans[1] <= 1
    assert spans[2] == 0
