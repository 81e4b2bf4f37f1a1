"""What differs between ways of running an adapter is told; samples are seeded and fair; answers are not asked twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from kickwheel.evaluation.answered import AnsweredStudent
from kickwheel.tuning.assessment import Baseline, assess, calibrate, sampled
from kickwheel.tuning.parity import check_parity, parity_texts
from schemas.frame import Frame, Prediction
from schemas.parity import ParityReport
from schemas.utterance import Utterance


class Scripted:
    """Answers by text."""

    def __init__(self, name: str, intents: dict[str, str], confidence: float | None = None):
        self.name, self.intents, self.confidence, self.asked = name, intents, confidence, []  # type: ignore[var-annotated]

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        self.asked += texts
        return [
            Prediction(frame=Frame(intent=self.intents[text]), raw=self.intents[text], confidence=self.confidence)
            if text in self.intents
            else Prediction(error="malformed")
            for text in texts
        ]


TEXTS = [f"text {k}" for k in range(8)]
SAME = dict.fromkeys(TEXTS, "sync")


def test_equal_frames_agree_also_where_there_is_none() -> None:
    most = dict.fromkeys(TEXTS[:6], "sync")
    report = check_parity(TEXTS, Scripted("peft", most), [("served", Scripted("s", most), "vLLM")], tolerance=0.0)
    assert (report.arms[0].agreement, report.readable, report.failures) == (1.0, 6, ())


@pytest.mark.parametrize(("unlike", "passes"), [(2, True), (3, False)])
def test_more_differences_than_the_tolerance_fail_and_are_shown(unlike: int, passes: bool) -> None:
    other = SAME | dict.fromkeys(TEXTS[:unlike], "fetch")
    merged, served = Scripted("m", SAME), Scripted("s", other)
    report = check_parity(
        TEXTS, Scripted("peft", SAME), [("merged", merged, "here"), ("served", served, "vLLM")], tolerance=0.25
    )
    assert [arm.agreement for arm in report.arms] == [1.0, 1 - unlike / 8]
    assert (not report.failures) is passes
    assert [(item.expected, item.got) for item in report.arms[1].differences] == [("sync", "fetch")] * unlike
    if not passes:
        assert "served weights (vLLM) give another frame" in report.failures[0]
        assert "3 of 8 prompts, 25 % may differ" in report.failures[0]


def test_parity_was_run_or_says_why_not() -> None:
    with pytest.raises(ValidationError, match="run, and has arms"):
        ParityReport(prompts=0, tolerance=0.1)
    assert ParityReport(prompts=0, tolerance=0.1, skipped="no vLLM").sentence() == "not measured: no vLLM"


def test_prompts_are_drawn_from_the_shorter_half_by_seed() -> None:
    texts = ["x" * length for length in range(1, 41)] * 2
    chosen = parity_texts(texts, 8, seed=0)
    assert len(set(chosen)) == 8
    assert max(map(len, chosen)) <= 20
    assert chosen == parity_texts(texts[::-1], 8, seed=0) != parity_texts(texts, 8, seed=1)
    assert len(parity_texts(["a", "b"], 8, seed=0)) == 2


def rows(count: int = 40) -> list[Utterance]:
    intents = ["sync", "sync", "sync", "fetch"]
    return [Utterance(id=f"r{k}", text=f"row {k}", language="en", frame=Frame(intent=intents[k % 4])) for k in range(count)]


def test_sample_has_every_intent_in_proportion() -> None:
    chosen = sampled(rows(), 8, seed=3)
    intents = [rows()[index].frame.intent for index in chosen]  # type: ignore[union-attr]
    assert (len(chosen), intents.count("fetch")) == (8, 2)
    assert chosen == sorted(chosen) == sampled(rows(), 8, seed=3) != sampled(rows(), 8, seed=4)
    assert sampled(rows(), 0, seed=3) == list(range(40))


def test_a_sampled_baseline_is_said_to_be_one_and_is_tested_on_its_rows() -> None:
    gold = rows()
    tuned = Scripted("tuned", {row.text: row.frame.intent for row in gold if row.frame}, confidence=0.8)
    base = Scripted("base_few_shot", dict.fromkeys((row.text for row in gold), "sync"))
    found = assess(gold, tuned, [Baseline(base, sample=8)], evaluated_with="test", seed=3)
    few = found.evaluations[1]
    assert (few.sample_of, few.overall.rows, len(base.asked)) == (40, 8, 8)
    assert found.evaluations[0].sample_of is None
    assert (found.tests["base_few_shot"].wins, found.tests["base_few_shot"].losses) == (2, 0)


def test_calibration_is_fitted_on_valid_and_judged_on_eval() -> None:
    valid, held = rows(40), rows(20)
    tuned = Scripted("tuned", {row.text: "sync" for row in valid}, confidence=0.99)
    calibration, answers = calibrate(valid, tuned, target_accuracy=0.9, sha256="0" * 64)
    assert calibration is not None
    assert (calibration.accuracy, calibration.target_met, calibration.fitted_on) == (0.75, False, "valid")
    assert set(answers) == {row.text for row in valid}
    found = assess(held, tuned, [], evaluated_with="test", calibration=calibration)
    quality = found.evaluations[0].calibration
    assert quality is not None
    assert quality.ece < 0.05 < quality.ece_raw


def test_what_was_answered_is_not_asked_again() -> None:
    behind = Scripted("served", SAME)
    student = AnsweredStudent("challenger", {TEXTS[0]: Prediction(frame=Frame(intent="fetch"))}, behind)
    found = student.predict([TEXTS[0], TEXTS[1], TEXTS[1]])
    assert [one.frame.intent for one in found if one.frame] == ["fetch", "sync", "sync"]
    assert behind.asked == [TEXTS[1]]
