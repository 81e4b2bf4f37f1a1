"""BLEU and ROUGE-L for slots whose values are free text, with tokens that Chinese has too.

BLEU is sacrebleu's (Post 2018); its ``zh`` tokenizer sets each Han character apart and leaves the rest to the mteval rules, so
one tokenizer serves texts of both languages. ROUGE-L (Lin 2004) is the F1 of the longest common subsequence over those tokens:
rouge-score's own tokenizer drops all that is not ``a-z0-9``, every Chinese character among it.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.frame import Frame, Prediction
from schemas.quality import FreeTextQuality


def free_text_quality(gold: Sequence[Frame], predictions: Sequence[Prediction], slots: Sequence[str]) -> FreeTextQuality | None:
    """Likeness of the values of ``slots``; a value that the student does not give is an empty text. None: no such value.

    Values that the student gives and the gold rows lack are left to the slots' precision.
    """
    pairs = [
        (value, prediction.frame.values.get(name, "") if prediction.frame else "")
        for frame, prediction in zip(gold, predictions, strict=True)
        for name, value in frame.values.items()
        if name in slots
    ]
    if not pairs:
        return None
    wanted, given = [tokens(value) for value, _ in pairs], [tokens(value) for _, value in pairs]
    return FreeTextQuality(
        slots=tuple(slots),
        rows=len(pairs),
        bleu=bleu(wanted, given),
        rouge_l=sum(rouge_l(a, b) for a, b in zip(wanted, given, strict=True)) / len(pairs),
    )


def tokens(text: str) -> list[str]:
    """Words, numbers and signs; each Han character by itself."""
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    return str(TokenizerZh()(text)).split()  # type: ignore[no-untyped-call]


def bleu(wanted: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU-4 in [0, 100]; orders that no text is long enough for are left out, since slot values are short."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", effective_order=True)
    score = metric.corpus_score([" ".join(item) for item in given], [[" ".join(item) for item in wanted]])
    return min(100.0, max(0.0, float(score.score)))


def rouge_l(wanted: Sequence[str], given: Sequence[str]) -> float:
    """F1 of the longest common subsequence, in [0, 1]; 1 where both are empty."""
    if not wanted or not given:
        return float(not wanted and not given)
    row = [0] * (len(given) + 1)
    for a in wanted:
        diagonal = 0
        for k, b in enumerate(given, start=1):
            diagonal, row[k] = row[k], diagonal + 1 if a == b else max(row[k], row[k - 1])
    return 2 * row[-1] / (len(wanted) + len(given))
