"""The sentence encoder: mean of its tokens, batches that change nothing, folders that are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kickwheel.embedding.encoder_adapter import EncoderEmbedder
from kickwheel.embedding.encoder_folder_adapter import ensure_encoder
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.errors import ModelUnavailable

TEXTS = ["the orders", "同步昨天的订单", "a", "logs " * 100]


def test_vectors_do_not_depend_on_the_batch(tiny_encoder: Path) -> None:
    embedder = EncoderEmbedder(tiny_encoder)
    together = embedder.embed(TEXTS)
    assert together.shape == (4, 32)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for text, vector in zip(TEXTS, together, strict=True):
        assert embedder.embed([text])[0] == pytest.approx(vector, abs=1e-5)


def test_a_vector_is_the_mean_of_the_last_layer(tiny_encoder: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(tiny_encoder).eval(), AutoTokenizer.from_pretrained(tiny_encoder)
    with torch.inference_mode():
        mean = model(**tokenizer("同步", return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
    assert EncoderEmbedder(tiny_encoder).embed(["同步"])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_encoder_is_opened_with_a_cache_below_home(tiny_encoder: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    open_embedder(str(tiny_encoder), tmp_path, lambda done, of: steps.append(done)).embed(TEXTS)
    again = open_embedder(str(tiny_encoder), tmp_path, lambda done, of: steps.append(-1))
    again.embed(TEXTS)
    assert steps == [4]
    assert list((tmp_path / "embeddings").rglob("*.safetensors"))


def test_ngrams_need_no_folder(tmp_path: Path) -> None:
    assert open_embedder("ngrams", tmp_path).embed(["订单"]).any()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_encoder_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no such folder"):
        ensure_encoder("./nowhere")
    with pytest.raises(ModelUnavailable, match="no packaged encoder 'nope'; known: all-minilm-l6-v2"):
        ensure_encoder("package:nope")
    with pytest.raises(ModelUnavailable, match=r"has no config\.json, no model\.safetensors"):
        ensure_encoder(str(tmp_path))


def test_another_pooling_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "encoder"))
    (folder / "1_Pooling").mkdir()
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    assert ensure_encoder(str(folder)) == folder
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    with pytest.raises(ModelUnavailable, match="does not take the mean"):
        ensure_encoder(str(folder))
