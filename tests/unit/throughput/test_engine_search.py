"""The search over engine settings: at most eight starts, one change at a time, resumable, with a Pareto front."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import ServerFailed
from kickwheel.throughput.engine_search import best_of, cost_per_1000, search, start_of, with_front
from kickwheel.throughput.trial_log import TrialLog
from schemas.engine import EngineFigures, EngineSettings, EngineTrial
from schemas.throughput import Percentiles


def figures(rate: float, p99: float, errors: int = 0) -> EngineFigures:
    return EngineFigures(
        startup_s=1.0,
        rate=rate,
        at_rate=1.0,
        latency_ms=Percentiles(p50=p99 / 2, p99=p99),
        requests=10,
        errors=errors,
        cost_per_1000=cost_per_1000(rate, 0.1),
    )


def likes_small_batches(_number: int, settings: EngineSettings) -> EngineFigures:
    return figures(rate=100.0 - settings.max_num_seqs / 10, p99=50.0)


def test_it_starts_from_the_white_papers_settings_and_keeps_what_is_better() -> None:
    trials = search("cpu", likes_small_batches)
    assert trials[0].settings.max_num_seqs == 256
    assert trials[0].settings.block_size == 32
    assert start_of("gpu").block_size == 16
    assert len(trials) <= 8
    best = best_of(trials)
    assert best is not None
    assert best.settings.max_num_seqs == 16
    assert [trial.settings.max_num_seqs for trial in trials[1:4]] == [64, 64, 64]


def test_no_settings_are_started_twice() -> None:
    trials = search("gpu", likes_small_batches)
    assert len({trial.settings for trial in trials}) == len(trials) == 8


def test_settings_that_do_not_start_are_an_answer() -> None:
    def picky(number: int, settings: EngineSettings) -> EngineFigures:
        if settings.block_size != 32:
            raise ServerFailed("block size not supported")
        return figures(10.0, 10.0)

    trials = search("cpu", picky)
    failed = [trial for trial in trials if trial.figures is None]
    assert [trial.failed for trial in failed] == ["block size not supported"]
    assert best_of(trials) == trials[0]


def test_a_search_that_was_killed_starts_nothing_again(tmp_path: Path) -> None:
    starts: list[EngineSettings] = []

    def dies_at_fourth(number: int, settings: EngineSettings) -> EngineFigures:
        starts.append(settings)
        if number == 4:
            raise KeyboardInterrupt
        return likes_small_batches(number, settings)

    log = TrialLog(tmp_path, "trials", "f" * 64, EngineTrial)
    with pytest.raises(KeyboardInterrupt):
        search("cpu", dies_at_fourth, keep=lambda trial: log.add(str(trial.number), trial))
    again = TrialLog(tmp_path, "trials", "f" * 64, EngineTrial)
    assert len(again.results) == 3
    trials = search("cpu", likes_small_batches, known=again.results)
    assert [trial.settings for trial in trials[:3]] == starts[:3]
    assert trials == search("cpu", likes_small_batches)
    assert TrialLog(tmp_path, "trials", "0" * 64, EngineTrial).results == ()


def test_a_difference_within_the_noise_changes_nothing_and_errors_disqualify() -> None:
    def trial(number: int, value: EngineFigures) -> EngineTrial:
        return EngineTrial(number=number, changed="", settings=start_of("cpu"), figures=value)

    assert best_of([trial(1, figures(100, 50)), trial(2, figures(102, 50))]).number == 1  # type: ignore[union-attr]
    assert best_of([trial(1, figures(100, 50)), trial(2, figures(99, 40))]).number == 2  # type: ignore[union-attr]
    assert best_of([trial(1, figures(100, 50)), trial(2, figures(200, 5_000))]).number == 1  # type: ignore[union-attr]
    assert best_of([trial(1, figures(100, 50, errors=1))]) is None


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    values = [figures(100, 50), figures(120, 80), figures(90, 60), figures(110, 45)]
    trials = [EngineTrial(number=n, changed="", settings=start_of("cpu"), figures=v) for n, v in enumerate(values, start=1)]
    assert [trial.number for trial in with_front(trials) if trial.on_front] == [2, 4]


def test_cost_is_the_price_of_the_time_that_1000_requests_take() -> None:
    assert cost_per_1000(10.0, 3.6) == pytest.approx(0.1)
    assert cost_per_1000(0.0, 3.6) is None
