"""A published domain whose documents and labels the tests change."""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kickwheel.domain import load_domain, scaffold_domain
from kickwheel.execution.execute import tasks_of
from kickwheel.registry.comparison import compare
from kickwheel.registry.journal import write_down
from kickwheel.registry.migration import migrate
from kickwheel.registry.publication import publish
from kickwheel.registry.published import read_registry
from kickwheel.workspace import write_atomically
from schemas.registry import CatalogueDiff, MigrationReport

NOW = datetime.datetime(2026, 11, 29, 23, 0, tzinfo=datetime.UTC)
REQUIREMENTS = """\
---
zone: Asia/Shanghai
---

- 每日9点同步用户订单至数据湖
  - 意图：sync_orders
  - 说明：copy orders
  - 说法：“补一下订单”
  - 槽位：date；region（名称，例如 华东）；format（枚举：csv，pdf）
- 每小时拉取API日志
  - 意图：fetch_api_logs
  - 槽位：service（名称，例如 checkout-api）
"""


@dataclass(frozen=True)
class World:
    """One domain's folder."""

    folder: Path

    def write(self, requirements: str) -> None:
        (self.folder / "requirements" / "tasks.md").write_text(requirements, encoding="utf-8")

    def change(self, *replaced: tuple[str, str]) -> None:
        """Edit the requirements."""
        path = self.folder / "requirements" / "tasks.md"
        text = path.read_text(encoding="utf-8")
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    def publish(self, *, dry_run: bool = False) -> CatalogueDiff:
        domain = load_domain(self.folder)
        return publish(tasks_of(domain), domain, today=NOW.date(), dry_run=dry_run)

    def diff(self) -> CatalogueDiff:
        domain = load_domain(self.folder)
        return compare(tasks_of(domain), read_registry(self.folder), domain)

    def migrate(self, text: str, *, dry_run: bool = False) -> MigrationReport:
        path = self.folder / "migration.yaml"
        path.write_text(text, encoding="utf-8")
        domain = load_domain(self.folder)
        return migrate(domain, path, tasks_of(domain), dry_run=dry_run)

    def rows(self, name: str) -> list[dict[str, Any]]:
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    def add(self, name: str, *rows: str) -> None:
        """Append rows, byte for byte."""
        with (self.folder / name).open("a", encoding="utf-8", newline="") as file:
            file.writelines(row + "\n" for row in rows)

    def interrupt(self, change: Callable[[World], object], written: int) -> None:
        """Leave the folder as a kill leaves it: the change is written down, and so many of its files are written."""
        before = self.files()
        with tempfile.TemporaryDirectory() as elsewhere:
            other = World(Path(shutil.copytree(self.folder, Path(elsewhere) / self.folder.name)))
            change(other)
            after = other.files()
        names = sorted({*before, *after})
        texts = {name: after[name].decode() if name in after else None for name in names if after.get(name) != before.get(name)}
        write_down(self.folder, {self.folder / name: text for name, text in texts.items()})
        for name, text in list(texts.items())[:written]:
            if text is None:
                (self.folder / name).unlink()
            else:
                write_atomically(self.folder / name, text)

    def files(self) -> dict[str, bytes]:
        """Every file of the domain."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A domain that is published as 1.0.0."""
    world = World(scaffold_domain("demo", tmp_path))
    world.write(REQUIREMENTS)
    world.publish()
    return world
