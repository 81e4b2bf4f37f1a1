"""``kickwheel check-adapter``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.testing.instant_trainer import TINY, write_untrained_adapter
from schemas.tuning import LoraPlan

runner = CliRunner()


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules that are known: whether vLLM is installed here must not decide these tests."""
    monkeypatch.setenv("KICKWHEEL_SERVER__URL", "http://127.0.0.1:1/v1")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    write_untrained_adapter(tmp_path / "adapter", TINY, LoraPlan(r=24))
    return tmp_path / "adapter"


def test_rank_24_is_refused_at_16_and_accepted_at_32(adapter: Path) -> None:
    refused = runner.invoke(app, ["check-adapter", str(adapter), "--no-base", "--max-lora-rank", "16"])
    assert refused.exit_code == 1
    assert "rank 24 is above the server's max_lora_rank 16" in refused.stderr
    assert refused.stdout == f"{adapter}: 1 reason against it (vLLM 0.32.0, max_lora_rank 16)\n"
    taken = runner.invoke(app, ["check-adapter", str(adapter), "--no-base", "--max-lora-rank", "32"])
    assert (taken.exit_code, taken.stdout) == (0, f"{adapter}: will be served (vLLM 0.32.0, max_lora_rank 32)\n")


def test_json_is_one_object_with_every_reason(adapter: Path) -> None:
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "use_dora": True, "modules_to_save": ["lm_head"]}))
    result = runner.invoke(app, ["check-adapter", str(adapter), "--no-base", "--max-lora-rank", "16", "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["ok"], len(report["problems"]), report["vllm"]) == (False, 3, "0.32.0")
    assert report["serving_bytes"] is None


def test_a_folder_without_an_adapter_ends_with_2(tmp_path: Path) -> None:
    result = runner.invoke(app, ["check-adapter", str(tmp_path), "--no-base"])
    assert result.exit_code == 2
    assert "no adapter_config.json" in result.stderr


def test_the_base_is_compared_where_there_is_one(adapter: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["check-adapter", str(adapter), "--base", str(tmp_path / "nowhere")])
    assert result.exit_code == 2
