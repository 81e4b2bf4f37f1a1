"""Which weight of entropy in the joint score: ``python -m benchmarks.joint_weight --data DIR [--embedder ngrams]``.

Cross-validation on labelled rows alone: those of ``DIR/seeds.jsonl`` (a domain) or ``DIR/train_10`` (a few-shot folder). For
each fold the rows of the others play the pool: two an intent are labelled, three rounds of a tenth of the pool are acquired,
and the probe is measured on the fold after each. Prints one JSON object: for each weight the mean accuracy over rounds, folds
and repetitions, and its paired difference from the best weight with the standard error of that.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from benchmarks.few_shot_data import Split, read_split
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.probe.embedding_probe import EmbeddingProbe, SelfTraining
from kickwheel.seeding.acquisition import Candidates, select, survey
from kickwheel.workspace import read_jsonl
from schemas.utterance import Utterance

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
FOLDS, ROUNDS, START = 5, 3, 2
PLAN = SelfTraining(weight=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="package:all-minilm-l6-v2")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--work", type=Path, default=Path(".kickwheel/benchmarks"))
    options = parser.parse_args()
    rows = labelled_rows(options.data)
    vectors = open_embedder(options.embedder, options.work).embed(rows.texts)
    intents = np.unique(rows.labels, return_inverse=True)[1]
    table = np.array(
        [
            [learning_curve(vectors, intents, train, held_out, weight, repetition) for weight in WEIGHTS]
            for repetition in range(options.repetitions)
            for train, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=repetition).split(vectors, intents)
        ]
    )
    best = int(table.mean(axis=0).argmax())
    gaps = table - table[:, [best]]
    errors = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    report = {
        "data": options.data.name,
        "embedder": options.embedder,
        "labelled_rows": len(rows.texts),
        "runs": len(table),
        "weights": {
            str(weight): {"accuracy": round(float(mean), 4), "from_best": round(float(gap), 4), "error": round(float(error), 4)}
            for weight, mean, gap, error in zip(WEIGHTS, table.mean(axis=0), gaps.mean(axis=0), errors, strict=True)
        },
    }
    print(json.dumps(report, indent=1))


def labelled_rows(folder: Path) -> Split:
    """Rows with labels that were paid for; intents with fewer rows than folds are left out."""
    if (folder / "seeds.jsonl").is_file():
        seeds = [row for row in read_jsonl(folder / "seeds.jsonl", Utterance) if row.frame is not None]
        found = Split([row.text for row in seeds], [row.frame.intent for row in seeds if row.frame is not None])
    else:
        found = read_split(folder, "train_10")
    kept = [i for i, label in enumerate(found.labels) if found.labels.count(label) >= FOLDS]
    return Split([found.texts[i] for i in kept], [found.labels[i] for i in kept])


def learning_curve(
    vectors: NDArray[np.float32],
    intents: NDArray[np.intp],
    train: NDArray[np.intp],
    held_out: NDArray[np.intp],
    weight: float,
    repetition: int,
) -> float:
    """Mean accuracy on the fold after each round of acquisition from the other folds."""
    rng = np.random.default_rng([repetition, int(held_out[0])])
    count, order = int(intents.max()) + 1, rng.permutation(train)
    labelled = [int(row) for intent in range(count) for row in order[intents[order] == intent][:START]]
    figures: list[float] = []
    for number in range(ROUNDS + 1):
        probe = EmbeddingProbe.fit(vectors[labelled], intents[labelled].tolist(), count=count, plan=PLAN)
        if number:
            figures.append(float((probe.probabilities(vectors[held_out]).argmax(axis=1) == intents[held_out]).mean()))
        pool = np.setdiff1d(train, labelled)
        found = survey([probe.probabilities(vectors[pool])])
        candidates = Candidates(
            ids=[f"{row:07d}" for row in pool],
            entropy=found.entropy,
            margin=found.margin,
            predicted=found.predicted,
            intents=[str(k) for k in range(count)],
        )
        k = max(1, len(train) // 10)
        chosen = select(candidates, k, strategy="joint", entropy_weight=weight, rng=np.random.default_rng(number))
        labelled += [int(row) for row in chosen]
    return float(np.mean(figures))


if __name__ == "__main__":
    main()
