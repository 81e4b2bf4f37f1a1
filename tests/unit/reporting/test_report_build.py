"""What a lap's report leaves on disk, in MLflow and in Prefect."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kickwheel.reporting.build import flat_metrics, summary_markdown, write_report
from kickwheel.testing.sample_report import sample_report, unmeasured_report
from schemas.feedback import BusinessMetrics
from schemas.lap import STAGES, LapReport


def test_whole_lap_writes_page_plots_and_a_report_that_reads_back(tmp_path: Path) -> None:
    written = write_report(sample_report(), tmp_path)
    assert LapReport.model_validate_json((tmp_path / "report.json").read_text(encoding="utf-8")) == written
    assert written.html == str(tmp_path / "report.html")
    assert written.model_copy(update={"html": None}) == sample_report()
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    plots = ("learning_curve", "coverage", "loss", "confusion", "reliability", "coverage_curve", "latency", "achieved")
    plots += ("distillation_loss", "load_cdf", "load_timeline")
    assert names == {"report.json", "report.html", *(f"plots/{plot}.svg" for plot in plots)}


def test_completion_marker_is_missing_when_an_earlier_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(unmeasured_report(), tmp_path)
    assert not (tmp_path / "report.json").exists()


def test_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    write_report(unmeasured_report(), tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    write_report(unmeasured_report(), tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}


def test_flat_metrics_carry_the_names_that_the_compare_page_shows() -> None:
    metrics = flat_metrics(sample_report())
    expected = {
        "eval/joint_frame_accuracy": 125 / 300,
        "eval_zh/joint_frame_accuracy": 5 / 36,
        "probe/joint_frame_accuracy": 151 / 300,
        "base/joint_frame_accuracy": 4 / 300,
        "challenger/joint_frame_accuracy": 131 / 300,
        "throughput/largest_rate_adapter": 4.0,
        "throughput/largest_rate_base": 8.0,
        "business/task_completion": 0.422,
        "business/turns": 2.31,
        "business/correction_rate": 0.328,
        "business/cost_per_1k_tasks": 0.041,
        "seeding/labels_total": 316.0,
        "seeding/labels_teacher": 17.0,
        "seconds/total": 561.1,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)


def test_flat_metrics_leave_out_what_is_not_finite_or_not_measured() -> None:
    report = sample_report()
    assert report.distillation is not None
    nothing_done = BusinessMetrics(cases=9, task_completion=0, turns=2, correction_rate=0, cost_per_1k_tasks=math.inf)
    distillation = report.distillation.model_copy(update={"business": {"champion": nothing_done}, "gate": None})
    metrics = flat_metrics(report.model_copy(update={"distillation": distillation}))
    assert "business/cost_per_1k_tasks" not in metrics
    assert "distillation/promoted" not in metrics
    assert metrics["business/turns"] == 2.0
    assert all(math.isfinite(value) for value in metrics.values())


def test_flat_metrics_of_a_lap_without_vllm_name_no_rate() -> None:
    names = flat_metrics(unmeasured_report())
    assert not [name for name in names if name.startswith(("throughput/", "eval/", "business/"))]


def test_markdown_has_no_indented_line_and_says_replayed() -> None:
    text = summary_markdown(sample_report())
    assert [line for line in text.splitlines() if line.startswith((" ", "\t"))] == []
    assert "## Business metrics, replayed" in text
    assert "tuned student, Chinese rows" in text
    assert "LOSES TO the linear probe" in text


def test_markdown_gives_the_reason_for_each_stage_that_did_not_run() -> None:
    text = summary_markdown(unmeasured_report())
    for stage in ("intent", "tuning", "distillation"):
        assert f"the {stage} stage did not run" in text
    assert "vLLM is not installed" in text


def test_markdown_keeps_texts_from_becoming_markup_or_table_cells() -> None:
    report = sample_report()
    assert report.tuning is not None
    tuning = report.tuning.model_copy(update={"promotion": "a | b <img src=x>\n# heading"})
    text = summary_markdown(report.model_copy(update={"tuning": tuning}))
    assert "not promoted: a \\| b \\<img src=x\\> # heading" in text.replace("Not", "not")


def test_every_stage_has_a_line_in_lap_order() -> None:
    rows = [
        line.split(" | ")[0].strip("| ") for line in summary_markdown(sample_report()).splitlines() if line.startswith("| ")
    ]
    assert [row for row in rows if row in STAGES] == list(STAGES)
