"""What each arm of robust training (white paper F7) is worth to the encoder student, on the example domain, seeds paired.

Training rows are the seeds and pool rows that a probe on the seeds is least sure of (margin), as a round of acquisition picks
them. Of these a share gets the probe's second-likeliest intent and no slots for a label and counts as a teacher's: the noise is
simulated, and said to be. Tested on the pool rows that are not trained on, with the bundled reviewer's answers; ``valid`` and
``eval`` are not read.

    python -m benchmarks.ablation --seeds 3 --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kickwheel.domain import load_domain
from kickwheel.embedding.encoder_folder_adapter import ensure_encoder
from kickwheel.evaluation import evaluate
from kickwheel.inference.ports import Student
from kickwheel.intent.mapping import map_requirements
from kickwheel.probe import Probe
from kickwheel.tuning.encoder_student_adapter import load_encoder_student
from kickwheel.tuning.encoder_trainer_adapter import EncoderStudentTrainer
from kickwheel.tuning.ports import Surroundings
from schemas.frame import Frame
from schemas.student import EncoderStudentPlan
from schemas.task import TaskCatalog
from schemas.training import GuardPlan, RobustPlan
from schemas.utterance import Provenance, Utterance

ARMS: dict[str, RobustPlan] = {
    "plain": RobustPlan(),
    "contrastive 0.1": RobustPlan(contrastive=0.1),
    "hard rows x 2": RobustPlan(hard_weight=2.0),
    "mc dropout T=10 beta=0.3": RobustPlan(mc_passes=10),
    "smoothing teacher 0.1": RobustPlan(smoothing={"teacher": 0.1}),
    "teacher weight 0.5": RobustPlan(source_weights={"teacher": 0.5}),
    "all": RobustPlan(
        contrastive=0.1, hard_weight=2.0, mc_passes=10, smoothing={"teacher": 0.1}, source_weights={"teacher": 0.5}
    ),
}


def split_rows(folder: Path, picked: int, noise: float, seed: int) -> tuple[list[Utterance], list[Utterance]]:
    """Training rows, some of them wrongly labelled, and test rows."""
    domain = load_domain(folder)
    seeds = domain.rows("seeds")
    gold = {row.id: row for row in domain.rows("review") if row.frame is not None}
    pool = [gold[row.id] for row in domain.rows("pool") if row.id in gold]
    probe = Probe.fit(seeds, seed=seed)
    ranked = np.sort(probe.probabilities([row.text for row in pool]), axis=1)
    order = np.argsort(ranked[:, -1] - ranked[:, -2], kind="stable")
    chosen, rest = order[:picked], order[picked:]
    second = np.argsort(probe.probabilities([pool[k].text for k in chosen]), axis=1)[:, -2]
    wrong = set(np.random.default_rng(seed).permutation(picked)[: round(noise * picked)].tolist())
    rows = list(seeds)
    for place, k in enumerate(chosen):
        row = pool[k]
        frame = Frame(intent=probe.classes[second[place]]) if place in wrong else row.frame
        source = Provenance(source="teacher" if place in wrong or place % 2 else "reviewer", round=1)
        rows.append(row.model_copy(update={"frame": frame, "provenance": source}))
    return rows, [pool[k] for k in rest]


def figures(student: Student, test: Sequence[Utterance]) -> dict[str, float]:
    """Shares on the test rows."""
    found = evaluate(test, student.predict([row.text for row in test]), student=student.name, split="valid").overall
    return {name: getattr(found, name) for name in ("joint_frame_accuracy", "intent_accuracy", "slot_f1")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", type=Path, default=Path("examples/dataops"))
    parser.add_argument("--base", default="package:all-minilm-l6-v2")
    parser.add_argument("--picked", type=int, default=120)
    parser.add_argument("--noise", type=float, default=0.15, help="share of the picked rows that is labelled wrongly")
    parser.add_argument("--epochs", type=float, default=6.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", default="", help="comma-separated; empty: all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wanted = [name.strip() for name in options.arms.split(",") if name.strip()] or list(ARMS)
    base, results = ensure_encoder(options.base), dict[str, list[dict[str, float]]]()
    started = time.monotonic()
    for seed in range(options.seeds):
        rows, test = split_rows(options.domain, options.picked, options.noise, seed)
        results.setdefault("probe", []).append(figures(Probe.fit(rows, seed=seed), test))
        for name in wanted:
            with tempfile.TemporaryDirectory() as folder:
                plan = EncoderStudentPlan(base=options.base, epochs=options.epochs, seed=seed)
                around = Surroundings(robust=ARMS[name], guard=GuardPlan(action="off"), pool=[row.text for row in test])
                trained = EncoderStudentTrainer().train(rows, plan, base_path=base, out=Path(folder) / "a", around=around)
                catalog = load_catalog(options.domain)
                results.setdefault(name, []).append(figures(load_encoder_student(trained.folder, catalog), test))
            sys.stderr.write(f"seed {seed}, {name}: {results[name][-1]} ({time.monotonic() - started:.0f} s)\n")
    table = {
        name: {key: [round(100 * item[key], 1) for item in found] for key in found[0]}
        | {"mean_joint": round(100 * statistics.mean(item["joint_frame_accuracy"] for item in found), 1)}
        for name, found in results.items()
    }
    report = {"rows": len(rows), "test_rows": len(test), "noise": options.noise, "epochs": options.epochs, "arms": table}
    print(json.dumps(report, indent=None if options.json else 1))
    return 0


def load_catalog(folder: Path) -> TaskCatalog:
    """The domain's catalogue, by the rules."""
    domain = load_domain(folder)
    return map_requirements(
        domain.requirement_files,
        domain=domain.name,
        zone=domain.zone,
        glossary=domain.glossary(),
        min_interval_minutes=1,
    )


if __name__ == "__main__":
    sys.exit(main())
