"""Server profiles: engine settings as YAML that people can read and edit."""

from __future__ import annotations

from pathlib import Path

import yaml

from kickwheel.workspace import write_atomically
from kickwheel.yaml_document import read_yaml
from schemas.engine import ServerProfile

_HEAD = (
    "# A server profile of Kickwheel: engine settings that change speed, never answers. Use it with\n"
    "#   kickwheel serve-model DOMAIN --profile THIS_FILE      or KICKWHEEL_SERVER__PROFILE=THIS_FILE\n"
)


def load_profile(path: Path) -> ServerProfile:
    """The profile of a file.

    Raises:
        YamlProblems: no such file, no YAML, or a field that is not one of a profile's; names file, line and field.
    """
    return read_yaml(path, ServerProfile)


def save_profile(profile: ServerProfile, path: Path) -> None:
    """Write a profile; a file that stands there is replaced as a whole. Engine settings that are null are vLLM's own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = profile.model_dump(mode="json", exclude_none=True) | {"engine": profile.engine.model_dump(mode="json")}
    write_atomically(path, _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
