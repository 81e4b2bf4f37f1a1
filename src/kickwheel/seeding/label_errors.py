"""Labels that a model which has not seen the row does not believe: confident learning (Northcutt et al. 2021), out of fold.

Probabilities of rows that a model was trained on are useless for this (cleanlab/cleanlab 52). Written here since cleanlab is
under the AGPL and what is needed of it is one rule: a row is suspect if the intents that it reaches the usual confidence of
do not have its label as the likeliest. Findings are for people to look at; nothing is taken out, and evaluation rows are
never judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kickwheel.probe import Probe
from schemas.frame import Frame
from schemas.seed_checks import LabelSuspect
from schemas.utterance import Utterance


def label_suspects(rows: Sequence[Utterance], *, folds: int, seed: int) -> list[LabelSuspect]:
    """Suspect rows, the most suspect first. Intents with fewer rows than folds are learned from and not judged.

    Args:
        folds: 0 or 1: nothing is looked for.
    """
    labelled = [(row, row.frame.intent) for row in rows if row.frame is not None]
    counts = Counter(intent for _, intent in labelled)
    judged = sorted(intent for intent, count in counts.items() if count >= folds)
    if folds < 2 or len(judged) < 2:
        return []
    table = _out_of_fold(labelled, judged, folds, seed)
    given = np.array([judged.index(intent) if intent in judged else -1 for _, intent in labelled])
    usual = np.array([table[given == k, k].mean() for k in range(len(judged))])
    found: list[tuple[float, LabelSuspect]] = []
    for (row, intent), probabilities, own in zip(labelled, table, given, strict=True):
        confident = np.where(probabilities >= usual, probabilities, -1.0)
        likely = int(confident.argmax())
        if own >= 0 and likely != own and confident[likely] > probabilities[own]:
            suspect = LabelSuspect(
                id=row.id,
                source=row.provenance.source if row.provenance else "seed",
                intent=intent,
                likely=judged[likely],
                likely_probability=min(1.0, float(probabilities[likely])),
            )
            found.append((float(probabilities[own] - probabilities[likely]), suspect))
    return [suspect for _, suspect in sorted(found, key=lambda item: (item[0], item[1].id))]


def _out_of_fold(
    labelled: Sequence[tuple[Utterance, str]], judged: Sequence[str], folds: int, seed: int
) -> NDArray[np.float64]:
    """Probabilities (rows, judged intents) by models that saw the other folds; every fold has its share of each intent."""
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(labelled), dtype=int)
    for name in sorted({intent for _, intent in labelled}):
        own = np.flatnonzero([intent == name for _, intent in labelled])
        fold[rng.permutation(own)] = np.arange(len(own)) % folds
    # Intents alone are judged: without slots there is no tagger to train.
    bare = [row.model_copy(update={"frame": Frame(intent=intent)}) for row, intent in labelled]
    table = np.zeros((len(labelled), len(judged)))
    for number in range(folds):
        inside = np.flatnonzero(fold == number)
        probe = Probe.fit([bare[i] for i in np.flatnonzero(fold != number)], seed=seed)
        columns = [probe.classes.index(intent) for intent in judged]
        table[inside] = probe.probabilities([bare[i].text for i in inside])[:, columns]
    return table
