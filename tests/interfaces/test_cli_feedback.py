"""``kickwheel feedback``, for people and for programs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.domain import scaffold_domain

AT = datetime(2026, 11, 1, 8, 0, tzinfo=UTC).isoformat()
SHOWN, WANTED = {"intent": "fetch_logs"}, {"intent": "sync_orders"}


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KICKWHEEL_HOME", str(tmp_path / "home"))
    return scaffold_domain("claims", tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two users correct the same answer, a third likes it, the last event's answer is not known."""
    lines: list[dict[str, object]] = []
    for user in ("u1", "u2", "u3"):
        record = {"inference_id": f"i-{user}", "user": user, "text": "同步订单", "frame": SHOWN, "model_version": "m", "at": AT}
        edit = {"kind": "slot_edit", "event_id": f"e-{user}", "inference_id": f"i-{user}", "frame": WANTED, "at": AT}
        like = {"kind": "thumbs", "event_id": f"e-{user}", "inference_id": f"i-{user}", "up": True, "at": AT}
        lines += [like if user == "u3" else edit, record]
    lines.append({"kind": "abandon", "event_id": "e-0", "inference_id": "nobody", "at": AT})
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["feedback", *map(str, words)])


def answer(*words: object) -> dict[str, object]:
    done = call(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_import_status_signals_export_erase(domain: Path, file: Path, tmp_path: Path) -> None:
    assert answer("import", domain, file, "--dry-run")["dry_run"] is True
    assert answer("status", domain)["events"] == 0
    assert answer("import", domain, file)["added"] == 4
    again = answer("import", domain, file)
    assert (again["added"], again["duplicates"]) == (0, 4)
    assert answer("status", domain)["waiting"] == 1

    found = answer("signals", domain)
    assert (found["moving"], found["conflicts"]) == (1, 1)
    said = call("signals", domain, "--conflicts").stdout
    assert "3 answers" in said
    assert "CONFLICT" in said
    assert "moves" in call("signals", domain, "--text", "同步订单。").stdout

    assert call("export", domain, tmp_path / "out.jsonl").exit_code == 0
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 7
    assert len(call("export", domain).stdout.splitlines()) == 7

    bad = answer("bad-cases", domain, "--write")
    assert (bad["bad"], bad["all_clusters"]) == (2, 1)

    assert answer("erase", domain, "--user", "u1", "--dry-run")["events"] == 1
    assert answer("erase", domain, "--user", "u1")["inferences"] == 1
    assert answer("signals", domain)["moving"] == 0
    assert answer("erase", domain, "--older-than-days", "1")["events"] == 2, "what came today waits on"
    assert call("erase", domain).exit_code == 2


def test_a_line_that_does_not_hold_is_named_and_nothing_is_written(domain: Path, file: Path) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write('{"kind": "dwell", "event_id": "e", "inference_id": "i", "seconds": -3, "at": "2026-11-30T00:00:00Z"}\n')
    done = call("import", domain, file)
    assert done.exit_code == 2
    assert "events.jsonl:8" in done.stderr.replace("\n", "")
    assert "seconds" in done.stderr
    assert answer("status", domain)["events"] == 0
