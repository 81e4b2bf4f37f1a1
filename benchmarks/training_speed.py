"""How fast LoRA training is: ``python -m benchmarks.training_speed --base FOLDER --rows FILE --json``.

Rows are a JSONL file of labelled utterances, or a folder of few-shot-intent with ``train``. Each arm trains the same rows with
the same batch size and counts tokens that are no padding, after a warm-up. ``plain`` is transformers' own Trainer: rows as
they come, padded to the longest of the batch, the loss in the model. ``ours`` is what the product does on this device, the
other arms leave a part of it out. Arms take turns (``--rounds``), so that a machine that slows down slows all of them.

On a GPU the rate of a large bf16 matrix product is measured too, and what share of it training reaches: 4 FLOPs a token and
weight of the frozen layers (2 forward, 2 for the gradient of their inputs), the output matrix only where a token is predicted,
and attention's own. ``kernels`` says where the time of a step goes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.few_shot_data import read_split
from benchmarks.speed_arms import Setting, measured, platform_of
from benchmarks.student_data import slug
from schemas.frame import Frame
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance


def main() -> None:
    options = arguments()
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    rows = read_rows(options.rows)
    arms = options.arms or (["plain", "ours", "uncompiled"] if platform_of() == "cuda" else ["plain", "ours"])
    setting = Setting(options.base, rows, LoraPlan(batch_size=options.batch_size, **shape(options.all_linear)), options.steps)
    runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    for _ in range(options.rounds):
        for arm in arms:
            runs[arm].append(measured(setting, arm, options.warmup, profile=options.profile))
            print(json.dumps({"arm": arm, **runs[arm][-1]}), file=sys.stderr, flush=True)
    report: dict[str, Any] = {"platform": platform_of(), "batch_size": options.batch_size, "steps": options.steps, "arms": runs}
    rates = {arm: statistics.median(run["tokens_per_second"] for run in found) for arm, found in runs.items()}
    report["tokens_per_second"] = {arm: round(rate) for arm, rate in rates.items()}
    if "plain" in rates and "ours" in rates:
        report["ours_over_plain"] = round(rates["ours"] / rates["plain"], 2)
    if platform_of() == "cuda":
        from benchmarks.gpu_ceiling import flops_a_token, matmul_rate

        ceiling = matmul_rate()
        report["matmul_tflops"] = round(ceiling / 1e12, 1)
        for found in runs.values():
            for run in found:
                run["share_of_matmul_rate"] = round(flops_a_token(options.base, run) * run["computed_per_second"] / ceiling, 4)
    print(json.dumps(report, indent=1))
    print("  ".join(f"{arm} {rate:,.0f} tokens/s" for arm, rate in rates.items()), file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="the base model: a folder with safetensors")
    parser.add_argument("--rows", type=Path, default=Path("examples/dataops/seeds.jsonl"))
    parser.add_argument("--batch-size", type=int, default=LoraPlan().batch_size, help="rows a step, in every arm")
    parser.add_argument("--steps", type=int, default=60, help="of each arm, warm-up included")
    parser.add_argument("--warmup", type=int, default=10, help="steps that are not counted")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--all-linear", action="store_true", help="LoRA of rank 16 on every linear layer, not 8 on two of them")
    parser.add_argument("--arms", nargs="+", choices=("plain", "ours", "uncompiled", "padded", "packed"))
    parser.add_argument("--profile", action="store_true", help="GPU: time by kind of kernel")
    parser.add_argument("--json", action="store_true", help="kept for likeness with the other benchmarks: it always is")
    return parser.parse_args()


def shape(all_linear: bool) -> dict[str, Any]:
    """Of the adapter."""
    if not all_linear:
        return {}
    from benchmarks.student_training import ALL_LINEAR

    return {"r": 16, "alpha": 32, "target_modules": ALL_LINEAR, "learning_rate": 4e-4}


def read_rows(path: Path) -> list[Utterance]:
    """Labelled rows of a file or folder."""
    if path.is_dir():
        split = read_split(path, "train")
        pairs = enumerate(zip(split.texts, split.labels, strict=True))
        return [Utterance(id=str(k), text=t, language="en", frame=Frame(intent=slug(label))) for k, (t, label) in pairs]
    lines = path.read_text(encoding="utf-8").splitlines()
    return [row for row in map(Utterance.model_validate_json, lines) if row.frame is not None]


if __name__ == "__main__":
    main()
