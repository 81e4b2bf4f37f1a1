"""Slots by tagging tokens: B-name, I-name or O, one linear decision a token, joined into spans by Viterbi."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier

from kickwheel.probe.tokens import Token, token_features, tokenize
from schemas.frame import Frame, Slot
from schemas.utterance import Utterance

OUTSIDE = "O"
_IMPOSSIBLE = -1e9
# Chosen by five-fold cross-validation on the example's two hundred seeds.
_ALPHA = 1e-4
_PASSES = 20
OUTSIDE_COST = 2.0
"""Taken off the log-probability of O: most tokens are outside, so a tagger of few rows finds too little."""


class SlotTagger:
    """Finds the slots of a text whose intent is known; only slots that the intent had in the training rows."""

    def __init__(
        self,
        rows: Sequence[Utterance],
        *,
        seed: int,
        vocabulary_texts: Sequence[str] = (),
        weights: Sequence[float] | None = None,
    ) -> None:
        """Fit on labelled rows; ``weights``: None: all count the same. Other texts only tell which words are common."""
        self._counts = _document_counts([row.text for row in rows] + list(vocabulary_texts))
        self._slots = _slots_by_intent(rows)
        self._hasher = FeatureHasher(2**17, input_type="string", alternate_sign=False)
        self._model: SGDClassifier | None = None
        features: list[list[str]] = []
        tags: list[str] = []
        counts: list[float] = []
        for row, weight in zip(rows, weights if weights is not None else [1.0] * len(rows), strict=True):
            if row.frame and self._slots.get(row.frame.intent):
                tokens = tokenize(row.text)
                features += self._features(tokens, row.frame.intent)
                tags += tags_of(tokens, row.frame.slots)
                counts += [weight] * len(tokens)
        if len(set(tags)) > 1:
            self._model = SGDClassifier(loss="log_loss", alpha=_ALPHA, max_iter=_PASSES, tol=None, random_state=seed)
            self._model.fit(self._hasher.transform(features), tags, sample_weight=counts)

    def frames(self, texts: Sequence[str], intents: Sequence[str]) -> list[Frame]:
        """One frame a text, in order: at most one span a slot, the likeliest."""
        pairs = list(zip(texts, intents, strict=True))
        tokens = [tokenize(text) if self._slots.get(intent) else [] for text, intent in pairs]
        scores = self._scores([self._features(found, intent) for found, (_, intent) in zip(tokens, pairs, strict=True)])
        return [
            Frame(intent=intent, slots=self._slots_in(text, intent, found, table) if len(table) else ())
            for (text, intent), found, table in zip(pairs, tokens, scores, strict=True)
        ]

    def uncertainty(self, texts: Sequence[str], intents: Sequence[str]) -> NDArray[np.float64]:
        """How unsure the tagger is of each text's slots, in [0, 1]: as much as of the span, or of the missed span, that it is
        least sure of. 0 where the intent has no slots.

        A span is as sure as the geometric mean of its tags' probabilities; a token outside, as O is.
        """
        pairs = list(zip(texts, intents, strict=True))
        tokens = [tokenize(text) if self._slots.get(intent) else [] for text, intent in pairs]
        scores = self._scores([self._features(found, intent) for found, (_, intent) in zip(tokens, pairs, strict=True)])
        return np.array(
            [self._least_sure(intent, table) if len(table) else 0.0 for intent, table in zip(intents, scores, strict=True)]
        )

    def _least_sure(self, intent: str, table: NDArray[np.float64]) -> float:
        tags, scores = self._allowed(intent, table)
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        path = best_path(scores, tags)
        runs: list[list[float]] = []
        for i, tag in enumerate(path):
            if tags[tag].startswith("I-") and runs:
                runs[-1].append(logs[i, tag])
            else:
                runs.append([logs[i, tag]])
        return float(1.0 - np.exp(min(np.mean(run) for run in runs)))

    def _scores(self, features: Sequence[list[list[str]]]) -> list[NDArray[np.float64]]:
        """Log-probabilities of tags, (tokens, tags) a text; scored in one go, since a call costs more than a text."""
        every = [one for text in features for one in text]
        if self._model is None or not every:
            return [np.empty((0, 0))] * len(features)
        table = np.log(self._model.predict_proba(self._hasher.transform(every)) + 1e-9)
        return np.split(table, np.cumsum([len(text) for text in features])[:-1])

    def _allowed(self, intent: str, table: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
        """The tags, and scores in which those that the intent does not have are impossible."""
        tags = [str(tag) for tag in self._model.classes_] if self._model else []
        allowed = {OUTSIDE, *(f"{part}-{name}" for name in self._slots[intent] for part in "BI")}
        cost = np.array([OUTSIDE_COST if tag == OUTSIDE else 0.0 for tag in tags])
        return tags, np.where([tag in allowed for tag in tags], table - cost, _IMPOSSIBLE)

    def _slots_in(self, text: str, intent: str, tokens: Sequence[Token], table: NDArray[np.float64]) -> tuple[Slot, ...]:
        tags, scores = self._allowed(intent, table)
        path = best_path(scores, tags)
        return _spans(text, tokens, [tags[k] for k in path], scores[range(len(path)), path])

    def _features(self, tokens: Sequence[Token], intent: str) -> list[list[str]]:
        rarity = [min(5, int(math.log2(1 + self._counts[token.normal]))) for token in tokens]
        return [token_features(tokens, i, intent, rarity) for i in range(len(tokens))]


def _document_counts(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in {token.normal for token in tokenize(text)})


def _slots_by_intent(rows: Sequence[Utterance]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.frame:
            found.setdefault(row.frame.intent, set()).update(slot.name for slot in row.frame.slots)
    return {intent: frozenset(names) for intent, names in found.items()}


def tags_of(tokens: Sequence[Token], slots: Sequence[Slot]) -> list[str]:
    """A tag a token. A token that a slot's span cuts through belongs to the slot: it is the nearest that tokens can come."""
    tags = [OUTSIDE] * len(tokens)
    for slot in slots:
        inside = [i for i, token in enumerate(tokens) if token.start < slot.end and slot.start < token.end]
        for i in inside:
            tags[i] = f"{'B' if i == inside[0] else 'I'}-{slot.name}"
    return tags


