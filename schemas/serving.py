"""Which version of the student answers: what promotion writes and the understanding API reads."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.base import Contract, Rate


class ServedVersion(Contract):
    """A version of the student that can be asked."""

    name: str = Field(min_length=1, description="Name in answers, events and reports, e.g. dataops-lap-0002-distilled")
    registry_version: str = Field(default="", description="Its version in the model registry; empty: not registered")
    kind: Literal["vllm", "encoder", "probe"] = Field(
        description="vllm: an OpenAI-compatible server; else in the API's process"
    )
    url: str = Field(default="", description="vllm: the server's base URL, /v1 included")
    model: str = Field(default="", description="vllm: the adapter's or merged model's name at that server")
    folder: str = Field(
        default="", description="The artifact's folder: an encoder is loaded from it, and its calibration.json counts"
    )

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.kind == "vllm" and not (self.url and self.model):
            raise ValueError("a version of kind vllm needs url and model")
        if self.kind == "encoder" and not self.folder:
            raise ValueError("a version of kind encoder needs the folder of its artifact")
        return self


class Routing(Contract):
    """The versions in service. Written whole, by one writer at a time; readers go by ``revision``."""

    schema_version: Literal["1"] = "1"
    revision: int = Field(ge=1, description="One more with each change")
    champion: ServedVersion
    challenger: ServedVersion | None = Field(default=None, description="The version on trial; None: no trial is running")
    challenger_share: Rate = Field(default=0.0, description="Share of units (users, else sessions) that the challenger answers")
    shadow: bool = Field(
        default=False, description="The challenger is asked too, beside the champion, and nobody sees its answers"
    )
    experiment: str = Field(default="", description="Name of the trial and salt of its assignment: another trial, other units")

    @model_validator(mode="after")
    def _trial_is_whole(self) -> Self:
        if self.challenger is None and (self.challenger_share or self.shadow):
            raise ValueError("challenger_share and shadow need a challenger")
        if self.challenger is not None and not self.experiment:
            raise ValueError("a challenger needs the name of its experiment")
        return self
