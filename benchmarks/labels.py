"""Accuracy for human labels: ``python -m benchmarks.labels --data DIR --budget 770 --strategy joint --seeds 3 --json``.

DIR has the shape of ``few-shot-intent/BANKING77``. A run starts from 5 labelled rows an intent (seed 0: ``train_5``; others
draw), buys the rest of the budget in 5 rounds from the pool (``train``), and is measured once, on ``test``. A label is a row
of ``train`` whose gold label was read; ``valid`` is never read. Texts of the pool are used unlabelled (self-training), and so
are the intents' names.

``--student probe`` is logistic regression on frozen vectors, ``encoder`` the fine-tuned encoder. Prints one JSON object:
``accuracy`` (mean over seeds, 0 to 1), ``spread`` (standard deviation over seeds), ``human_labels``, ``strategy``,
``student``, ``seeds``, and each seed's figures. A seed that is done is kept below ``--work`` and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.few_shot_data import SHOTS, Reviewer, Split, read_split, seed_rows
from benchmarks.label_students import ROUNDS, Pool, acquire, fit_encoder, fit_probe
from kickwheel.embedding.encoder_folder_adapter import ensure_encoder
from kickwheel.embedding.open_adapter import NGRAMS, open_embedder
from kickwheel.errors import InputError
from kickwheel.probe.embedding_probe import SelfTraining
from kickwheel.seeding.acquisition import STRATEGIES
from kickwheel.tuning.encoder import EncoderPlan
from kickwheel.workspace import fingerprint, hash_file, write_atomically

MAX_STEPS = 410
"""Of the encoder: what two cores have time for in three minutes a seed. All eight epochs are 1,370 steps on BANKING77."""
VERSION = 2
"""Of the protocol and the recipe: results of another version are not taken up."""


def main() -> None:
    options = arguments()
    # Two threads of a fine-tuning wait for each other thousands of times a second: a short spin is cheaper than a sleep.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    started = time.monotonic()
    train, test = read_split(options.data, "train"), read_split(options.data, "test")
    seeds = [run_seed(options, train, test, seed) for seed in range(options.seeds)]
    accuracies = [seed["accuracy"] for seed in seeds]
    report = {
        "data": options.data.name,
        "accuracy": round(float(np.mean(accuracies)), 4),
        "spread": round(float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else 0.0, 4),
        "human_labels": max(seed["human_labels"] for seed in seeds),
        "strategy": options.strategy,
        "student": options.student,
        "seeds": options.seeds,
        "embedder": options.embedder,
        "entropy_weight": options.entropy_weight if options.strategy == "joint" else None,
        "unlabelled_pool_used": True,
        "valid_read": False,
        "seconds": round(time.monotonic() - started, 1),
        "seconds_of_seeds": round(sum(seed["seconds"] for seed in seeds), 1),
        "by_seed": seeds,
    }
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        mean, spread = 100 * report["accuracy"], 100 * report["spread"]
        print(f"{report['data']}: {mean:.1f} % (sd {spread:.1f}) with {report['human_labels']} labels")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with train, test and perhaps train_5")
    parser.add_argument("--budget", default="770", help="human labels, seeds included; all: every row of train")
    parser.add_argument("--strategy", choices=list(STRATEGIES), default="joint")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--student", choices=("probe", "encoder"), default="encoder")
    parser.add_argument(
        "--embedder", default="package:all-minilm-l6-v2", help="package:NAME, a folder, a hub id, or ngrams (probe only)"
    )
    parser.add_argument("--entropy-weight", type=float, default=0.5, help="in the joint score")
    parser.add_argument("--epochs", type=float, default=EncoderPlan.epochs, help="of the encoder, over the pool")
    parser.add_argument("--max-steps", type=int, default=MAX_STEPS, help="of the encoder, whatever the epochs; 0: no limit")
    parser.add_argument("--lora-rank", type=int, default=0, help="of the encoder; 0: all weights are trained")
    parser.add_argument("--work", type=Path, default=Path(".kickwheel/benchmarks"), help="keeps embeddings and finished seeds")
    parser.add_argument("--json", action="store_true", help="one JSON object rather than a line")
    options = parser.parse_args()
    if options.student == "encoder" and options.embedder == NGRAMS:
        parser.error("--student encoder needs an encoder: --embedder package:all-minilm-l6-v2, a folder or a hub id")
    return options


def run_seed(options: argparse.Namespace, train: Split, test: Split, seed: int) -> dict[str, Any]:
    """One seed's figures, from disk if it was run before."""
    plans = (
        SelfTraining(),
        replace(EncoderPlan(), epochs=options.epochs, max_steps=options.max_steps, lora_rank=options.lora_rank, seed=seed),
    )
    files = [hash_file(options.data / split / part) for split in ("train", "test") for part in ("seq.in", "label")]
    asked = [options.budget, options.strategy, options.student, options.embedder, options.entropy_weight]
    recipe = [asdict(plans[0]), asdict(plans[1]) if options.student == "encoder" else seed]
    kept = options.work / "labels" / f"{fingerprint(VERSION, *asked, *recipe, *files)}.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    started = time.monotonic()
    result = race(options, train, test, seed, *plans)
    result = {"seed": seed, **result, "seconds": round(time.monotonic() - started, 1)}
    write_atomically(kept, json.dumps(result))
    return result


