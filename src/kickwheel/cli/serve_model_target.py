"""What ``kickwheel serve-model`` was asked to serve: settings, base, adapters, and the folder of the weights."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kickwheel.cli.output import messages
from kickwheel.errors import InputError

if TYPE_CHECKING:
    from kickwheel.inference.served_target import NamedAdapter
    from kickwheel.settings import ServerSettings, Settings


@dataclass(frozen=True)
class Wanted:
    """What is to be served."""

    settings: Settings
    base: str
    adapters: tuple[NamedAdapter, ...]
    merged: bool

    @property
    def served_name(self) -> str:
        """Name of the model in requests; empty: that of its folder."""
        return self.adapters[0].name if self.merged else ""


def settings_of(target: str) -> tuple[Settings, str]:
    """Settings, and the domain's name where the target is one."""
    from kickwheel.domain import load_domain
    from kickwheel.settings import get_settings

    if (Path(target) / "domain.yaml").is_file():
        domain = load_domain(Path(target))
        return domain.resolved_settings(), domain.name
    return get_settings(), ""


def wanted_of(target: str, adapters: list[str], *, merged: bool, resolved: tuple[Settings, str], champion: bool) -> Wanted:
    """What the arguments ask for; ``champion``: a domain without adapters is served with its champion.

    Raises:
        InputError: adapters that are none, or not exactly one to merge.
    """
    from kickwheel.inference.served_target import parse_adapters

    settings, domain = resolved
    named = parse_adapters(adapters)
    if domain and not named and champion:
        named = _champion(settings, domain)
    if merged and len(named) != 1:
        raise InputError(f"--merged needs exactly one adapter, got {len(named)}", field="--adapter")
    return Wanted(settings, settings.model.base if domain or not target else target, named, merged)


def _champion(settings: Settings, domain: str) -> tuple[NamedAdapter, ...]:
    """The domain's champion, where its MLflow store exists and knows one."""
    from kickwheel.inference.served_target import NamedAdapter

    found = None
    if settings.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or (settings.home / "mlflow.db").is_file():
        from kickwheel.tracking.champion_adapter import champion_of  # imports mlflow: seconds

        found = champion_of(settings, domain)
    if found is None:
        messages().print("no champion yet: the base model is served alone")
        return ()
    return (NamedAdapter(found.name, Path(found.folder.path).resolve()),)


def changed(server: ServerSettings, changes: dict[str, str | int]) -> ServerSettings:
    """Server settings with what was given on the command line; empty values change nothing.

    Raises:
        InputError: a value that does not fit.
    """
    from pydantic import ValidationError

    from kickwheel.settings import ServerSettings

    given = {name: value for name, value in changes.items() if value}
    try:
        return ServerSettings.model_validate(server.model_dump() | given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise InputError(first["msg"], field="--" + str(first["loc"][0])) from error


def model_path(wanted: Wanted, home: Path, url: str) -> Path:
    """Folder of the weights to serve, unpacked or merged if need be. With ``url`` nothing is: those of the server count.

    Raises:
        ModelUnavailable, StageFailed: the model cannot be had, or not merged.
    """
    from kickwheel.inference.base_model_adapter import ensure_base_model
    from kickwheel.inference.served_target import merged_folder

    if url:
        return home
    base = ensure_base_model(wanted.base, home).path
    if not wanted.merged:
        return base
    from kickwheel.tuning.merge_adapter import merge

    out = merged_folder(base, wanted.adapters[0].folder, home)
    merge(base, wanted.adapters[0].folder, out)
    return out
