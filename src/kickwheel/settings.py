"""Settings, a group a concern: from the environment (``KICKWHEEL_GROUP__NAME``), overridden by ``domain.yaml``.

Nothing is read at import: call :func:`get_settings`. Infrastructure and credentials come from the environment;
what belongs to a domain (rounds, budgets, load steps) may stand under ``settings:`` in its ``domain.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from schemas.throughput import Slo
from schemas.tuning import LoraPlan


class Group(BaseModel):
    """A settings group: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(Group):
    """The base model of student and local server."""

    base: str = Field(
        default="package:smollm2-135m-instruct",
        description="A packaged model (package:NAME), a folder, or a hub id such as Qwen/Qwen3-0.6B",
    )
    licence: str = Field(default="", description="Licence of the base; empty: what is known of the packaged model")


class ServerSettings(Group):
    """The vLLM server: one that we start, or one that exists (url)."""

    url: str = Field(default="", description="Base URL of a running server, e.g. http://gpu:8000/v1; empty: start one")
    command: str = Field(default="", description="Command that starts vLLM; empty: python -m vllm… of .venv-vllm")
    args: tuple[str, ...] = Field(default=(), description="More arguments for the server")
    device: Literal["cpu", "gpu"] = "cpu"
    max_num_seqs: int = 64
    max_lora_rank: int = 16
    max_model_len: int = 2048
    kv_cache_gib: int = Field(default=1, description="KV cache of the CPU build, GiB")
    start_timeout_s: float = 300.0
    port: int = Field(default=0, description="0: a free one")
    price_per_hour: float = Field(
        default=0.10, ge=0, description="Price of the serving machine, for cost per 1,000 tasks: set yours"
    )


class TeacherSettings(Group):
    """The LLM that labels. Two settings point it anywhere: base_url and model."""

    base_url: str = Field(default="", description="OpenAI-compatible endpoint; empty: the base model on the local vLLM")
    model: str = ""
    api_key: SecretStr = SecretStr("")
    timeout_s: float = 120.0
    max_concurrency: int = 16
    prompt_price_per_1m: float = Field(default=0.0, description="Price of a million prompt tokens")
    completion_price_per_1m: float = 0.0


class IntentSettings(Group):
    """Reading requirement documents (white paper F9)."""

    min_interval_minutes: int = Field(default=5, ge=1, description="Schedules that fire more often than this are refused")


class SeedingSettings(Group):
    """Acquisition and labelling (white paper F10)."""

    rounds: int = Field(default=2, ge=1)
    per_round: int = Field(default=60, ge=1, description="Pool rows sent to the teacher in a round")
    entropy_weight: float = Field(default=0.5, ge=0, le=1, description="Joint score: weight of entropy; margin has the rest")
    few_shot: int = Field(default=6, ge=0, description="Labelled examples in the teacher's prompt")


class ThroughputSettings(Group):
    """Load steps and the objective that they are held against."""

    rates: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    step_s: float = 10.0
    slo: Slo = Slo()


class DistillationSettings(Group):
    """Signals, fusion and distillation (white paper F12)."""

    operator_weight: float = 0.6
    implicit_weight: float = 0.3
    ab_weight: float = 0.1
    dwell_strong_s: float = Field(default=8.0, description="Dwell that means strong interest, seconds")
    scroll_completed: float = Field(default=0.9, description="Scroll without bounce that means completed")
    returns_confused: int = Field(default=3, description="Back-and-returns that mean confusion")
    temperature: float = 2.0
    teacher_mix: float = Field(default=0.3, ge=0, le=1, description="Share of the teacher's scores in the target")
    hard_label_weight: float = Field(default=0.5, ge=0, le=1, description="Share of the hard-label loss")
    replay_share: float = Field(default=0.3, ge=0, lt=1, description="Share of old rows mixed in against forgetting")
    champion_share: float = Field(default=0.8, ge=0, le=1, description="Share of users who see the champion, not the probe")
    learning_rate: float = 5e-4
    max_tokens: int = 15_000
    min_gain: float = Field(default=0.0, description="Joint frame accuracy that a challenger must gain on valid")
    max_intent_drop: float = Field(
        default=0.05, description="Largest fall of an intent's recall (>= 5 rows) that the gate allows"
    )


class Settings(BaseSettings):
    """All groups. ``home`` holds everything that a lap writes."""

    model_config = SettingsConfigDict(
        env_prefix="KICKWHEEL_", env_nested_delimiter="__", frozen=True, extra="ignore", env_ignore_empty=True
    )

    home: Path = Path(".kickwheel")
    tracking_uri: str = Field(default="", description="MLflow; empty: sqlite under home, unless MLFLOW_TRACKING_URI is set")
    seed: int = 0
    trainer: Literal["peft", "instant"] = Field(
        default="peft", description="instant: untrained adapters from kickwheel.testing, to try out the wiring and nothing else"
    )
    model: ModelSettings = ModelSettings()
    server: ServerSettings = ServerSettings()
    teacher: TeacherSettings = TeacherSettings()
    intent: IntentSettings = IntentSettings()
    seeding: SeedingSettings = SeedingSettings()
    tuning: LoraPlan = LoraPlan()
    throughput: ThroughputSettings = ThroughputSettings()
    distillation: DistillationSettings = DistillationSettings()


def get_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings of this process: defaults < ``overrides`` (a domain's ``settings:``) < environment.

    Raises:
        pydantic.ValidationError: a value does not fit; the message names the setting.
    """
    environment = Settings().model_dump(exclude_unset=True)
    merged = _merge(dict(overrides or {}), environment)
    return Settings.model_validate(merged)


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``base``, group by group."""
    merged = dict(base)
    for name, value in over.items():
        inner = merged.get(name)
        merged[name] = _merge(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged
