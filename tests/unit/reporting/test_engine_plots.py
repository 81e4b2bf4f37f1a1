"""The engine's reports on a lap's page: plots with their finding, tables, and nothing where nothing was measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from kickwheel.reporting.engine_plots import engine_plots
from kickwheel.reporting.engine_tables import engine_markdown
from kickwheel.reporting.html import render_page
from kickwheel.reporting.plots import plots_of
from kickwheel.testing.sample_report import sample_report
from kickwheel.throughput.engine_reports import keep_report, kept_reports
from schemas.engine import ArmsReport, ColdStartReport, EngineReports, EngineSearchReport
from tests.contracts.engine_samples import ENGINE


def reports() -> EngineReports:
    kinds = {EngineSearchReport: "search", ArmsReport: "arms", ColdStartReport: "cold_start"}
    return EngineReports.model_validate({kinds[type(item)]: item for item in ENGINE if type(item) in kinds})  # type: ignore[index]


def title(svg: str) -> str:
    return ET.fromstring(svg.encode()).attrib["aria-label"]  # noqa: S314 (our own document)


def test_each_plot_says_its_finding() -> None:
    titles = {name: title(svg) for name, svg in engine_plots(reports()).items()}
    assert titles == {
        "engine_front": "1 settings measured, 1 on the front: start 1, the start, is chosen",
        "engine_cost": "1,000 requests cost 0.0027 to 0.0027",
        "engine_arms": "Serve merged: 1.60 times the rate",
        "engine_starts": "5 s to the first token, most of it in: weights",
    }


def test_the_laps_page_has_them_where_they_exist() -> None:
    report = sample_report()
    assert 'id="engine"' not in render_page(report, plots_of(report))
    with_engine = report.model_copy(update={"engine": reports()})
    plots = plots_of(with_engine)
    page = render_page(with_engine, plots)
    assert {"engine_front", "engine_cost", "engine_arms", "engine_starts"} <= set(plots)
    assert 'id="engine"' in page
    assert "did not start" in page
    assert "1.60 times the rate" in page


def test_the_newest_report_of_each_kind_is_kept_beside_the_logs(tmp_path: Path) -> None:
    assert kept_reports(tmp_path, "shop") is None
    made = reports()
    assert made.search is not None
    keep_report(tmp_path, "shop", made.search)
    keep_report(tmp_path, "shop", made.search.model_copy(update={"why": "the second one"}))
    (tmp_path / "shop" / "engine" / "arms.json").write_text("{torn", encoding="utf-8")
    found = kept_reports(tmp_path, "shop")
    assert found is not None
    assert found.search is not None
    assert (found.search.why, found.arms) == ("the second one", None)
    assert "## Settings" in engine_markdown(found)
