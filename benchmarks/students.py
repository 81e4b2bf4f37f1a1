"""Small students on public data: ``python -m benchmarks.students --data DIR --base FOLDER --json``.

DIR has ``BANKING77`` and ``SNIPS`` of few-shot-intent. BANKING77: 770 human labels chosen by seeding and the rest of the pool
without labels; the students are a probe, a fine-tuned encoder and a causal student that writes the frame (accuracy by the
log-probability of each intent's frame, which never fails to parse, and by free decoding beside). SNIPS: a tenth of the rows.

Arms are kept below ``--work`` and not run again, an interrupted training is taken up at its last checkpoint, and no arm is
begun after ``--seconds``: call it again until it says that nothing is left. A short table comes last, on stderr; stdout has
one JSON object. Written for one H200; on a processor use ``--rows 40 --epochs-scale 0.02`` to try it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import student_banking, student_snips
from benchmarks.student_banking import Banking
from benchmarks.student_snips import Snips

SHOWN = (
    "accuracy",
    "slot_f1",
    "joint_frame_accuracy",
    "unparsable",
    "free_accuracy",
    "free_unparsable",
    "fused_with_teachers",
)


def main() -> None:
    options = arguments()
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    started = time.monotonic()
    done: list[dict[str, Any]] = []
    left: list[str] = []
    for name, setting, arm in arms(options):
        if left or time.monotonic() - started > options.seconds:
            left.append(f"{name}-{setting.seed}-{arm}")
            continue
        done.append({"data": name, **setting.run(arm)})
        print(json.dumps(done[-1]), file=sys.stderr, flush=True)
    print(json.dumps({"device": device(), "arms": done, "left": left}, indent=1))
    for row in done:
        print(line(row), file=sys.stderr)
    print(f"{len(left)} arms left: {' '.join(left)}" if left else "nothing is left", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with BANKING77 and SNIPS")
    parser.add_argument("--base", type=Path, required=True, help="the causal base model: a folder with safetensors")
    parser.add_argument("--embedder", default="package:all-minilm-l6-v2", help="encoder: package:NAME, a folder or a hub id")
    parser.add_argument("--only", choices=("banking", "snips"), help="one of the two")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="label seeds")
    parser.add_argument("--arms", nargs="+", help="only these arms")
    parser.add_argument("--work", type=Path, default=Path(".kickwheel/benchmarks/students"))
    parser.add_argument("--seconds", type=float, default=420.0, help="no arm is begun after so many")
    parser.add_argument("--rows", type=int, help="only so many rows of pool and test: to try the script")
    parser.add_argument("--epochs-scale", type=float, default=1.0, help="of every training")
    parser.add_argument("--json", action="store_true", help="kept for likeness with the other benchmarks: it always is")
    return parser.parse_args()


def arms(options: argparse.Namespace) -> Iterator[tuple[str, Banking | Snips, str]]:
    """What is to be run, in order."""
    shared = {"work": options.work, "epochs_scale": options.epochs_scale, "rows": options.rows, "base": options.base}
    for seed in options.seeds:
        if options.only != "snips":
            banking = Banking(data=options.data / "BANKING77", embedder=options.embedder, seed=seed, **shared)
            yield from (("banking", banking, arm) for arm in student_banking.ARMS if not options.arms or arm in options.arms)
        if options.only != "banking":
            snips = Snips(data=options.data / "SNIPS", seed=seed, **shared)
            yield from (("snips", snips, arm) for arm in student_snips.ARMS if not options.arms or arm in options.arms)


def device() -> str:
    """Name of what the students are trained on."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} CPU cores"


def line(row: dict[str, Any]) -> str:
    """One arm, for the eye."""
    figures = "  ".join(f"{name} {100 * row[name]:.2f}" for name in SHOWN if name in row)
    return f"{row['data']:8} {row['arm']:11} seed {row['seed']}  {figures}  {row['seconds']} s"


if __name__ == "__main__":
    main()
