"""What vLLM would refuse is refused before anything is loaded: vllm-project/vllm 9280, 4186."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kickwheel.errors import StageFailed
from kickwheel.testing.instant_trainer import TINY, write_untrained_adapter
from kickwheel.tuning.preflight import check_adapter, check_plan
from schemas.tuning import LoraPlan


def adapter(folder: Path, **changes: Any) -> Path:
    write_untrained_adapter(folder, TINY, LoraPlan())
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def test_plain_lora_passes(tmp_path: Path) -> None:
    check_adapter(adapter(tmp_path), max_lora_rank=16)
    check_plan(LoraPlan(), max_lora_rank=16)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"modules_to_save": ["lm_head"]}, "modules_to_save is .*lm_head"),
        ({"use_dora": True}, "DoRA"),
        ({"r": 24}, "rank 24 is above the server's max_lora_rank 16"),
        ({"rank_pattern": {"q_proj": 32}}, "rank 32"),
        ({"bias": "all"}, "bias is 'all'"),
        ({"lora_bias": True}, "lora_bias"),
        ({"target_modules": ["q_proj", "lm_head"]}, r"\['lm_head'\] are not served"),
        ({"target_modules": ["embed_tokens"]}, r"\['embed_tokens'\]"),
        ({"target_modules": "all-linear"}, "expected a list"),
        ({"target_modules": []}, "empty"),
        ({"init_lora_weights": "pissa_niter_4"}, "pissa"),
        ({"trainable_token_indices": [1]}, "token embeddings"),
        ({"alora_invocation_tokens": [1, 2]}, "aLoRA"),
        ({"layer_replication": [[0, 2]]}, "layer replication"),
        ({"use_qalora": True}, "QA-LoRA"),
        ({"peft_type": "IA3"}, "IA3"),
    ],
)
def test_unservable_adapter_is_refused_with_the_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(StageFailed, match=reason):
        check_adapter(adapter(tmp_path, **changes), max_lora_rank=16)


def test_rank_24_is_accepted_where_the_server_allows_32(tmp_path: Path) -> None:
    check_adapter(adapter(tmp_path, r=24), max_lora_rank=32)
    check_plan(LoraPlan(r=24), max_lora_rank=32)


def test_plan_is_refused_before_it_is_trained() -> None:
    with pytest.raises(StageFailed, match="LoRA plan cannot be served: rank 24"):
        check_plan(LoraPlan(r=24), max_lora_rank=16)


def test_every_reason_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match=r"rank 24.*; modules_to_save.*; DoRA"):
        check_adapter(adapter(tmp_path, r=24, use_dora=True, modules_to_save=["lm_head"]), max_lora_rank=16)


@pytest.mark.parametrize(("name", "content"), [("adapter_config.json", None), ("adapter_config.json", "{")])
def test_folder_that_is_no_adapter_is_refused(tmp_path: Path, name: str, content: str | None) -> None:
    path = adapter(tmp_path) / name
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(StageFailed, match=name):
        check_adapter(tmp_path, max_lora_rank=16)


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    (adapter(tmp_path) / "adapter_model.safetensors").rename(tmp_path / "adapter_model.bin")
    with pytest.raises(StageFailed, match="safetensors"):
        check_adapter(tmp_path, max_lora_rank=16)
