"""Tasks, bindings and a clock that stands still."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kickwheel.execution.bindings import Binding, BindingsDocument
from kickwheel.yaml_document import parse_yaml
from schemas.task import TaskSchema

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def task(action: str, intent: str = "sync_orders", target: str | None = "orders_datalake", **fields: Any) -> TaskSchema:
    return TaskSchema(id=uuid.uuid5(uuid.NAMESPACE_DNS, intent), intent=intent, action=action, target=target, **fields)


def binding(text: str) -> Binding:
    """The binding that stands, indented, under a name of bindings.yaml."""
    return parse_yaml(f"it:\n{text}", BindingsDocument, file="bindings.yaml").root["it"]


def everything_below(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, every folder: what a dry run must leave alone."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
