"""Schedule, percentiles, objective and the order of the arms: what a throughput report rests on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kickwheel.errors import ServiceUnavailable
from kickwheel.inference.ports import ChatReply, ChatRequest
from kickwheel.settings import ThroughputSettings
from kickwheel.throughput.measure import load_point, measure, typical_output_tokens
from kickwheel.throughput.ports import Sample, StepRecord
from kickwheel.throughput.schedule import choose_texts, constant_schedule
from kickwheel.throughput.slo import holds_slo, is_void
from kickwheel.throughput.statistics import percentile, percentiles_ms
from schemas.throughput import Percentiles, Slo

SLO = Slo(p99_ms=1000.0, error_rate=0.1)


def test_a_constant_schedule_offers_its_rate() -> None:
    assert constant_schedule(4.0, 1.0) == (0.0, 0.25, 0.5, 0.75)
    assert len(constant_schedule(0.5, 10.0)) == 5
    assert constant_schedule(0.1, 1.0) == (0.0,)


@pytest.mark.parametrize(("rate", "duration"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_a_schedule_that_sends_nothing_is_refused(rate: float, duration: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        constant_schedule(rate, duration)


def test_texts_are_chosen_by_the_seed_and_each_comes_once_before_any_comes_again() -> None:
    texts = [str(number) for number in range(10)]
    chosen = choose_texts(texts, 25, seed=3)
    assert chosen == choose_texts(texts, 25, seed=3)
    assert chosen != choose_texts(texts, 25, seed=4)
    assert sorted(chosen[:10]) == sorted(chosen[10:20]) == texts
    assert len(chosen) == 25
    with pytest.raises(ValueError, match="no utterances"):
        choose_texts([], 1, seed=0)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1), st.floats(min_value=0.01, max_value=1))
def test_a_percentile_is_a_sample_with_that_share_at_or_below_it(samples: list[float], share: float) -> None:
    value = percentile(samples, share)
    assert value in samples
    assert sum(sample <= value for sample in samples) >= share * len(samples) - 1e-9
    assert sum(sample < value for sample in samples) < share * len(samples) + 1e-9


def test_percentiles_are_in_milliseconds_and_absent_without_samples() -> None:
    seconds = [float(number) for number in range(10, 0, -1)]
    assert percentiles_ms(seconds) == Percentiles(p50=5000, p90=9000, p95=10_000, p99=10_000)
    assert percentiles_ms([]) == Percentiles()


@pytest.mark.parametrize(
    ("p99", "succeeded", "holds"),
    [(1000.0, 10, True), (1000.1, 10, False), (500.0, 9, True), (500.0, 8, False), (None, 0, False)],
)
def test_the_objective_is_on_latency_and_on_errors(p99: float | None, succeeded: int, holds: bool) -> None:
    assert holds_slo(SLO, sent=10, succeeded=succeeded, latency_ms=Percentiles(p50=1, p99=p99)) is holds


def test_a_step_is_void_when_the_generator_was_late() -> None:
    assert is_void(send_delay_p99_ms=51, latency_ms=Percentiles(p50=1000))
    assert not is_void(send_delay_p99_ms=50, latency_ms=Percentiles(p50=1000))
    assert not is_void(send_delay_p99_ms=50, latency_ms=Percentiles())


def test_the_figures_of_a_step_come_from_its_replies_and_its_errors_stand_apart() -> None:
    samples = (
        Sample(scheduled=0.0, sent=0.0, finished=0.5, first_token=0.2, completion_tokens=10),
        Sample(scheduled=1.0, sent=1.02, finished=2.5, first_token=1.3, completion_tokens=10),
        Sample(scheduled=2.0, sent=2.0, finished=4.0, first_token=3.0, completion_tokens=10),
        Sample(scheduled=3.0, sent=3.0, finished=33.0, error="timeout"),
    )
    point = load_point(StepRecord(samples, max_in_flight=2), arm="base", rate=1.0, slo=SLO)
    assert (point.sent, point.succeeded, point.errors) == (4, 3, {"timeout": 1})
    assert point.latency_ms.p99 == pytest.approx(2000)
    assert point.ttft_ms.p50 == pytest.approx(300)
    assert point.duration_s == pytest.approx(4.0)
    assert point.achieved_rate == pytest.approx(3 / 4)
    assert point.goodput == pytest.approx(1 / 4)
    assert point.completion_tokens_per_s == pytest.approx(30 / 4)
    assert point.send_delay_p99_ms == pytest.approx(20)
    assert not point.holds_slo
    assert not point.void


class ScriptedGenerator:
    """Every reply takes 0.1 s; dies in the step given."""

    def __init__(self, dies_in: int = 0):
        self.steps: list[tuple[str, float, tuple[str, ...]]] = []
        self.drained = 0
        self.dies_in = dies_in

    def run(self, model: str, texts: Sequence[str], schedule: Sequence[float]) -> StepRecord:
        self.steps.append((model, 1 / (schedule[1] - schedule[0]), tuple(texts)))
        error = "connection" if len(self.steps) == self.dies_in else None
        samples = tuple(Sample(at, at, at + 0.1, at + 0.05, 8, error) for at in schedule)
        return StepRecord(samples, max_in_flight=1)

    def drain(self) -> None:
        self.drained += 1

    def is_alive(self) -> bool:
        return len(self.steps) != self.dies_in


MODELS = {"base": "smol", "adapter": "tuned"}
SETTINGS = ThroughputSettings(rates=(1.0, 2.0, 4.0), step_s=10.0, slo=SLO)
TEXTS = [f"text {number}" for number in range(12)]


def test_both_arms_get_the_same_load_in_alternating_order() -> None:
    generator = ScriptedGenerator()
    done: list[tuple[int, int]] = []
    report = measure(generator, MODELS, TEXTS, SETTINGS, seed=1, progress=lambda *step: done.append(step))  # type: ignore[arg-type]
    assert [step[0] for step in generator.steps] == ["smol", "tuned", "tuned", "smol", "smol", "tuned"]
    for first, second in zip(generator.steps[::2], generator.steps[1::2], strict=True):
        assert first[1:] == second[1:]
    assert generator.drained == 6
    assert done == [(number, 6) for number in range(1, 7)]
    assert report.measured
    assert report.largest_rate("adapter") == 4.0


def test_a_server_that_dies_ends_the_measurement_and_is_a_result() -> None:
    generator = ScriptedGenerator(dies_in=4)
    report = measure(generator, MODELS, TEXTS, SETTINGS, seed=1)  # type: ignore[arg-type]
    assert not report.measured
    assert report.not_measured_reason == "the model server died at 2 requests/s (base)"
    assert len(report.points) == 4
    assert report.points[-1].errors == {"connection": 20}
    assert report.largest_rate("base") is None


class Writes:
    """Replies of set lengths; None is an error."""

    model = "tuned"

    def __init__(self, lengths: list[int | None]):
        self.lengths = dict(zip(TEXTS, lengths, strict=False))

    def complete(self, request: ChatRequest) -> ChatReply:
        length = self.lengths[request.messages[-1].content]
        if length is None:
            raise ServiceUnavailable("down")
        return ChatReply(text="", finish_reason="stop", model="tuned", prompt_tokens=1, completion_tokens=length)


def test_the_typical_output_length_is_the_mean_of_the_replies() -> None:
    assert typical_output_tokens(Writes([20, 31, None]), TEXTS[:3], max_tokens=64) == 26
    with pytest.raises(ServiceUnavailable):
        typical_output_tokens(Writes([None]), TEXTS[:1], max_tokens=64)
