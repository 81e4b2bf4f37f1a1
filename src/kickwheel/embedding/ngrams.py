"""Character n-grams and words, hashed: the probe's features as vectors of a fixed length. No download, any language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from kickwheel.embedding.ports import Vectors
from kickwheel.probe.tokens import normal_form, words

_CHARACTERS = (2, 5)
"""The probe's."""
_VERSION = 1


@dataclass(frozen=True)
class NgramEmbedder:
    """Signed feature hashing (Weinberger et al. 2009): inner products are those of the n-gram counts, but for some noise.

    Args:
        dimensions: more mean less noise. Logistic regression on the example's two hundred seeds, five folds: 256 dimensions
            41 %, 1,024 51 %, 4,096 58 % (unhashed, with inverse document frequencies, 66 %).
    """

    dimensions: int = 4096
    _characters: HashingVectorizer = field(init=False, repr=False, compare=False)
    _words: HashingVectorizer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shared = {"n_features": self.dimensions, "lowercase": False, "norm": "l2", "dtype": np.float32}
        characters = HashingVectorizer(analyzer="char_wb", ngram_range=_CHARACTERS, **shared)
        # Without a token pattern: words() finds single Han characters, which the default pattern would drop.
        bag = HashingVectorizer(tokenizer=words, token_pattern=None, **shared)
        object.__setattr__(self, "_characters", characters)
        object.__setattr__(self, "_words", bag)

    @property
    def identity(self) -> str:
        """Kind, sizes and version of the features."""
        return f"ngrams-{_CHARACTERS[0]}-{_CHARACTERS[1]}-{self.dimensions}-v{_VERSION}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See :class:`~kickwheel.embedding.ports.Embedder`."""
        normal = [normal_form(text) for text in texts]
        if not normal:
            return np.empty((0, self.dimensions), dtype=np.float32)
        both = self._characters.transform(normal) + self._words.transform(normal)
        return np.asarray(normalize(both).toarray(), dtype=np.float32)
