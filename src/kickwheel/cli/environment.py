"""What has to be in the environment before Prefect, MLflow or torch is imported: they read it then, once."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

from pydantic import BaseModel

from kickwheel.workspace import write_atomically

_UP_FILE = "up.json"


class Services(BaseModel):
    """Addresses of what ``kickwheel up`` started."""

    prefect_ui: str
    prefect_api: str
    mlflow: str


def prepare(home: Path) -> None:
    """Quiet defaults, and the services of ``kickwheel up`` where they are alive. What the user has set stays."""
    for name, value in {
        "DO_NOT_TRACK": "true",  # the word: MLflow does not take 1
        # How long a waiting OpenMP thread spins: without any spinning, training runs at 162 tokens/s instead of 295, with the
        # default at a few beside any other load; with this at 257, and at 85 beside another busy process (measured).
        "GOMP_SPINCOUNT": "3000",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",  # 20 are too few for a new database on a busy machine
        "PREFECT_LOGGING_LEVEL": "INFO",
    }.items():
        os.environ.setdefault(name, value)
    services = running_services(home)
    if services:
        os.environ.setdefault("PREFECT_API_URL", services.prefect_api)


def announce(home: Path, services: Services) -> None:
    """Tell later commands where the services are."""
    write_atomically(home / _UP_FILE, services.model_dump_json())


def retract(home: Path) -> None:
    """The services are going down."""
    (home / _UP_FILE).unlink(missing_ok=True)


def running_services(home: Path) -> Services | None:
    """What ``kickwheel up`` announced, if it still answers."""
    path = home / _UP_FILE
    if not path.is_file():
        return None
    services = Services.model_validate(json.loads(path.read_text(encoding="utf-8")))
    return services if answers(f"{services.prefect_api}/health") else None


def answers(url: str, timeout_s: float = 2.0) -> bool:
    """Whether a GET of this local address succeeds."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as reply:  # noqa: S310 - our own http address
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False
