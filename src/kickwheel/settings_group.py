"""What settings groups have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """A settings group: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
