"""How long a fresh lap takes, and how much memory: ``python -m benchmarks.lap [DOMAIN]``.

Runs ``kickwheel run`` in a folder of its own (base model linked in if it is unpacked already) and prints one JSON object:
seconds by stage and in all, peak memory of the whole process tree (proportional set size), and the headline figures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

EVERY_S = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", nargs="?", default="examples/dataops")
    parser.add_argument("--models", type=Path, default=Path(".kickwheel/models"), help="unpacked base models, to start warm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if options.models.is_dir():
            (home / "models").symlink_to(options.models.resolve())
        environment = {**os.environ, "KICKWHEEL_HOME": str(home), "PREFECT_HOME": str(home / "prefect")}
        command = [str(Path(sys.executable).with_name("kickwheel")), "run", options.domain, "--json"]
        started = time.monotonic()
        with (home / "lap.json").open("wb") as out:
            lap = subprocess.Popen(command, stdout=out, env=environment)
        peak = watch(psutil.Process(lap.pid))
        seconds = time.monotonic() - started
        if lap.wait() != 0:
            sys.exit(f"the lap failed with exit code {lap.returncode}")
        report = json.loads((home / "lap.json").read_text(encoding="utf-8"))
    joint = {item["student"]: item["overall"]["joint_frame_accuracy"] for item in report["tuning"]["evaluations"]}
    print(
        json.dumps(
            {
                "domain": options.domain,
                "cores": os.cpu_count(),
                "seconds": round(seconds, 1),
                "seconds_by_stage": {item["stage"]: round(item["seconds"], 1) for item in report["stages"]},
                "peak_memory_gib": round(peak / 2**30, 2),
                "training_tokens_per_second": round(report["tuning"]["tokens_per_second"]),
                "joint_frame_accuracy": joint,
            },
            indent=1,
        )
    )


def watch(process: psutil.Process) -> int:
    """Peak memory of a process and everything below it, bytes, until it ends."""
    peak = 0
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        total = 0
        with contextlib.suppress(psutil.NoSuchProcess):
            for member in (process, *process.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += member.memory_full_info().pss
        peak = max(peak, total)
        time.sleep(EVERY_S)
    return peak


if __name__ == "__main__":
    main()
