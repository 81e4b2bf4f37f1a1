"""prefect.yaml: every entrypoint really loads, every schedule has a zone and a slug and is off."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
import yaml
from prefect import Flow
from prefect.flows import load_flow_from_entrypoint

from kickwheel.errors import DomainError, ServiceUnavailable
from schemas.lap import STAGES
from schemas.triggers import Trigger
from tasks.feedback_watch import EVENTS
from tasks.policies import retry_if_transient

ROOT = Path(__file__).resolve().parents[2]
DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]


@pytest.mark.parametrize("entrypoint", sorted({item["entrypoint"] for item in DEPLOYMENTS}))
def test_an_entrypoint_loads_for_real_and_takes_its_parameters(entrypoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # A flow file whose import fails is rebuilt from its syntax tree by default, so that a deploy looks green.
    flow: Flow[..., Any] = load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)
    assert flow.name == Path(entrypoint.split(":")[0]).stem
    for item in DEPLOYMENTS:
        if item["entrypoint"] == entrypoint:
            flow.validate_parameters(item["parameters"])


def test_every_flow_is_deployed() -> None:
    deployed = {item["entrypoint"] for item in DEPLOYMENTS}
    others = ("iteration", "review", "feedback_lap", "feedback_watch", "promotion", "retention")
    assert deployed == {f"flows/{name}.py:{name}" for name in (*STAGES, *others)}


def test_what_the_watch_tells_is_what_starts_a_distillation() -> None:
    [trigger] = [trigger for item in DEPLOYMENTS for trigger in item.get("triggers", [])]
    assert set(trigger["expect"]) == set(EVENTS.values())
    assert set(EVENTS) == set(get_args(Trigger)) - {"by_hand"}


def test_schedules_have_a_zone_and_a_slug_and_are_off() -> None:
    # PrefectHQ/prefect 18894: without a slug a redeploy doubles the schedule
    schedules = [schedule for item in DEPLOYMENTS for schedule in item.get("schedules", [])]
    assert schedules
    for schedule in schedules:
        assert ZoneInfo(schedule["timezone"])
        assert schedule["slug"]
        assert schedule["active"] is False


def test_parameters_of_the_run_form_are_flat() -> None:
    # PrefectHQ/prefect 12566, 22909: the form is wrong for unions with None
    from flows.iteration import iteration

    for name, schema in iteration.parameters.properties.items():
        assert "anyOf" not in schema, name


@pytest.mark.parametrize(("error", "again"), [(ServiceUnavailable("down"), True), (DomainError("bad row"), False)])
def test_only_transient_errors_are_retried(error: Exception, again: bool) -> None:
    from prefect.states import Failed

    state = Failed(message=str(error), data=error)
    assert retry_if_transient(None, None, state) is again  # type: ignore[arg-type]
