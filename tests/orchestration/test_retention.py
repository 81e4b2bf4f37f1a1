"""The nightly flow that removes what has been kept long enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.retention import retention
from kickwheel.feedback.opening import has_store, opened_store
from kickwheel.feedback.ports import Submission
from kickwheel.settings import get_settings
from schemas.events import InferenceRecord, ThumbsEvent

pytestmark = pytest.mark.usefixtures("prefect_server")


def test_old_answers_go_with_their_events_and_only_where_a_retention_is_set(
    small_domain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    settings, now = get_settings(), datetime.now(UTC)
    assert retention(str(small_domain)).inferences == 0
    assert not has_store(settings, "claims")
    with opened_store(settings, "claims") as store:
        for name, days in (("old", 31), ("new", 29)):
            at = now - timedelta(days=days)
            record = InferenceRecord(inference_id=name, text="t", frame=None, model_version="m", at=at)
            store.add([Submission((record,), (ThumbsEvent(event_id=name, inference_id=name, at=now, up=True),))])
        assert retention(str(small_domain)).inferences == 0
        monkeypatch.setenv("KICKWHEEL_FEEDBACK__RETENTION_DAYS", "30")
        gone, again = retention(str(small_domain)), retention(str(small_domain))
        assert (gone.inferences, gone.events, again.inferences) == (1, 1, 0)
        assert [item.record.inference_id for item in store.exchanges()] == ["new"]
