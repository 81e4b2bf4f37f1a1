"""A registry of versions that are empty folders."""

from __future__ import annotations

from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.promotion.ports import Alias
from schemas.base import FolderRef
from schemas.promotion import PromotableVersion, VersionKind

KNOWN = ("1", "2", "3", "a1", "a4", "m2", "m3")
"""Those that begin with m are merged weights, the others adapters."""


class FakeRegistry:
    """Holds the aliases; a version's folder appears when it is asked for."""

    def __init__(self, folder: Path, champion: str | None = None):
        self.aliases: dict[Alias, str] = {"champion": champion} if champion else {}
        self._folder = folder

    def alias(self, name: Alias) -> str | None:
        return self.aliases.get(name)

    def set_alias(self, name: Alias, version: str | None) -> None:
        if version is None:
            self.aliases.pop(name, None)
        else:
            self.aliases[name] = version

    def version(self, version: str) -> PromotableVersion:
        if version not in KNOWN:
            raise InputError(f"there is no version {version!r}")
        folder = self._folder / f"shop-{version}"
        folder.mkdir(exist_ok=True)
        (folder / "adapter_config.json").write_text('{"target_modules": ["q_proj"]}')
        kind: VersionKind = "merged" if version.startswith("m") else "adapter"
        return PromotableVersion(
            version=version, name=f"shop-{version}", folder=FolderRef(path=str(folder), sha256="0" * 64), kind=kind
        )
