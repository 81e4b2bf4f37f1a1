"""Plans computed from the data: today's measured defaults on the example, other figures elsewhere, a reason for each."""

from __future__ import annotations

from kickwheel.settings import Settings
from kickwheel.tuning.plan_from_data import ALL_LINEAR, DataFacts, plan_encoder, plan_lora
from schemas.student import EncoderStudentPlan
from schemas.tuning import LoraPlan

EXAMPLE = DataFacts(rows=280, classes=11, tokens_a_row=58, base_weights=134_515_008, lora_modules=("q_proj", "v_proj"))


def test_the_example_keeps_what_was_measured_best_there() -> None:
    plan, reasons = plan_lora(LoraPlan(), EXAMPLE)
    assert plan == LoraPlan()
    assert {reason.split(" ")[0] for reason in reasons} >= {"r", "alpha", "target_modules", "batch_size", "learning_rate"}
    assert plan_lora(Settings().tuning, EXAMPLE)[0] == LoraPlan()
    assert plan_lora(LoraPlan(), DataFacts(200, 11, 62, 134_515_008, 8, ("q_proj", "v_proj")))[0] == LoraPlan()


def test_many_rows_on_a_larger_base_get_a_larger_plan() -> None:
    facts = DataFacts(rows=7_481, classes=77, tokens_a_row=60, base_weights=494_000_000, max_lora_rank=64)
    plan, reasons = plan_lora(LoraPlan(max_tokens=900_000), facts)
    assert (plan.r, plan.alpha, plan.batch_size, plan.learning_rate) == (16, 32, 32, 4e-4)
    assert plan.target_modules == ALL_LINEAR
    assert any("2.0 passes" in reason for reason in reasons)
    small = plan_lora(LoraPlan(max_tokens=900_000), DataFacts(7_481, 77, 60, 494_000_000, 8))
    assert small[0].r == 8
    assert any("at most the server's 8" in reason for reason in small[1])


def test_what_is_set_stays_and_is_said() -> None:
    plan, reasons = plan_lora(LoraPlan(r=4, batch_size=8), EXAMPLE)
    assert (plan.r, plan.alpha, plan.batch_size) == (4, 8, 8)
    assert {"r 4: set", "batch_size 8: set"} <= set(reasons)


def test_an_encoder_takes_enough_steps_and_no_more() -> None:
    few, _ = plan_encoder(EncoderStudentPlan(), DataFacts(40, 5, 20))
    many, reasons = plan_encoder(EncoderStudentPlan(), DataFacts(7_481, 77, 20))
    assert few.epochs * 40 / few.batch_size >= 120
    assert many.epochs * 7_481 / many.batch_size <= 601
    assert (few.r, many.r) == (8, 16)
    assert any(reason.startswith("epochs") for reason in reasons)
    full, _ = plan_encoder(EncoderStudentPlan(method="full"), EXAMPLE)
    assert full.learning_rate < few.learning_rate
