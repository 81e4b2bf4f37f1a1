"""The terminal tables: 80 columns, honest, and texts are no markup."""

from __future__ import annotations

import io

from rich.cells import cell_len
from rich.console import Console

from kickwheel.reporting.table import lap_table
from kickwheel.reporting.wording import duration, interval, latency, percent, rate, sentence
from kickwheel.testing.sample_report import sample_metrics, sample_report, unmeasured_report
from schemas.lap import LapReport


def printed(report: LapReport, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(lap_table(report))
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_tables_fit_80_columns_and_cut_nothing() -> None:
    text = printed(sample_report())
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "…" not in text


def test_tables_say_the_verdicts() -> None:
    text = " ".join(printed(sample_report()).split())
    for said in (
        "LOSES TO the linear probe",
        "contributed 17 labels, 88 % of them right",
        "hold: joint frame accuracy",
        "missed",
    ):
        assert said in text


def test_unmeasured_lap_has_no_quality_and_no_throughput_table() -> None:
    text = printed(unmeasured_report())
    assert "Quality on eval" not in text
    assert "Throughput, requests" not in text
    assert "vLLM is not installed" in text


def test_square_brackets_in_texts_are_not_markup() -> None:
    report = sample_report()
    assert report.tuning is not None
    tuning = report.tuning.model_copy(update={"promotion": "[red]MLflow[/nope] said no"})
    assert "[red]MLflow[/nope] said no" in printed(report.model_copy(update={"tuning": tuning, "domain": "[b]x"}))


def test_wording_of_figures() -> None:
    assert percent(0.4213) == "42.1 %"
    assert percent(None) == "not measured"
    assert [duration(value) for value in (0.42, 59.6, 131.8, None)] == ["0.4 s", "60 s", "2 min 12 s", "not measured"]
    assert [latency(value) for value in (None, 412.4, 8150)] == ["–", "412 ms", "8.15 s"]
    assert [rate(value) for value in (None, 0.0, 2.5, 8.0)] == ["not measured", "none of the steps", "2.50 req/s", "8 req/s"]
    assert sentence("the end.") == "The end."


def test_interval_never_shows_a_negative_zero() -> None:
    metrics = sample_metrics(36, 0.0, intent=0.0, slot=0.0).model_copy(update={"joint_interval": (-1e-18, 0.0964)})
    assert interval(metrics) == "0.0 to 9.6 %"
