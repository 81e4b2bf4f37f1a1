"""The HTML page: self-contained, honest about what is missing, and texts are data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from types import MappingProxyType

import pytest

from kickwheel.reporting.html import render_page
from kickwheel.reporting.plots import plots_of
from kickwheel.reporting.standing import verdict_tone
from kickwheel.testing.sample_report import sample_evaluation, sample_report, unmeasured_report
from schemas.lap import STAGES, LapReport
from schemas.seeding import TeacherContribution
from schemas.tuning import TuningReport

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Collects ids, resources and texts, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.resources: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in {"src", "href", "xlink:href", "srcset", "data", "action"}:
                self.resources.append(value or "")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data


@cache
def sample_plots() -> dict[str, str]:
    """Drawn once: drawing is the slow part, and most of these tests read the text around the plots."""
    return plots_of(sample_report())


def page_of(report: LapReport, plots: Mapping[str, str] = MappingProxyType({})) -> tuple[str, Page]:
    html = render_page(report, plots)
    return html, Page(html)


def test_page_asks_for_nothing_outside_itself() -> None:
    html, page = page_of(sample_report(), sample_plots())
    assert [resource for resource in page.resources if not resource.startswith("#")] == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert re.findall(r"@import|url\((?!#)", html) == []


def test_ids_are_unique_and_every_reference_has_its_target() -> None:
    html, page = page_of(sample_report(), sample_plots())
    assert len(page.ids) == len(set(page.ids))
    references = {resource[1:] for resource in page.resources} | set(re.findall(r"url\(#([^)]+)\)", html))
    assert references <= set(page.ids)


def test_page_shows_every_plot() -> None:
    _, page = page_of(sample_report(), sample_plots())
    assert page.tags.count("svg") == len(sample_plots()) == 11


def test_stages_stand_in_lap_order() -> None:
    _, page = page_of(sample_report(), sample_plots())
    assert [name for name in page.ids if name in STAGES] == list(STAGES)


def test_losing_to_the_probe_is_said_first_and_in_the_warning_style() -> None:
    html, _ = page_of(sample_report())
    verdict = html.index('<p class="verdict warn">')
    assert verdict < html.index("Joint frame accuracy on eval")
    assert "LOSES TO the linear probe" in html[verdict : verdict + 300]


def tuning_with(joint: float, p_value: float) -> TuningReport:
    tuning = sample_report().tuning
    assert tuning is not None
    others = tuple(item for item in tuning.evaluations if item.student != "tuned")
    paired = tuning.against_probe.model_copy(update={"p_value": p_value})
    return tuning.model_copy(
        update={"evaluations": (sample_evaluation("tuned", "eval", joint), *others), "against_probe": paired}
    )


@pytest.mark.parametrize(
    ("joint", "p_value", "tone"), [(0.40, 0.001, "warn"), (0.503, 1.0, "note"), (0.52, 0.4, "note"), (0.62, 0.001, "good")]
)
def test_tone_of_the_verdict_is_good_only_beyond_chance(joint: float, p_value: float, tone: str) -> None:
    tuning = tuning_with(joint, p_value)
    assert verdict_tone(tuning) == tone
    html, _ = page_of(sample_report().model_copy(update={"tuning": tuning}))
    assert f'<p class="verdict {tone}"><b>Against the linear probe</b>' in html


def test_chinese_rows_have_a_line_of_their_own_for_every_student() -> None:
    _, page = page_of(sample_report())
    assert page.text.count("Chinese rows\n") == 5  # tuned, probe, base, champion on the replay, challenger
    assert "Chinese rows (36): tuned student 13.9 %, linear probe 30.6 %, untuned base 0.0 %" in page.text


@pytest.mark.parametrize(
    ("teacher", "sentence"),
    [
        (TeacherContribution(model="none", labels=0), "The LLM contributed 0 labels, nothing to check."),
        (TeacherContribution(model="m", labels=8, right=6), "The LLM contributed 8 labels, 75 % of them right."),
    ],
)
def test_what_the_teacher_gave_is_said_even_when_it_is_nothing(teacher: TeacherContribution, sentence: str) -> None:
    report = sample_report()
    assert report.seeding is not None
    _, page = page_of(report.model_copy(update={"seeding": report.seeding.model_copy(update={"teacher": teacher})}))
    assert sentence in page.text


def test_business_metrics_are_labelled_replayed() -> None:
    html, _ = page_of(sample_report())
    assert html.count('<span class="badge">replayed</span>') == 2
    assert "no live users" in html


def test_missing_stages_say_not_measured_with_the_reason() -> None:
    _, page = page_of(unmeasured_report())
    assert "Not measured: vLLM is not installed: make setup-vllm installs it." in page.text
    for stage in ("intent", "tuning", "distillation"):
        assert f"Not measured: the {stage} stage did not run in this lap." in page.text
    assert "The teacher was unavailable: no endpoint is set and vLLM is missing." in page.text


@pytest.mark.parametrize("stage", STAGES)
def test_page_holds_with_any_one_stage_alone(stage: str) -> None:
    whole = sample_report()
    alone = whole.model_copy(update={name: None for name in STAGES if name != stage})
    _, page = page_of(alone)
    assert page.text.count("did not run in this lap") >= 4


def test_nothing_to_distil_is_a_result() -> None:
    report = sample_report()
    assert report.distillation is not None
    idle = report.distillation.model_copy(update={"challenger": None, "gate": None, "losses": (), "challenger_eval": None})
    _, page = page_of(report.model_copy(update={"distillation": idle}))
    assert "there was nothing to distil, so there is no challenger" in page.text
    assert "The challenger on eval: not measured, there is none." in page.text


def test_texts_are_data_and_never_markup() -> None:
    report = sample_report()
    assert report.intent is not None
    assert report.seeding is not None
    attack = "<script>alert(1)</script><b>订单"
    source = report.intent.rejections[0].source.model_copy(update={"quote": attack})
    rejection = report.intent.rejections[0].model_copy(update={"source": source, "question": attack})
    task = report.intent.tasks[0].model_copy(update={"description": attack})
    hostile = report.model_copy(
        update={
            "domain": attack,
            "code_version": attack,
            "intent": report.intent.model_copy(update={"rejections": (rejection,), "tasks": (task,)}),
            "seeding": report.seeding.model_copy(update={"reviewer": attack, "labels_by_source": {attack: 3}}),
        }
    )
    html, page = page_of(hostile)
    assert "script" not in page.tags
    assert "<script" not in html
    assert attack in page.text
