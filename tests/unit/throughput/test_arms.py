"""Arms: alternating order, ratios that drift does not move, and what they recommend."""

from __future__ import annotations

import pytest

from kickwheel.throughput.arms import Block, arm_figures, measure_blocks, order, ratio, ratios, recommend
from schemas.engine import ArmName, Ratio
from schemas.throughput import LoadPoint, Percentiles


def point(rate: float, p50: float, errors: dict[str, int] | None = None) -> LoadPoint:
    return LoadPoint(
        arm="base",
        offered_rate=0.0,
        achieved_rate=rate,
        duration_s=1.0,
        sent=10,
        succeeded=10,
        errors=errors or {},
        ttft_ms=Percentiles(p50=p50 / 2, p99=p50),
        latency_ms=Percentiles(p50=p50, p90=p50, p95=p50, p99=2 * p50),
        send_delay_p99_ms=0.0,
        max_in_flight=1,
        goodput=rate,
        completion_tokens_per_s=0.0,
        holds_slo=True,
    )


def block(arm: ArmName, number: int, rate: float, p50: float = 100.0) -> Block:
    return Block(arm, number, point(rate, p50), point(1.0, p50))


def test_every_other_block_goes_backwards() -> None:
    seen: list[tuple[str, int]] = []

    def measure(arm: ArmName, number: int) -> Block:
        seen.append((arm, number))
        return block(arm, number, 1.0)

    measure_blocks(("base", "adapter", "merged"), 2, measure)
    assert seen == [("base", 0), ("adapter", 0), ("merged", 0), ("merged", 1), ("adapter", 1), ("base", 1)]
    assert order(("base", "adapter"), 1) == ("adapter", "base")


def test_a_machine_that_slows_down_in_a_line_does_not_move_the_ratio() -> None:
    speed = iter([1.00, 0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.65])
    true: dict[ArmName, float] = {"base": 100.0, "adapter": 60.0}
    blocks = measure_blocks(("base", "adapter"), 4, lambda arm, number: block(arm, number, true[arm] * next(speed)))
    found = ratio(blocks, "adapter", "base", "rate")
    assert found is not None
    assert found.ratio == pytest.approx(0.6, rel=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.6 < found.high


def test_one_block_has_a_ratio_and_no_interval() -> None:
    found = ratio([block("base", 0, 10.0), block("adapter", 0, 5.0)], "adapter", "base", "rate")
    assert found is not None
    assert (found.ratio, found.low, found.high) == (0.5, None, None)


def test_blocks_without_a_partner_do_not_count() -> None:
    assert ratio([block("base", 0, 10.0), block("adapter", 1, 5.0)], "adapter", "base", "rate") is None


def test_ratios_stand_over_base_and_over_adapter() -> None:
    arms: tuple[ArmName, ...] = ("base", "adapter", "merged")
    blocks = [block(arm, number, 10.0) for arm in arms for number in range(2)]
    pairs = {(item.of, item.over) for item in ratios(blocks, arms)}
    assert pairs == {("adapter", "base"), ("merged", "base"), ("merged", "adapter")}


def test_errors_of_both_loads_are_counted_by_kind() -> None:
    blocks = [Block("base", 0, point(1.0, 1.0, {"timeout": 2}), point(1.0, 1.0, {"timeout": 1, "http_500": 1}))]
    assert arm_figures(blocks, "base").errors == {"timeout": 3, "http_500": 1}


def merged_over_adapter(value: float, low: float | None, high: float | None) -> list[Ratio]:
    return [Ratio(of="merged", over="adapter", figure="rate", ratio=value, low=low, high=high, blocks=4)]


@pytest.mark.parametrize(
    ("found", "adapters", "word", "because"),
    [
        (merged_over_adapter(1.6, 1.4, 1.8), 1, "merged", "worth"),
        (merged_over_adapter(1.02, 1.0, 1.04), 1, "adapter", "not worth"),
        (merged_over_adapter(1.2, 0.9, 1.5), 1, "adapter", "not certainly"),
        (merged_over_adapter(1.6, None, None), 1, "not decided", "one block"),
        (merged_over_adapter(1.6, 1.4, 1.8), 3, "adapter", "3 adapters share one server"),
        ([], 1, "not decided", "not both measured"),
    ],
)
def test_merged_is_recommended_only_where_it_is_certainly_faster(
    found: list[Ratio], adapters: int, word: str, because: str
) -> None:
    said, why = recommend(found, adapters)
    assert said == word
    assert because in why


def test_nothing_is_recommended_on_arms_that_failed_requests() -> None:
    assert recommend(merged_over_adapter(2.0, 1.9, 2.1), 1, {"timeout": 3})[0] == "not decided"
