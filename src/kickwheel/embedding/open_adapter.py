"""The embedder that a setting names, with its cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kickwheel.embedding.cache_adapter import CachedEmbedder
from kickwheel.embedding.ports import Embedder

NGRAMS = "ngrams"


def open_embedder(spec: str, home: Path, progress: Callable[[int, int], None] | None = None) -> Embedder:
    """``ngrams``, or the sentence encoder of a package, folder or hub id; its vectors are kept below ``home/embeddings``.

    Raises:
        ModelUnavailable: there is no such encoder.
    """
    if spec == NGRAMS:
        from kickwheel.embedding.ngrams import NgramEmbedder

        return NgramEmbedder()  # quicker than the disk
    from kickwheel.embedding.encoder_adapter import EncoderEmbedder
    from kickwheel.embedding.encoder_folder_adapter import ensure_encoder

    return CachedEmbedder(EncoderEmbedder(ensure_encoder(spec), progress), home / "embeddings")
