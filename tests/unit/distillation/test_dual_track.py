"""Offline against online, over versions."""

from __future__ import annotations

import pytest

from kickwheel.distillation.dual_track import correlation, dual_track
from schemas.dual_track import VersionTrack


def version(number: int, joint: float, completion: float, cases: int = 100) -> VersionTrack:
    return VersionTrack(
        version=f"v{number}",
        lap=number,
        offline_split="valid",
        joint_frame_accuracy=joint,
        intent_accuracy=joint,
        cases=cases,
        task_completion=completion,
        turns=2.0,
        correction_rate=1 - completion,
        cost_per_1k_tasks=0.1,
    )


def test_tracks_that_go_together_are_coupled_with_intervals() -> None:
    track = dual_track([version(n, 0.3 + 0.1 * n, 0.4 + 0.08 * n + 0.01 * (n % 2)) for n in range(1, 6)])
    found = track.correlations["task_completion"]
    assert not track.decoupled
    assert track.note.startswith("coupled: r = ")
    assert found.pearson is not None
    assert found.pearson_interval is not None
    assert found.pearson_interval[0] < found.pearson < found.pearson_interval[1]
    assert found.spearman == pytest.approx(1.0)
    assert track.correlations["turns"].note == "one of the two figures never changed"


def test_a_better_figure_that_helps_nobody_is_decoupled() -> None:
    track = dual_track([version(1, 0.3, 0.7), version(2, 0.4, 0.6), version(3, 0.5, 0.72), version(4, 0.6, 0.5)])
    assert track.decoupled
    assert track.note.startswith("decoupled: r = -0.")


def test_too_few_versions_say_so_and_unseen_ones_do_not_count() -> None:
    track = dual_track([version(1, 0.3, 0.5), version(2, 0.4, 0.6), version(3, 0.5, 0.0, cases=0)])
    assert track.note == "not measured: 2 versions, at least 3 are needed"
    assert not track.decoupled
    assert correlation([1, 2, 3], [1, 2, 3]).pearson_interval is None


def test_the_intervals_are_those_of_the_papers() -> None:
    # r = 0.5 of 28: z = 0.5493, standard error 0.2, so tanh(0.1573) to tanh(0.9413)
    import numpy as np

    rng = np.random.default_rng(0)
    first = rng.normal(size=28)
    unit = (first - first.mean()) / np.linalg.norm(first - first.mean())
    noise = rng.normal(size=28)
    noise -= noise.mean() + (noise @ unit) * unit
    second = 0.5 * unit + np.sqrt(0.75) * noise / np.linalg.norm(noise)
    found = correlation(list(first), list(second))
    assert found.pearson == pytest.approx(0.5)
    assert found.pearson_interval == pytest.approx((0.1560, 0.7357), abs=2e-4)


def test_rows_come_from_laps_and_real_users_take_the_place_of_replayed_ones() -> None:
    from kickwheel.distillation.version_tracks import LiveFigures, version_tracks
    from kickwheel.testing.sample_report import sample_report, unmeasured_report

    report = sample_report()
    [replayed] = version_tracks([report, unmeasured_report()])
    assert (replayed.version, replayed.replayed, replayed.cases) == ("sample-lap-0003-tuned", True, 192)
    assert replayed.offline_split == "valid"
    figures = LiveFigures(cases=400, task_completion=0.61, turns=1.8, correction_rate=0.2, click_through=0.4)
    [live] = version_tracks([report], {"sample-lap-0003-tuned": figures})
    assert (live.replayed, live.task_completion, live.click_through) == (False, 0.61, 0.4)
    few = LiveFigures(cases=5, task_completion=1.0, turns=1.0, correction_rate=0.0, click_through=None)
    assert version_tracks([report], {"sample-lap-0003-tuned": few}) == [replayed]


def test_a_domain_that_replays_nothing_has_its_real_users() -> None:
    from kickwheel.distillation.version_tracks import LiveFigures, version_tracks
    from kickwheel.reporting.metrics import flat_metrics
    from kickwheel.testing.sample_report import sample_report

    report = sample_report()
    assert report.distillation is not None
    bare = report.model_copy(update={"distillation": report.distillation.model_copy(update={"business": {}})})
    assert version_tracks([bare]) == []
    figures = LiveFigures(cases=400, task_completion=0.61, turns=1.8, correction_rate=0.2, click_through=None)
    rows = version_tracks([bare], {"sample-lap-0003-tuned": figures})
    metrics = flat_metrics(bare.model_copy(update={"dual_track": dual_track(rows)}))
    business = {name: value for name, value in metrics.items() if name.startswith("business/")}
    assert business == {
        "business/cases": 400,
        "business/replayed": 0,
        "business/task_completion": 0.61,
        "business/turns": 1.8,
        "business/correction_rate": 0.2,
        "business/decoupled": 0,
    }
