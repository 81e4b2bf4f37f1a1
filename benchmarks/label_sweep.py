"""How many labels buy what: ``python -m benchmarks.label_sweep --data DIR --seeds 3 --json [--plot FILE]``.

DIR has the shape of ``few-shot-intent/BANKING77``. Each strategy starts from the same 5 rows an intent and buys one label an
intent a round, up to ``--most`` times the number of intents; after each round the probe, with the same self-training for all,
is measured on ``test``. ``valid`` is never read. The curves of a seed are kept below ``--work`` and not computed again.

Printed for each strategy: its curve; the labels that it and ``random`` need to reach 95 % of the accuracy that the same probe
has with every label (first budget from which the mean over seeds stays there); and, at each budget, the difference to random
with a paired 95 % interval: bootstrap over test rows of the difference between the means over seeds. It holds the draw of the
seeds fixed, and so is narrower than one over seeds: stricter, where no interval may lie below 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.few_shot_data import SHOTS, Reviewer, read_split, seed_rows
from benchmarks.label_students import Pool, acquire, fit_probe
from kickwheel.embedding.open_adapter import open_embedder
from kickwheel.probe.embedding_probe import EmbeddingProbe, SelfTraining
from kickwheel.seeding.acquisition import STRATEGIES
from kickwheel.workspace import fingerprint, hash_file

RANDOM = "random"
SHARE_OF_FULL = 0.95
RESAMPLES = 2000
VERSION = 1

Correct = NDArray[np.bool_]
"""(budgets, test rows)"""


def main() -> None:
    options = arguments()
    started = time.monotonic()
    lab = Lab(options)
    strategies = [RANDOM, *(name for name in options.strategies if name != RANDOM)]
    curves = {name: np.stack([lab.curve(name, seed) for seed in range(options.seeds)]) for name in strategies}
    full = float(lab.correct(lab.probe(range(len(lab.train.texts)))).mean())
    report = {
        "data": options.data.name,
        "student": "probe",
        "seeds": options.seeds,
        "budgets": lab.budgets,
        "full_data_accuracy": round(full, 4),
        "target": round(SHARE_OF_FULL * full, 4),
        "strategies": {name: described(curves[name], curves[RANDOM], lab.budgets, full) for name in strategies},
        "seconds": round(time.monotonic() - started, 1),
    }
    if options.plot:
        plot(options.plot, report)
    print(json.dumps(report, indent=1) if options.json else table(report))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with train, test and perhaps train_5")
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=["margin", "joint"])
    parser.add_argument("--most", type=int, default=20, help="labels an intent, at the end of the sweep")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--embedder", default="package:all-minilm-l6-v2", help="package:NAME, a folder, a hub id, or ngrams")
    parser.add_argument("--entropy-weight", type=float, default=0.5, help="in the joint score")
    parser.add_argument("--work", type=Path, default=Path(".kickwheel/benchmarks"), help="keeps embeddings and finished curves")
    parser.add_argument("--plot", type=Path, help="learning curves, a PNG or SVG")
    parser.add_argument("--json", action="store_true", help="one JSON object rather than a table")
    return parser.parse_args()


class Lab:
    """The data of a sweep, embedded once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options, self._plan = options, SelfTraining()
        self.train, self._test = read_split(options.data, "train"), read_split(options.data, "test")
        embedder = open_embedder(options.embedder, options.work)
        intents = sorted(set(self.train.labels))
        names = [intent.replace("_", " ").replace("?", "") for intent in intents]
        self._pool = Pool(self.train.texts, embedder.embed(self.train.texts), intents, names, embedder.embed(names))
        self._vectors = embedder.embed(self._test.texts)
        self.budgets = [len(intents) * each for each in range(SHOTS, options.most + 1)]

    def probe(self, rows: range | list[int]) -> EmbeddingProbe:
        """The student on these labels."""
        return fit_probe(self._pool, {row: self.train.labels[row] for row in rows}, self._plan)

    def correct(self, probe: EmbeddingProbe) -> NDArray[np.bool_]:
        """(test rows,)"""
        found = probe.probabilities(self._vectors).argmax(axis=1)
        return np.array([self._pool.intents[k] == gold for k, gold in zip(found, self._test.labels, strict=True)])

    def curve(self, strategy: str, seed: int) -> Correct:
        """What is answered rightly after each round, from disk if it was computed before."""
        options = self._options
        asked = [strategy, seed, options.embedder, options.entropy_weight, self.budgets, asdict(self._plan)]
        files = [hash_file(options.data / split / part) for split in ("train", "test") for part in ("seq.in", "label")]
        kept = options.work / "label-sweep" / f"{fingerprint(VERSION, *asked, *files)}.npy"
        if kept.is_file():
            return np.asarray(np.load(kept, allow_pickle=False))
        rows = self._answers(strategy, seed)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with (partial := kept.with_suffix(".part")).open("wb") as file:
            np.save(file, rows, allow_pickle=False)
        partial.rename(kept)
        return rows

    def _answers(self, strategy: str, seed: int) -> Correct:
        reviewer = Reviewer(self.train.labels)
        reviewer.label(seed_rows(self._options.data, self.train, seed))
        probe = self.probe(list(reviewer.asked))
        rows = [self.correct(probe)]
        for budget in self.budgets[1:]:
            more, weight = budget - reviewer.human_labels, self._options.entropy_weight
            reviewer.label(
                acquire(self._pool, reviewer.asked, more, probe, strategy=strategy, entropy_weight=weight, seed=seed)
            )
            probe = self.probe(list(reviewer.asked))
            rows.append(self.correct(probe))
            print(f"{strategy} seed {seed}: {budget} labels, {100 * rows[-1].mean():.1f} %", file=sys.stderr, flush=True)
        return np.stack(rows)


