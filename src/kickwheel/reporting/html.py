"""The report as one self-contained page: no script, no outside resource, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kickwheel.reporting import wording
from kickwheel.reporting.palette import css_variables
from kickwheel.reporting.standing import gate_tone, quality_lines, verdict_tone
from kickwheel.reporting.svg import inline
from kickwheel.throughput.slo import describe
from schemas.lap import STAGES, LapReport


def render_page(report: LapReport, plots: Mapping[str, str]) -> str:
    """``report.html``.

    Args:
        report: the lap; what it does not hold is shown as "not measured", with the reason.
        plots: standalone SVG documents by name, as ``plots.plots_of`` gives them.
    """
    students = report.tuning.evaluations if report.tuning else ()
    return page_environment().get_template("report.html.j2").render(
        report=report,
        stages=STAGES,
        plots={name: Markup(inline(svg)) for name, svg in plots.items()},  # noqa: S704 (ours; texts in it are escaped)
        variables=Markup(css_variables(":root")),  # noqa: S704
        tuning_lines=quality_lines(students),
        challenger_lines=quality_lines((report.challenger_eval,)),
        replay_lines=quality_lines((report.distillation.replay_evaluation,) if report.distillation else ()),
        tone=verdict_tone(report.tuning) if report.tuning else "note",
        gate_tone=gate_tone(report),
        total_seconds=sum(time.seconds for time in report.stages),
        not_measured=wording.not_measured(report),
        slo=describe(report.throughput.slo) if report.throughput else "",
    )  # fmt: skip


@cache
def page_environment() -> Environment:
    """Templates and filters of all pages."""
    environment = Environment(
        loader=PackageLoader("kickwheel.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=wording.percent,
        interval=wording.interval,
        span=wording.span,
        duration=wording.duration,
        latency=wording.latency,
        number=wording.number,
        rate=wording.rate,
        counts=wording.counts,
        plural=wording.plural,
        sentence=wording.sentence,
    )
    environment.globals.update(not_run=wording.not_run, students=wording.STUDENTS, languages=wording.LANGUAGES)
    return environment
