"""A sentence encoder of transformers: the mean of the last layer's tokens, as sentence-transformers computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kickwheel.embedding.ports import Vectors
from kickwheel.workspace import hash_file

MAX_TOKENS = 128
"""Of a text; what is beyond is not read. Utterances are far shorter."""
_BATCH = 64


class EncoderEmbedder:
    """An :class:`~kickwheel.embedding.ports.Embedder` from a folder that
    :func:`~kickwheel.embedding.encoder_folder_adapter.ensure_encoder` has checked. Loaded when it is first asked."""

    def __init__(self, folder: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self._folder = folder
        self._progress = progress

    @cached_property
    def identity(self) -> str:
        """Hash of the weights, and what else changes vectors."""
        return f"encoder-{hash_file(self._folder / 'model.safetensors')}-mean-{MAX_TOKENS}"

    @cached_property
    def dimensions(self) -> int:
        """Width of the encoder."""
        return int(self._model.config.hidden_size)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~kickwheel.embedding.ports.Embedder`. Batches hold texts of like length."""
        import torch

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        encoded = self._tokenizer(list(texts), truncation=True, max_length=MAX_TOKENS)["input_ids"] if texts else []
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            padded = self._tokenizer.pad({"input_ids": [encoded[i] for i in batch]}, return_tensors="pt").to(self._model.device)
            with torch.inference_mode():
                pooled = mean_pooled(self._model, padded["input_ids"], padded["attention_mask"])
            vectors[batch] = pooled.cpu().numpy()
            if self._progress is not None:
                self._progress(min(start + _BATCH, len(order)), len(order))
        return vectors

    @cached_property
    def _model(self) -> Any:
        return load_encoder(self._folder).eval()

    @cached_property
    def _tokenizer(self) -> Any:
        return load_encoder_tokenizer(self._folder)


def load_encoder(folder: Path) -> Any:
    """The encoder in float32, on the GPU if there is one."""
    import torch
    from transformers import AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model = AutoModel.from_pretrained(str(folder), dtype=torch.float32, use_safetensors=True, local_files_only=True)
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


def load_encoder_tokenizer(folder: Path) -> Any:
    """The encoder's tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True)


def mean_pooled(model: Any, input_ids: Any, attention_mask: Any) -> Any:
    """Mean of the last layer over the tokens that are no padding, scaled to length 1; (texts, width) float32."""
    from torch.nn.functional import normalize

    hidden = model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state.float()
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
