"""What the stages need of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Frozen: the same text always has the same vector, whatever texts are beside it."""

    @property
    def identity(self) -> str:
        """Differs wherever vectors would; the cache is keyed by it."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimensions), in order; every row has length 1."""
        ...
