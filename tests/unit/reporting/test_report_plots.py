"""The plots: their findings, their colours, and what they do with odd data."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from functools import cache

import pytest

from kickwheel.reporting.learning_plots import labels_by_round, learning_curve, loss_curve
from kickwheel.reporting.load_plots import achieved_plot, latency_plot
from kickwheel.reporting.matrix_plots import confusion_matrix, coverage_heat_map, coverage_squares
from kickwheel.reporting.palette import COLOURS
from kickwheel.reporting.plots import plots_of
from kickwheel.testing.sample_report import sample_catalog, sample_evaluation, sample_report, unmeasured_report
from schemas.seeding import CoverageCell, SeedSet
from schemas.throughput import Percentiles, ThroughputReport
from schemas.tuning import LossPoint


@cache
def sample_plots() -> dict[str, str]:
    return plots_of(sample_report())


def title(svg: str) -> str:
    return ET.fromstring(svg.encode()).attrib["aria-label"]  # noqa: S314 (our own document)


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg.encode())  # noqa: S314
    return ["".join(item.itertext()).strip() for item in root.iter("{http://www.w3.org/2000/svg}text")]


def seeding() -> SeedSet:
    seeds = sample_report().seeding
    assert seeds is not None
    return seeds


def throughput(**changes: object) -> ThroughputReport:
    measured = sample_report().throughput
    assert measured is not None
    return measured.model_copy(update=changes)


def test_every_plot_is_well_formed_and_titled_with_its_finding() -> None:
    titles = {name: title(svg) for name, svg in sample_plots().items()}
    assert titles["learning_curve"] == "Probe's joint frame accuracy on valid rises 5.0 points to 49.0 % from 258 to 316 labels"
    assert titles["loss"].startswith("Tuning loss fell: 2.79 to 0.19 over 45,120 tokens")
    assert (
        titles["confusion"]
        == "240 of 300 intents right on eval; most often fetch_api_logs is read as fetch_exchange_rates (5 rows)"
    )
    assert titles["latency"] == "P99 within 5 s: the adapter up to 4 req/s, the base up to 8 req/s"
    assert titles["achieved"] == "Of 8 requests offered a second the adapter answers 5.8, the base answers 7.7"


def test_what_was_not_measured_has_no_plot() -> None:
    assert set(plots_of(unmeasured_report())) == {"learning_curve", "coverage"}


def test_every_colour_drawn_follows_the_reader_s_scheme() -> None:
    for name, svg in sample_plots().items():
        drawn = svg[svg.index("</style>") :]
        for light, _ in COLOURS.values():
            assert f": {light}" not in drawn, f"{name} draws {light} without a dark counterpart"
        assert "var(--kw-ink, " in drawn


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("colour", ["ink", "muted", "blue", "orange", "grey", "red", "green"])
def test_colours_reach_wcag_aa_on_their_surfaces(colour: str, scheme: int) -> None:
    for surface in ("surface", "page"):
        assert contrast(COLOURS[colour][scheme], COLOURS[surface][scheme]) >= 4.3


@pytest.mark.parametrize("surface", ["warn_surface", "good_surface", "note_surface"])
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_is_readable_in_every_verdict_box(surface: str, scheme: int) -> None:
    assert contrast(COLOURS["ink"][scheme], COLOURS[surface][scheme]) >= 7


def test_light_colours_are_all_different() -> None:
    lights = [light for light, _ in COLOURS.values()]
    assert len(lights) == len(set(lights))


def test_labels_by_round_start_from_the_seeds() -> None:
    assert labels_by_round(seeding()) == [258, 316]


def test_one_round_is_a_point_and_not_a_trend() -> None:
    one = seeding().model_copy(update={"rounds": seeding().rounds[:1]})
    assert title(learning_curve(one)) == "The probe gets 44 % of frames right on valid after one round, with 258 labels"


def test_falling_probe_is_called_falling() -> None:
    back = seeding().model_copy(update={"rounds": seeding().rounds[::-1]})
    assert "falls 5.0 points to 44.0 %" in title(learning_curve(back))


def test_broken_losses_are_counted_in_the_title() -> None:
    losses = [LossPoint(step=n, tokens=100 * n, loss=value) for n, value in enumerate((2.0, math.nan, math.inf, 2.5), start=1)]
    assert (
        title(loss_curve(losses)) == "Tuning loss did not fall: 2.00 to 2.50 over 400 tokens; 2 logged steps had no finite loss"
    )


def test_unparsable_column_stands_last_even_when_it_is_empty() -> None:
    perfect = sample_evaluation("tuned", "eval", 0.6).model_copy(
        update={"confusion": {"sync_orders": {"sync_orders": 3}, "out_of_scope": {"out_of_scope": 2}}}
    )
    svg = confusion_matrix(perfect)
    assert title(svg) == "5 of 5 intents right on eval"
    labels = [text for text in texts(svg) if text in {"sync_orders", "out_of_scope", "unparsable"}]
    assert labels[:3] == ["sync_orders", "out_of_scope", "unparsable"]


def test_unparsable_as_the_commonest_mistake_is_said_in_words() -> None:
    mute = sample_evaluation("tuned", "eval", 0.1).model_copy(update={"confusion": {"sync_orders": {"unparsable": 3}}})
    assert title(confusion_matrix(mute)).endswith("most often sync_orders gives no readable frame (3 rows)")


def test_catalogue_slot_without_any_row_is_an_empty_square() -> None:
    cells = [CoverageCell(intent="sync_orders", slot="date", language="en", rows=9)]
    squares = coverage_squares(cells, sample_catalog())
    assert squares["sync_orders", "date"] == {"en": 9}
    assert squares["sync_orders", "region"] == {}
    title_of_map = title(coverage_heat_map(cells, sample_catalog()))
    assert title_of_map == "Where the wheel is stuck: 17 of 18 squares have fewer than 5 labelled rows, 17 have none"


def test_heat_map_without_any_label_is_drawn() -> None:
    cells = [CoverageCell(intent="sync_orders", slot="-", language="zh", rows=0)]
    assert "0" in texts(coverage_heat_map(cells))


@pytest.mark.parametrize("name", ["同步订单", "a$b$c", "<b>&", "订单🚚"])
def test_any_label_survives_whatever_fonts_are_installed(name: str) -> None:
    cells = [CoverageCell(intent=name, slot="-", language="zh", rows=7)]
    assert any(name in text for text in texts(coverage_heat_map(cells)))


def test_step_without_a_success_leaves_a_gap_in_the_latency() -> None:
    points = [
        point.model_copy(update={"latency_ms": Percentiles()}) if i == 7 else point
        for i, point in enumerate(throughput().points)
    ]
    assert "<svg" in latency_plot(throughput(points=tuple(points)))


def test_void_step_is_drawn_hollow() -> None:
    voided = tuple(point.model_copy(update={"void": True}) for point in throughput().points)
    assert latency_plot(throughput(points=voided)).count("fill: var(--kw-surface") > latency_plot(throughput()).count(
        "fill: var(--kw-surface"
    )
    assert "<svg" in achieved_plot(throughput(points=voided))


def test_arm_that_never_holds_the_slo_is_said_so() -> None:
    missed = tuple(point.model_copy(update={"holds_slo": point.arm == "base"}) for point in throughput().points)
    assert (
        title(latency_plot(throughput(points=missed)))
        == "P99 within 5 s: the adapter at none of the steps, the base up to 8 req/s"
    )


def test_single_arm_has_a_single_panel() -> None:
    base = tuple(point for point in throughput().points if point.arm == "base")
    assert "adapter" not in texts(latency_plot(throughput(points=base)))
