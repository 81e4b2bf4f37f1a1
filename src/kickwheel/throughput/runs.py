"""Load tests outside laps on disk: ``home/<domain>/throughput/0001/`` and so on; ``report.json`` is written last."""

from __future__ import annotations

from pathlib import Path

from kickwheel.workspace import write_atomically

_INPUTS = "inputs"


def open_run(home: Path, domain: str, inputs: str) -> Path:
    """The folder of a load test: the newest one where it was begun with the same inputs and never finished, else a new one.

    Args:
        inputs: fingerprint of everything that its figures depend on.
    """
    found = find_run(home, domain, inputs)
    found.mkdir(parents=True, exist_ok=True)
    write_atomically(found / _INPUTS, inputs)
    return found


def find_run(home: Path, domain: str, inputs: str) -> Path:
    """Where that folder is or would be; nothing is written."""
    root = home / domain / "throughput"
    last = max((path for path in root.glob("[0-9]*") if path.is_dir()), default=None) if root.is_dir() else None
    if last is None:
        return root / "0001"
    known = (last / _INPUTS).read_text(encoding="utf-8") if (last / _INPUTS).is_file() else ""
    if known == inputs and not (last / "report.json").is_file():
        return last
    return root / f"{int(last.name) + 1:04d}"
