"""Server profiles: YAML there and back, and what they make of vLLM's command line and environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from kickwheel.errors import InputError
from kickwheel.inference.server_profile import load_profile, save_profile
from kickwheel.inference.vllm_command import engine_arguments, server_arguments, server_environment
from kickwheel.settings import ServerSettings
from schemas.engine import EngineSettings, ServerProfile


def test_a_profile_is_the_same_when_read_again(tmp_path: Path) -> None:
    engine = EngineSettings(max_num_seqs=32, block_size=None, graph_sizes=(1, 8), chunked_prefill=False, kv_space_gib=2)
    profile = ServerProfile(name="示例", device="cpu", engine=engine)
    save_profile(profile, tmp_path / "profile.yaml")
    assert load_profile(tmp_path / "profile.yaml") == profile


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: a\ndevice: cpu\nengine: {max_num_seqs: 0}\n", "max_num_seqs"),
        ("name: a\ndevice: tpu\nengine: {}\n", "device"),
        ("name: a\ndevice: cpu\nengine: {speed: 3}\n", "speed"),
        ("- 1\n", "profile.yaml"),
    ],
)
def test_a_profile_that_does_not_hold_names_file_and_field(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=place):
        load_profile(path)


def test_a_profile_counts_before_the_settings(tmp_path: Path) -> None:
    engine = EngineSettings(max_num_seqs=32, max_num_batched_tokens=1024, prefix_caching=False, kv_space_gib=3)
    settings = ServerSettings(max_num_seqs=64, kv_cache_gib=1)
    arguments = server_arguments(
        settings, ["vllm", "serve"], base_path=tmp_path, base_name="m", port=1, enable_lora=False, engine=engine
    )
    assert arguments[arguments.index("--max-num-seqs") + 1] == "32"
    assert arguments.count("--max-num-seqs") == 1
    assert arguments[arguments.index("--max-num-batched-tokens") + 1] == "1024"
    assert "--no-enable-prefix-caching" in arguments
    assert server_environment(settings, {}, [0, 1], engine)["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert server_environment(settings, {}, [0, 1])["VLLM_CPU_KVCACHE_SPACE"] == "1"


def test_graphs_and_memory_share_are_a_gpus() -> None:
    engine = EngineSettings(block_size=None, graph_sizes=(1, 64), gpu_memory_share=0.4)
    assert engine_arguments(engine, "cpu") == []
    assert engine_arguments(engine, "gpu") == ["--gpu-memory-utilization", "0.4", "--cudagraph-capture-sizes", "1", "64"]
    assert "--enforce-eager" in engine_arguments(EngineSettings(eager=True), "gpu")
