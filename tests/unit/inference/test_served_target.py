"""What serve-model is asked to serve, and the records of servers that outlive the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kickwheel.errors import InputError, ServerFailed
from kickwheel.inference.detached_adapter import announce, running_servers, start_detached, stop_server
from kickwheel.inference.served_target import merged_folder, parse_adapters
from schemas.engine import ServerRecord


def adapter(folder: Path, weights: bytes = b"w") -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def test_adapters_have_names_and_folders(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "a=b")
    assert [(item.name, item.folder) for item in parse_adapters([f"tuned={folder}"])] == [("tuned", folder)]


@pytest.mark.parametrize("text", ["no-equals", "=x", "a b=x", "tuned=/nowhere", "../up=x"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--adapter"):
        parse_adapters([text])


def test_a_name_stands_once(tmp_path: Path) -> None:
    folder = adapter(tmp_path / "a")
    with pytest.raises(InputError, match="twice"):
        parse_adapters([f"a={folder}", f"a={folder}"])


def test_a_merge_lies_where_its_adapters_content_says(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    one, other = adapter(tmp_path / "one"), adapter(tmp_path / "other", b"x")
    same = adapter(tmp_path / "same")
    assert merged_folder(tmp_path / "base", one, tmp_path) == merged_folder(tmp_path / "base", same, tmp_path)
    assert merged_folder(tmp_path / "base", one, tmp_path) != merged_folder(tmp_path / "base", other, tmp_path)


def record_of(process: psutil.Process, url: str = "http://127.0.0.1:1/v1") -> ServerRecord:
    return ServerRecord(
        pid=process.pid,
        started=process.create_time(),
        url=url,
        model="m",
        version="v",
        log="",
        startup_s=None,
        warm_up_s=0.0,
    )


def test_a_server_is_found_while_its_holder_lives_and_stopped_by_ending_it(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        record = record_of(psutil.Process(holder.pid))
        file = announce(tmp_path, record)
        assert running_servers(tmp_path) == [record]
        stop_server(record)
        stop_server(record)
        holder.wait(10)
        assert running_servers(tmp_path) == []
        assert not file.exists()
    finally:
        holder.kill()


def test_a_process_that_has_taken_the_number_of_a_dead_holder_is_left_alone(tmp_path: Path) -> None:
    mine = record_of(psutil.Process(os.getpid())).model_copy(update={"started": 1.0})
    announce(tmp_path, mine)
    assert running_servers(tmp_path) == []
    stop_server(mine)


def test_a_holder_that_refuses_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="holds no adapter"):
        start_detached(["x", "--adapter", "a=/nowhere"], home=tmp_path, limit_s=120)
    assert running_servers(tmp_path) == []
