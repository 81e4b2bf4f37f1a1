"""`kickwheel throughput`: what it would do, how it refuses, and with which code it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app, launcher
from kickwheel.testing.sample_report import sample_report, unmeasured_report
from schemas.throughput import RateRequest, ThroughputReport

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = str(ROOT / "examples" / "dataops")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))


def test_a_dry_run_says_rates_and_seconds_and_starts_nothing(tmp_path: Path) -> None:
    arguments = ["throughput", DOMAIN, "--slo", "p99_ms<=800", "--start", "4", "--dry-run"]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0
    assert "p99_ms<=800" in said.stdout
    assert "4 (75 s), 8 (38 s)" in said.stdout
    plan = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert plan["first_rates"] == [4, 8, 16, 32]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slo", "p98_ms<=800"], "there is no objective 'p98_ms'"),
        (["--base", "--model", "x"], "exclude each other"),
        (["--arrivals", "bursts"], "'constant' or 'poisson'"),
        (["--load", "flood:3"], "there is no load 'flood'"),
        (["--load", "ramp:3"], "ramp takes two rates"),
        (["--load", "trace:/nowhere.jsonl"], "there is no such trace"),
        (["--cores", "all"], "'auto', 'separate' or 'shared'"),
    ],
)
def test_what_makes_no_sense_ends_with_2_and_says_why(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["throughput", DOMAIN, *arguments, "--dry-run"])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_a_dry_run_of_a_load_says_how_many_requests_and_for_how_long() -> None:
    arguments = ["throughput", DOMAIN, "--load", "steps:50,100,200,500", "--seconds", "2", "--dry-run"]
    said = CliRunner().invoke(app, arguments).stdout
    assert "steps of 50, 100, 200, 500 requests/s, 2 s each" in said
    plan = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert (plan["requests"], plan["seconds"]) == (1700, 7.998)


def test_the_exit_code_of_a_load_says_whether_it_kept_to_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    report = sample_report().throughput
    assert report is not None
    good = report.points[0].model_copy(update={"schedule": "ramp"})
    bad = good.model_copy(update={"holds_slo": False, "missed": ("p99_ms 9000 above 5000",)})
    for point, code in ((good, 0), (bad, 3), (good.model_copy(update={"void": True}), 1)):
        load = report.model_copy(update={"searches": (), "load": "a ramp from 1 to 2 requests/s in 60 s", "points": (point,)})
        monkeypatch.setattr(launcher, "put_load", lambda _domain, _request, load=load: load)
        done = CliRunner().invoke(app, ["throughput", DOMAIN, "--load", "ramp:1-2"])
        assert done.exit_code == code
        assert "load: a ramp from 1 to 2 requests/s" in done.stdout


def test_help_has_examples_and_exit_codes() -> None:
    said = CliRunner().invoke(app, ["throughput", "--help"]).stdout
    assert "kickwheel throughput" in said
    assert "Exit codes" in said


def ended(monkeypatch: pytest.MonkeyPatch, report: ThroughputReport | None, *more: str) -> tuple[int, str]:
    asked: list[RateRequest] = []

    def found(_domain: str, request: RateRequest) -> ThroughputReport:
        asked.append(request)
        assert report is not None
        return report

    monkeypatch.setattr(launcher, "find_largest_rate", found)
    done = CliRunner().invoke(app, ["throughput", DOMAIN, "--slo", "p99_ms<=5000", *more])
    assert asked[0].slo is not None
    assert asked[0].slo.limits == {"p99_ms": 5000}
    return done.exit_code, done.stdout


def test_the_exit_code_says_whether_a_rate_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    report = sample_report().throughput
    assert report is not None
    code, said = ended(monkeypatch, report)
    assert code == 0
    assert "largest rate: 4 req/s" in said
    code, said = ended(monkeypatch, report, "--json")
    assert (code, ThroughputReport.model_validate_json(said)) == (0, report)
    none = report.searches[0].model_copy(update={"largest_rate": 0.0, "ended_by": "unloaded_misses"})
    code, said = ended(monkeypatch, report.model_copy(update={"searches": (none,)}))
    assert code == 3
    assert "one request at a time: P99 960 ms" in said
    code, said = ended(monkeypatch, unmeasured_report().throughput)
    assert code == 1
    assert "vLLM is not installed" in said
