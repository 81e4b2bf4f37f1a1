"""Texts as vectors: what rows are compared by. The default needs no download; a sentence encoder is a setting."""

from kickwheel.embedding.ports import Embedder, Vectors

__all__ = ["Embedder", "Vectors"]
