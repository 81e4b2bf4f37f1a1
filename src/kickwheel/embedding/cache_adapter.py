"""Vectors on disk, by the content of their texts: what was embedded once is not embedded again.

A folder an embedder, in it shards of safetensors (``keys``: 16 bytes of SHA-256 a text, ``vectors``: float32). Shards are
written under another name and renamed, and never changed: processes may share the folder, a kill loses the shard in work.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.embedding.ports import Embedder, Vectors
from kickwheel.errors import StageFailed

SHARD_ROWS = 16_384
"""Texts embedded and written at a time: 25 MB at 384 dimensions, a kill loses at most as many."""
_KEY_BYTES = 16


class CachedEmbedder:
    """An :class:`~kickwheel.embedding.ports.Embedder` that asks ``embedder`` only for what is not in ``folder``.

    In memory are the keys (about 100 bytes a text) and one shard at a time.
    """

    def __init__(self, embedder: Embedder, folder: Path, *, shard_rows: int = SHARD_ROWS) -> None:
        self._embedder = embedder
        self._shard_rows = shard_rows
        self._folder = folder / hashlib.sha256(embedder.identity.encode()).hexdigest()[:16]
        self._places: dict[bytes, tuple[Path, int]] = {}
        for shard in sorted(self._folder.glob("*.safetensors")):
            self._learn(shard)

    @property
    def identity(self) -> str:
        """The embedder's."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        """The embedder's."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~kickwheel.embedding.ports.Embedder`.

        Raises:
            StageFailed: a shard cannot be read, or the embedder gives vectors of another shape.
        """
        keys = [_key(text) for text in texts]
        missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in self._places}.items())
        for start in range(0, len(missing), self._shard_rows):
            self._add(missing[start : start + self._shard_rows])
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        wanted: dict[Path, list[tuple[int, int]]] = {}
        for position, key in enumerate(keys):
            shard, row = self._places[key]
            wanted.setdefault(shard, []).append((position, row))
        for shard, rows in wanted.items():
            positions, sources = np.array(rows, dtype=np.intp).T
            vectors[positions] = _read(shard, "vectors")[sources]
        return vectors

    def _add(self, rows: Sequence[tuple[bytes, str]]) -> None:
        from safetensors.numpy import save_file

        vectors = self._embedder.embed([text for _, text in rows])
        if vectors.shape != (len(rows), self.dimensions):
            raise StageFailed(f"{self.identity} gave vectors of shape {vectors.shape}, expected {(len(rows), self.dimensions)}")
        keys = np.frombuffer(b"".join(key for key, _ in rows), dtype=np.uint8).reshape(len(rows), _KEY_BYTES)
        self._folder.mkdir(parents=True, exist_ok=True)
        shard = self._folder / f"{hashlib.sha256(keys.tobytes()).hexdigest()[:24]}.safetensors"
        partial = shard.with_name(f".{shard.name}.{os.getpid()}.tmp")
        save_file({"keys": keys.copy(), "vectors": np.ascontiguousarray(vectors, dtype=np.float32)}, partial)
        partial.replace(shard)
        self._learn(shard)

    def _learn(self, shard: Path) -> None:
        for row, key in enumerate(_read(shard, "keys")):
            self._places.setdefault(key.tobytes(), (shard, row))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def _read(shard: Path, name: str) -> NDArray[Any]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(shard, framework="numpy") as file:
            return np.asarray(file.get_tensor(name))
    except (SafetensorError, OSError) as error:
        raise StageFailed(
            f"the embedding cache {shard} cannot be read ({error}): remove that file, it is made again"
        ) from error