def described(curve: NDArray[np.bool_], random: NDArray[np.bool_], budgets: list[int], full: float) -> dict[str, Any]:
    """A strategy's figures.

    Args:
        curve: (seeds, budgets, test rows), and ``random`` likewise.
    """
    means, rng = curve.mean(axis=2), np.random.default_rng(0)
    apart = curve.mean(axis=0) - random.mean(axis=0)
    drawn = np.stack([apart[:, rng.integers(0, apart.shape[1], apart.shape[1])].mean(axis=1) for _ in range(RESAMPLES)])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    mine, others = labels_to(means, budgets, full), labels_to(random.mean(axis=2), budgets, full)
    return {
        "accuracy": [round(float(mean), 4) for mean in means.mean(axis=0)],
        "spread": [round(float(sd), 4) for sd in (means.std(axis=0, ddof=1) if len(means) > 1 else means.std(axis=0))],
        "difference_to_random": [round(float(mean), 4) for mean in apart.mean(axis=1)],
        "interval": [[round(float(a), 4), round(float(b), 4)] for a, b in zip(low, high, strict=True)],
        "budgets_below_random": [budget for budget, b in zip(budgets, high, strict=True) if b < 0],
        "labels_to_target": mine,
        "share_of_randoms_labels": round(mine / others, 3) if mine and others else None,
    }


def labels_to(means: NDArray[np.float64], budgets: list[int], full: float) -> int | None:
    """The first budget from which the mean over seeds stays at the target; None: it is not reached."""
    below = np.flatnonzero(means.mean(axis=0) < SHARE_OF_FULL * full)
    first = int(below[-1]) + 1 if len(below) else 0
    return budgets[first] if first < len(budgets) else None


def table(report: dict[str, Any]) -> str:
    """For the eye."""
    names = list(report["strategies"])
    lines = [f"{report['data']}, all labels: {100 * report['full_data_accuracy']:.1f} %", "labels  " + "  ".join(names)]
    for k, budget in enumerate(report["budgets"]):
        cells = (f"{100 * report['strategies'][name]['accuracy'][k]:.1f}".rjust(len(name)) for name in names)
        lines.append(f"{budget:6}  " + "  ".join(cells))
    for name in names:
        found = report["strategies"][name]
        share = found["share_of_randoms_labels"]
        lines.append(f"{name}: {found['labels_to_target']} labels to target ({share} of random's)")
    return "\n".join(lines)


def plot(path: Path, report: dict[str, Any]) -> None:
    """Learning curves with one standard deviation over seeds."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, found in report["strategies"].items():
        mean, spread = 100 * np.array(found["accuracy"]), 100 * np.array(found["spread"])
        axes.plot(report["budgets"], mean, label=name)
        axes.fill_between(report["budgets"], mean - spread, mean + spread, alpha=0.2, linewidth=0)
    axes.axhline(100 * report["target"], color="grey", linestyle="--", linewidth=1, label="95 % of all labels' accuracy")
    axes.set(xlabel="human labels", ylabel="test accuracy, %", title=f"{report['data']}: probe, {report['seeds']} seeds")
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
