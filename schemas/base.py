"""What every contract has in common, and references to bulk data."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
"""Lower-case name of an intent, slot, action or target, e.g. ``sync_orders``."""

Rate = Annotated[float, Field(ge=0.0, le=1.0)]
"""A share between 0 and 1."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _regular_expression(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


RegularExpression = Annotated[str, AfterValidator(_regular_expression)]
"""A pattern that Python's ``re`` takes; the empty one too."""


class Contract(BaseModel):
    """Frozen value object: unknown fields are errors, not surprises."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataRef(Contract):
    """Reference to a file of rows: bulk data travels by path, hash and count, never by value."""

    path: str = Field(description="Path of the file, absolute or relative to the working directory")
    sha256: Sha256 = Field(description="SHA-256 of the file's bytes")
    rows: int = Field(ge=0, description="Number of rows")


class FolderRef(Contract):
    """Reference to a folder of weights, complete when its hash could be taken."""

    path: str = Field(description="Path of the folder, absolute or relative to the working directory")
    sha256: Sha256 = Field(description="SHA-256 over the sorted relative names and hashes of its files")
