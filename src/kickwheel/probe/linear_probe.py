"""Logistic regression on character n-grams and words: intent first, then the slots that this intent has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion
from threadpoolctl import threadpool_limits

from kickwheel.errors import StageFailed
from kickwheel.probe.slot_tagger import SlotTagger
from kickwheel.probe.tokens import normal_form, words
from schemas.frame import Prediction
from schemas.utterance import Utterance

# Chosen by repeated ten-fold cross-validation on the example's two hundred seeds: n-grams of 1-5, 2-4, 2-5, 3-5, words of
# 1 and 1-2, C of 2 to 50, inverse document frequencies with and without the pool, with and without latent semantic axes.
_CHARACTERS = (2, 5)
_C = 10.0


class Probe:
    """A :class:`~kickwheel.inference.ports.Student`. Fitted by :meth:`fit`, deterministic under a seed."""

    name = "probe"

    def __init__(self, features: FeatureUnion, model: LogisticRegression | None, classes: tuple[str, ...], slots: SlotTagger):
        self._features = features
        self._model = model
        self._slots = slots
        self.classes = classes

    @classmethod
    def fit(
        cls,
        rows: Sequence[Utterance],
        *,
        seed: int,
        vocabulary_texts: Sequence[str] = (),
        weights: Sequence[float] | None = None,
    ) -> Self:
        """Fit on labelled rows; one intent is enough, the probe is then sure of it.

        Args:
            vocabulary_texts: unlabelled texts of the domain; they tell the slot tagger which words are common.
            weights: of each row in both losses; None: all count the same.

        Raises:
            StageFailed: no row has a label.
            ValueError: not one weight a row.
        """
        given = list(weights) if weights is not None else [1.0] * len(rows)
        labelled = [(row, row.frame.intent) for row in rows if row.frame is not None]
        kept = [weight for row, weight in zip(rows, given, strict=True) if row.frame is not None]
        if not labelled:
            raise StageFailed("the probe needs at least one labelled row, and there is none")
        texts = [normal_form(row.text) for row, _ in labelled]
        intents = [intent for _, intent in labelled]
        features = _text_features()
        matrix = features.fit_transform(texts)
        classes = tuple(sorted(set(intents)))
        model = None
        if len(classes) > 1:
            # Balanced weights: a rare intent counts as much as a frequent one (huggingface/setfit 407).
            model = LogisticRegression(C=_C, class_weight="balanced", max_iter=500, random_state=seed)
            # More BLAS threads than idle cores spin on such small matrices: 0.6 s become 12 s.
            with threadpool_limits(limits=1, user_api="blas"):
                model.fit(matrix, intents, sample_weight=kept)
        slots = SlotTagger([row for row, _ in labelled], seed=seed, vocabulary_texts=vocabulary_texts, weights=kept)
        return cls(features, model, classes, slots)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Intent probabilities, (texts, classes), rows sum to 1, columns as in ``classes``."""
        if self._model is None or not texts:
            return np.ones((len(texts), len(self.classes)))
        probabilities: NDArray[np.float64] = self._model.predict_proba(
            self._features.transform([normal_form(text) for text in texts])
        )
        return probabilities

    def span_uncertainty(self, texts: Sequence[str], intents: Sequence[str]) -> NDArray[np.float64]:
        """How unsure the probe is of each text's slots, given its intent; see :meth:`SlotTagger.uncertainty`."""
        return self._slots.uncertainty(texts, intents)

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """One frame a text, in order; confidence is the probability of the intent."""
        table = self.probabilities(texts)
        frames = self._slots.frames(texts, [self.classes[k] for k in table.argmax(axis=1)])
        return [
            Prediction(frame=frame, confidence=min(1.0, float(row.max()))) for frame, row in zip(frames, table, strict=True)
        ]


def _text_features() -> FeatureUnion:
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=_CHARACTERS, sublinear_tf=True, lowercase=False)
    # Without a token pattern: words() finds single Han characters, which the default pattern would drop.
    bag = TfidfVectorizer(tokenizer=words, token_pattern=None, sublinear_tf=True, lowercase=False)
    return FeatureUnion([("characters", characters), ("words", bag)])