def race(
    options: argparse.Namespace, train: Split, test: Split, seed: int, self_training: SelfTraining, plan: EncoderPlan
) -> dict[str, Any]:
    """Seeds, rounds of labels, the student, and its figures on test."""
    embedder = open_embedder(options.embedder, options.work, told("embedded"))
    intents = sorted(set(train.labels))
    names = [intent.replace("_", " ").replace("?", "") for intent in intents]
    pool = Pool(train.texts, embedder.embed(train.texts), intents, names, embedder.embed(names))
    reviewer, budget = Reviewer(train.labels), len(train.texts) if options.budget == "all" else int(options.budget)
    if budget < SHOTS * len(intents):
        raise InputError(f"a budget of {budget} does not hold {SHOTS} rows of each of {len(intents)} intents", field="--budget")
    reviewer.label(range(budget) if options.budget == "all" else seed_rows(options.data, train, seed))
    probe = fit_probe(pool, reviewer.asked, self_training)
    for left in range(ROUNDS, 0, -1):
        if more := round((budget - reviewer.human_labels) / left):
            weight = options.entropy_weight
            reviewer.label(
                acquire(pool, reviewer.asked, more, probe, strategy=options.strategy, entropy_weight=weight, seed=seed)
            )
            probe = fit_probe(pool, reviewer.asked, self_training)
        say(f"seed {seed}: {reviewer.human_labels} labels")
    vectors = embedder.embed(test.texts)
    table = probe.probabilities(vectors)
    figures = {"human_labels": reviewer.human_labels, "probe_accuracy": accuracy(table, intents, test)}
    if options.student == "encoder":
        from kickwheel.tuning.encoder_adapter import TorchEncoderTrainer

        base = ensure_encoder(options.embedder)
        trainer, progress = TorchEncoderTrainer(), told(f"seed {seed}: step")
        model = fit_encoder(pool, reviewer.asked, probe, trainer, plan, base=base, progress=progress)
        table = model.probabilities(test.texts)
    return {"accuracy": accuracy(table, intents, test), **figures}


def accuracy(table: np.ndarray, intents: list[str], test: Split) -> float:
    """Share of the test rows whose likeliest intent is the gold one."""
    return round(
        sum(intents[k] == gold for k, gold in zip(table.argmax(axis=1), test.labels, strict=True)) / len(test.labels), 5
    )


def told(what: str, every_s: float = 10.0) -> Callable[[int, int], None]:
    """Progress on stderr, at most every few seconds."""
    last = time.monotonic()

    def progress(done: int, of: int) -> None:
        nonlocal last
        if done == of or time.monotonic() - last >= every_s:
            last = time.monotonic()
            say(f"{what} {done} of {of}")

    return progress


def say(line: str) -> None:
    """To stderr: stdout holds the result alone."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