def best_path(scores: NDArray[np.float64], tags: Sequence[str]) -> list[int]:
    """Viterbi over tags: I-name only after B-name or I-name."""
    enters = np.array([tag.startswith("I-") for tag in tags])
    follows = np.array([[not b.startswith("I-") or a[2:] == b[2:] for b in tags] for a in tags])
    moves = np.where(follows, 0.0, _IMPOSSIBLE)
    best = np.where(enters, _IMPOSSIBLE, scores[0])
    back: list[NDArray[np.intp]] = []
    for row in scores[1:]:
        reached = best[:, None] + moves
        back.append(reached.argmax(axis=0))
        best = reached.max(axis=0) + row
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def _spans(text: str, tokens: Sequence[Token], tags: Sequence[str], scores: NDArray[np.float64]) -> tuple[Slot, ...]:
    return tuple(slot for slot, _ in scored_spans(text, tokens, tags, scores))


def scored_spans(
    text: str, tokens: Sequence[Token], tags: Sequence[str], scores: NDArray[np.float64]
) -> list[tuple[Slot, list[int]]]:
    """Slots in text order, each with its tokens: at most one span a slot name, the one of the highest mean score."""
    runs: list[tuple[str, list[int]]] = []
    for i, tag in enumerate(tags):
        if tag.startswith("B-"):
            runs.append((tag[2:], [i]))
        elif tag.startswith("I-") and runs:
            runs[-1][1].append(i)
    best: dict[str, tuple[float, Slot, list[int]]] = {}
    for name, run in runs:
        start, end = tokens[run[0]].start, tokens[run[-1]].end
        score = float(scores[run].mean())
        if name not in best or score > best[name][0]:
            best[name] = (score, Slot(name=name, value=text[start:end], start=start, end=end), run)
    return sorted(((slot, run) for _, slot, run in best.values()), key=lambda found: found[0].start)
