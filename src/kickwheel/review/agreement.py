"""How far reviewers agree beyond chance: Cohen's kappa of a pair, Krippendorff's alpha of all.

Kappa is scikit-learn's. The package ``krippendorff`` is under the GPL, which this project cannot depend on, and statsmodels has
no alpha in its releases up to 0.15.0, so the nominal case is computed here (tested against the book's worked example).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

from schemas.frame import Frame
from schemas.review import PairAgreement


def pair_agreements(rows: Sequence[Mapping[str, Frame]]) -> Iterator[PairAgreement]:
    """Agreement of each pair of reviewers who labelled rows in common.

    Args:
        rows: a row's labels by reviewer.
    """
    names = sorted({name for row in rows for name in row})
    for left, right in combinations(names, 2):
        both = [(row[left], row[right]) for row in rows if left in row and right in row]
        if both:
            intents = [(one.intent, other.intent) for one, other in both]
            yield PairAgreement(
                reviewers=(left, right),
                shared=len(both),
                same_intent=sum(one == other for one, other in intents) / len(both),
                same_frame=sum(one == other for one, other in both) / len(both),
                kappa=cohen_kappa(intents),
            )


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two labellers; None where both gave every row the same single label (0 / 0)."""
    from sklearn.metrics import cohen_kappa_score

    if len({label for pair in pairs for label in pair}) < 2:
        return None
    kappa = float(cohen_kappa_score(*zip(*pairs, strict=True)))
    return kappa if math.isfinite(kappa) else None


def krippendorff_alpha(rows: Sequence[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for nominal labels, any number of labellers, gaps allowed.

    Krippendorff, Content Analysis (2004), 11.3: 1 - (n - 1) * observed / expected, over the coincidences of the labels
    of rows that two or more labelled. None where there is no such row, or only one label in all of them.

    Args:
        rows: a row's labels, in any order.
    """
    shared = [labels for labels in rows if len(labels) > 1]
    totals = Counter(label for labels in shared for label in labels)
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    observed = 0.0
    for labels in shared:
        m = len(labels)
        observed += (m * m - sum(count * count for count in Counter(labels).values())) / (m - 1)
    return 1.0 - (n - 1) * observed / expected
