"""A lap takes what users said about live answers, through the real flows; models are fake."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kickwheel.feedback.lap_feedback import window_of
from kickwheel.feedback.opening import opened_store
from kickwheel.feedback.ports import Submission
from kickwheel.feedback.store_adapter import EVENT
from kickwheel.settings import get_settings
from kickwheel.spellings import case_key
from kickwheel.testing.model_server import FakeModelServer
from kickwheel.workspace import open_lap, read_jsonl
from schemas.events import InferenceRecord
from schemas.feedback import DistillationRow
from schemas.frame import Frame
from schemas.lap import LapReport
from schemas.task import TaskCatalog

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]

RIGHT = '{"intent": "fetch_api_logs", "slots": {}}'
TEXT = "pull whatever the gateway wrote down since noon"


def test_a_lap_trains_on_what_two_users_corrected(
    example: Path, tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.iteration import iteration

    with FakeModelServer(reply=lambda messages, model: RIGHT) as server:
        for name, value in {
            "HOME": str(tmp_path / "home"),
            "MODEL__BASE": str(tiny_base),
            "SEEDING__PER_ROUND": "6",
            "TUNING__MAX_TOKENS": "2000",
            "DISTILLATION__MAX_TOKENS": "2000",
            "SERVER__URL": server.url,
            "TEACHER__BASE_URL": server.url,
            "TEACHER__MODEL": server.base_name,
            "TRAINER": "instant",
        }.items():
            monkeypatch.setenv(f"KICKWHEEL_{name}", value)
        settings, now = get_settings(), datetime.now(UTC)
        wanted, shown = Frame(intent="fetch_api_logs"), Frame(intent="out_of_scope")
        records, events = [], []
        for user in ("u1", "u2"):
            fields = {"inference_id": f"i-{user}", "at": now}
            records.append(InferenceRecord(user=user, text=TEXT, frame=shown, model_version="m", **fields))
            edit = {"kind": "slot_edit", "event_id": f"e-{user}", "frame": wanted, **fields}
            events.append(EVENT.validate_python(edit))
        with opened_store(settings, "dataops") as store:
            store.add([Submission(tuple(records), tuple(events))])
        report: LapReport = iteration(domain=str(example), stages=["intent", "seeding", "tuning", "distillation"])

    assert report.distillation is not None
    lap = open_lap(settings.home, "dataops", 1)
    window = window_of(lap)
    assert window is not None
    assert (window.cases, window.observations.rows) == (1, 2)
    tasks = {task.intent for task in lap.load("intent", TaskCatalog).tasks}
    assert wanted.intent in tasks
    rows = {row.case: row for row in read_jsonl(Path(report.distillation.batch.path), DistillationRow)}
    live = rows[case_key(TEXT)]
    assert max(live.candidates, key=lambda item: item.target).frame == wanted
    assert report.distillation.signals_by_rule["correction"] >= 4
