"""Settings, a group a concern: from the environment (``KICKWHEEL_GROUP__NAME``), overridden by ``domain.yaml``.

Nothing is read at import: call :func:`get_settings`. Infrastructure and credentials come from the environment;
what belongs to a domain (rounds, budgets, load steps) may stand under ``settings:`` in its ``domain.yaml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from kickwheel.errors import InputError
from kickwheel.evaluation_settings import EvaluationSettings
from kickwheel.promotion_settings import PromotionSettings, TrialSettings, TriggerSettings
from kickwheel.settings_group import Group
from schemas.student import EncoderStudentPlan
from schemas.throughput import Slo
from schemas.training import GuardPlan, RobustPlan
from schemas.tuning import LoraPlan


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
    api_key: SecretStr = Field(default=SecretStr(""), description="Sent to url, or --url, and nowhere else; never in a file")
    command: str = Field(default="", description="Command that starts vLLM; empty: python -m vllm… of .venv-vllm")
    args: tuple[str, ...] = Field(default=(), description="More arguments for the server")
    profile: str = Field(
        default="", description="Server profile (YAML of `kickwheel engine tune`); its values count before these"
    )
    device: Literal["cpu", "gpu"] = Field(default="cpu", description="What the server that we start runs on")
    max_num_seqs: int = Field(default=64, description="Largest batch; also our concurrency when we evaluate")
    max_lora_rank: int = Field(
        default=8, description="Largest rank of an adapter (vLLM allows 1, 8, 16, 32, 64, 128, 256, 320, 512); all pay for it"
    )
    lora_modules: tuple[str, ...] = Field(
        default=("q_proj", "v_proj"),
        description="Modules that adapters may touch, CPU only: it computes each of them, used or not; empty: all, far slower",
    )
    max_model_len: int = Field(default=2048, description="Tokens of prompt and reply together")
    kv_cache_gib: int = Field(default=1, description="KV cache of the CPU build, GiB")
    start_timeout_s: float = Field(default=300.0, description="Seconds that the server may take to be ready")
    port: int = Field(default=0, description="0: a free one")
    price_per_hour: float = Field(
        default=0.10, ge=0, description="Price of the serving machine, for cost per 1,000 tasks: set yours"
    )


class TeacherSettings(Group):
    """The LLM that labels. Two settings point it anywhere: base_url and model."""

    base_url: str = Field(default="", description="OpenAI-compatible endpoint; empty: the base model on the local vLLM")
    model: str = Field(default="", description="Model name at that endpoint")
    api_key: SecretStr = Field(default=SecretStr(""), description="Sent to base_url and nowhere else; never in a file")
    timeout_s: float = Field(default=120.0, description="Seconds that one call may take")
    max_concurrency: int = Field(default=16, description="Calls at the same time")
    trace: bool = Field(default=True, description="Calls of seeding are traces in MLflow, prompts and replies included")
    requests_per_minute: int = Field(default=0, ge=0, description="Most requests in any 60 s; 0: no limit")
    tokens_per_minute: int = Field(default=0, ge=0, description="Most tokens, prompts and replies, in any 60 s; 0: no limit")
    max_calls: int = Field(default=0, ge=0, description="Calls that a lap may pay for; 0: no limit")
    max_tokens: int = Field(default=0, ge=0, description="Tokens, prompts and replies, that a lap may pay for; 0: no limit")
    max_cost: float = Field(default=0.0, ge=0, description="Money that a lap may spend, at the prices below; 0: no limit")
    prompt_price_per_1m: float = Field(default=0.0, ge=0, description="Price of a million prompt tokens")
    completion_price_per_1m: float = Field(default=0.0, ge=0, description="Price of a million completion tokens")


RecogniserChoice = Literal["rules", "llm", "hybrid"]


class IntentSettings(Group):
    """Reading requirement documents (white paper F9)."""

    min_interval_minutes: int = Field(default=5, ge=1, description="Schedules that fire more often than this are refused")
    recogniser: RecogniserChoice = Field(
        default="hybrid",
        description="rules; llm: the model at teacher.base_url; hybrid: rules, and that model's suggestions where they refuse",
    )
    second_opinion: bool = Field(
        default=False,
        description="hybrid: the model reads all that the rules map too; tasks that it reads otherwise are flagged",
    )


class SeedingSettings(Group):
    """Acquisition and labelling (white paper F10)."""

    rounds: int = Field(default=2, ge=1, description="Rounds of acquisition and labelling in a lap")
    per_round: int = Field(default=40, ge=1, description="Pool rows sent to the teacher in a round")
    entropy_weight: float = Field(default=0.5, ge=0, le=1, description="Joint score: weight of entropy; margin has the rest")
    strategy: Literal["joint", "entropy", "margin", "slots", "balanced", "diversity", "random"] = Field(
        default="joint", description="What makes a pool row worth a label (docs/acquisition.md); random is the control"
    )
    scores: Literal["probe", "student"] = Field(
        default="probe",
        description="Whose doubts choose rows; student: the champion's on the stage's own server, or those of student_model at "
        "student_url, from its tokens' probabilities: a call a pool row",
    )
    student_url: str = Field(default="", description="scores: OpenAI-compatible endpoint, with logprobs, that serves a student")
    student_model: str = Field(default="", description="scores: the student's name there")
    embedder: str = Field(
        default="ngrams",
        description="What diversity compares rows by: ngrams, or an encoder (package:all-minilm-l6-v2, a folder, a hub id)",
    )
    audit_share: float = Field(default=0.1, ge=0, le=1, description="Share of a round drawn blindly from the rest of the pool")
    few_shot: int = Field(default=6, ge=0, description="Labelled examples in the teacher's prompt")
    facts: int = Field(default=3, ge=0, description="Facts of knowledge.csv in the teacher's prompt (white paper F6)")
    accept_audit: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Share of accepted labels, at least one a kind of rows, that people check all the same",
    )
    min_precision: float = Field(
        default=0.9, ge=0, le=1, description="Share of checked labels that must be right, else self-acceptance stops"
    )
    min_audited: int = Field(default=10, ge=1, description="Checked labels below which their precision is not judged")
    near_duplicate: float = Field(
        default=0.8, gt=0, le=1, description="Share of common character trigrams from which two texts are taken for the same"
    )
    template_leaks: bool = Field(
        default=True, description="Refuse training rows that differ from an evaluation row in slot values only"
    )
    mask_personal_data: bool = Field(
        default=False, description="Mask emails, phones, id and card numbers and IPs in seeds and pool before anybody sees them"
    )
    label_folds: int = Field(default=5, ge=0, description="Folds of the search for label errors; 0: none")
    synthesis: Literal["off", "cold", "on"] = Field(
        default="cold",
        description="Rows that are written: cold, for intents without a labelled row; on, for thin intents, slots and "
        "languages and for boundaries between intents too",
    )
    synthetic_rows: int = Field(default=4, ge=1, description="Labelled rows wanted of each intent, slot and language")
    synthetic_share: float = Field(
        default=0.25,
        ge=0,
        lt=1,
        description="Most that synthetic rows may make of the labelled ones (intents without others apart)",
    )
    synthetic_similarity: float = Field(
        default=0.7, gt=0, le=1, description="Share of common trigrams with another row from which a written row is refused"
    )
    votes: int = Field(default=1, ge=1, description="Answers asked for a row; more than half must agree (self-consistency)")


class ReviewSettings(Group):
    """Rows that people answer: `kickwheel review`."""

    overlap: float = Field(
        default=0.2, ge=0, le=1, description="Share of rows that the page also shows to a second reviewer, to measure agreement"
    )
    wait_hours: float = Field(default=72.0, gt=0, description="Hours for which the review flow waits for people")


class ThroughputSettings(Group):
    """The lap's short search for the largest rate that holds the objective; for an exact one see docs/throughput.md."""

    slo: Slo = Field(default=Slo(), description="Objectives by name: p99_ms from the scheduled send time, error_rate, …")
    start_rate: float = Field(default=2.0, gt=0, description="First rate of the search, requests/s; then doubled or halved")
    highest_rate: float = Field(default=1024.0, gt=0, description="Largest rate that is tried")
    tolerance: float = Field(
        default=0.05, gt=0, description="The rate that misses is at most this share above the one that held"
    )
    max_points: int = Field(default=5, ge=1, description="Load steps of a search at most; a miss takes two")
    min_requests: int = Field(
        default=16, ge=1, description="Requests of a step at least: the P99 of 100 is the slowest but one"
    )
    step_s: float = Field(default=8.0, gt=0, description="Seconds of a step at least")
    arrivals: Literal["constant", "poisson"] = Field(
        default="constant", description="Gaps between requests: all alike, or those of independent users"
    )
    unloaded_requests: int = Field(
        default=16,
        ge=1,
        description="Requests sent one at a time, for latency and accuracy without load",
    )
    burst: int = Field(
        default=32,
        ge=0,
        description="Requests sent all at once before the warm-up (white paper C9); 0: none",
    )
    request_limit_s: float = Field(default=30.0, gt=0, description="A request that takes longer is a timeout")
    scrape_s: float = Field(default=1.0, gt=0, description="Seconds between two looks at the server's own metrics")
    cores: Literal["auto", "separate", "shared"] = Field(
        default="auto",
        description="Server and generator on cores of their own; auto: unless the server computes on few CPU cores",
    )
    structured: bool = Field(default=False, description="Ask for replies under the frames' JSON Schema")


class FeedbackSettings(Group):
    """Where events about answers are kept (docs/feedback.md)."""

    url: SecretStr = Field(
        default=SecretStr(""),
        description="Database of events, e.g. postgresql://user:password@host/name; empty: SQLite under home",
    )
    retention_days: float = Field(default=0, ge=0, description="Days after which answers and events may be pruned; 0: never")
    bad_case_share: float = Field(
        default=0.05, gt=0, le=1, description="Share of bad-case clusters that people look at, worst first"
    )
    bad_case_similarity: float = Field(
        default=0.6, gt=0, le=1, description="Normalised Levenshtein similarity from which two bad cases are one cluster"
    )


class DistillationSettings(Group):
    """Signals, fusion and distillation (white paper F12)."""

    operator_weight: float = Field(default=0.6, ge=0, description="Weight of operator labels")
    implicit_weight: float = Field(default=0.3, ge=0, description="Weight of implicit signals")
    ab_weight: float = Field(default=0.1, ge=0, description="Weight of the A/B winner")
    dwell_strong_s: float = Field(default=8.0, description="Dwell that means strong interest, seconds")
    scroll_completed: float = Field(default=0.9, description="Scroll without bounce that means completed")
    returns_confused: int = Field(default=3, description="Back-and-returns that mean confusion")
    dwell_strength: float = Field(default=0.5, ge=0, le=1, description="What strong interest proves, for the answer")
    scroll_strength: float = Field(default=0.75, ge=0, le=1, description="What a completed scroll proves, for the answer")
    confusion_strength: float = Field(default=0.75, ge=0, le=1, description="What confusion proves, against the answer")
    abandon_strength: float = Field(default=0.75, ge=0, le=1, description="What giving up proves, against the answer")
    bounce_strength: float = Field(default=0.5, ge=0, le=1, description="What a bounce proves, against the answer")
    rephrase_strength: float = Field(default=0.5, ge=0, le=1, description="What other words prove, against the answer")
    thumbs_strength: float = Field(default=0.9, ge=0, le=1, description="What a thumb proves, either way")
    outcome_strength: float = Field(default=0.5, ge=0, le=1, description="What a task done, or not, proves, either way")
    conversion_strength: float = Field(default=0.5, ge=0, le=1, description="What a conversion proves, for the answer")
    min_users: int = Field(default=2, ge=1, description="Users who must speak for a label, unless an operator does")
    min_evidence: int = Field(default=2, ge=1, description="Signals that must speak for a label, unless an operator does")
    min_margin: float = Field(default=0.1, ge=0, description="Lead over the next frame that a label needs")
    user_cap: float = Field(default=0.5, gt=0, le=1, description="Most of the implicit figure that one user may account for")
    position_bias: float = Field(
        default=1.0, ge=0, description="Answers at place k are seen with probability 1 / k to this power; 0: all alike"
    )
    max_inverse_propensity: float = Field(default=10.0, ge=1, description="Largest weight that a rare exposure may give")
    operator_rhythm: Literal["daily", "live"] = Field(
        default="daily", description="daily: labels count from the day (UTC) after they came, T+1; live: at once"
    )
    temperature: float = Field(default=2.0, gt=0, description="Softens target and student; the loss is scaled by its square")
    teacher_mix: float = Field(default=0.3, ge=0, le=1, description="Share of the teacher's scores in the target")
    hard_label_weight: float = Field(default=0.5, ge=0, le=1, description="Share of the hard-label loss")
    token_kl: float = Field(
        default=0.0, ge=0, description="Weight of the token-level term: KL from token_teacher at each completion token; 0: off"
    )
    token_teacher: str = Field(
        default="",
        description="Causal teacher of token_kl with the base's own tokens: a folder, package:NAME or hub id",
    )
    replay_share: float = Field(default=0.3, ge=0, lt=1, description="Share of old rows mixed in against forgetting")
    champion_share: float = Field(default=0.8, ge=0, le=1, description="Share of users who see the champion, not the probe")
    max_cases: int = Field(default=64, ge=1, description="Cases of a batch: those with the most evidence")
    learning_rate: float = Field(default=5e-4, gt=0, description="Peak learning rate of distillation")
    max_tokens: int = Field(default=15_000, ge=1, description="Trained tokens of distillation")
    min_gain: float = Field(default=0.0, description="Joint frame accuracy that a challenger must gain on valid")
    gate_alpha: float = Field(
        default=0.05, gt=0, lt=1, description="One-sided level of the exact McNemar test that a promotion needs"
    )
    max_intent_drop: float = Field(
        default=0.05, description="Largest fall of an intent's recall (>= 5 rows) that the gate allows"
    )
    max_ece_rise: float = Field(default=0.05, ge=0, description="Largest rise of the calibration error that the gate allows")
    max_time_rise: float = Field(default=0.5, ge=0, description="Largest rise of the time for valid that it allows, as a share")
    max_size_rise: float = Field(default=0.5, ge=0, description="Largest rise of the weights' bytes that it allows, as a share")


class ServingSettings(Group):
    """The understanding API: `kickwheel serve` (docs/serving.md)."""

    host: str = Field(default="127.0.0.1", description="Address to listen on; another than this machine's needs tokens")
    port: int = Field(default=8500, ge=0, le=65535, description="0: a free one")
    tokens: SecretStr = Field(
        default=SecretStr(""), description="NAME:SCOPE+SCOPE:TOKEN, separated by blanks; scopes: understand, feedback, admin"
    )
    tokens_file: Path | None = Field(default=None, description="JSON list of {name, scopes, sha256 of the token}")
    calls_per_second: float = Field(
        default=500.0, ge=0, description="Calls of a token on average, twice as many at once; 0: no limit"
    )
    max_body_bytes: int = Field(default=1_048_576, ge=1024, description="Larger bodies get 413")
    timeout_s: float = Field(default=10.0, gt=0, description="Seconds that a version may take for an answer")
    connections: int = Field(default=256, ge=1, description="Requests to one model server at a time; more wait")
    confidence: bool = Field(
        default=True,
        description="Ask model servers for log-probabilities: about a tenth of their rate, without it no confidence",
    )
    low_confidence: float = Field(
        default=0.5, ge=0, le=1, description="Confidence below which an answer says so, where no calibration has a threshold"
    )
    fallback: Literal["probe", "none"] = Field(
        default="probe", description="What answers, marked as degraded, where a version does not; none: an error"
    )
    cache_size: int = Field(default=10_000, ge=0, description="Answers kept in memory; 0: none")
    batch: int = Field(default=16, ge=1, description="Texts that a student in this process reads at once")
    drain_s: float = Field(default=30.0, gt=0, description="Seconds for what has begun, at a change of version and at the end")


class Settings(BaseSettings):
    """All groups. ``home`` holds everything that a lap writes."""

    model_config = SettingsConfigDict(
        env_prefix="KICKWHEEL_", env_nested_delimiter="__", frozen=True, extra="ignore", env_ignore_empty=True
    )

    home: Path = Field(default=Path(".kickwheel"), description="Where laps, models and the default MLflow store lie")
    tracking_uri: str = Field(default="", description="MLflow; empty: sqlite under home, unless MLFLOW_TRACKING_URI is set")
    seed: int = Field(default=0, description="Seed of everything that draws")
    trainer: Literal["peft", "instant"] = Field(
        default="peft", description="instant: untrained adapters from kickwheel.testing, to try out the wiring and nothing else"
    )
    model: ModelSettings = ModelSettings()
    server: ServerSettings = ServerSettings()
    teacher: TeacherSettings = TeacherSettings()
    intent: IntentSettings = IntentSettings()
    seeding: SeedingSettings = SeedingSettings()
    review: ReviewSettings = ReviewSettings()
    tuning: LoraPlan = LoraPlan()
    encoder: EncoderStudentPlan = EncoderStudentPlan()
    robust: RobustPlan = RobustPlan()
    guard: GuardPlan = GuardPlan()
    evaluation: EvaluationSettings = EvaluationSettings()
    throughput: ThroughputSettings = ThroughputSettings()
    feedback: FeedbackSettings = FeedbackSettings()
    distillation: DistillationSettings = DistillationSettings()
    trial: TrialSettings = TrialSettings()
    serving: ServingSettings = ServingSettings()
    promotion: PromotionSettings = PromotionSettings()
    trigger: TriggerSettings = TriggerSettings()


def get_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings of this process: defaults < ``overrides`` (a domain's ``settings:``) < environment.

    Raises:
        InputError: a value does not fit; names the environment variable, or the setting in ``domain.yaml``.
    """
    try:
        environment = Settings().model_dump(exclude_unset=True)
    except ValidationError as error:
        raise _refused(error, "KICKWHEEL_{}", "__", str.upper) from error
    except SettingsError as error:
        raise InputError(f"{error}: lists and objects are JSON", field="environment") from error
    try:
        settings = Settings.model_validate(_merge(dict(overrides or {}), environment))
    except ValidationError as error:
        raise _refused(error, "settings.{}", ".", str) from error
    refuse_missing_teacher(settings.distillation)
    return settings


def refuse_missing_teacher(distillation: DistillationSettings) -> None:
    """Told before a lap begins, not after its night of training.

    Raises:
        InputError: the token-level term is on and has no teacher.
    """
    if distillation.token_kl > 0 and not distillation.token_teacher:
        raise InputError(
            f"empty, and distillation.token_kl is {distillation.token_kl:g}: name a causal model with the base's own tokens (a"
            " folder, package:NAME or hub id), or set distillation.token_kl to 0",
            field="distillation.token_teacher",
        )


def _refused(error: ValidationError, form: str, joint: str, spell: Callable[[str], str]) -> InputError:
    first = error.errors(include_input=False)[0]
    return InputError(first["msg"], field=form.format(joint.join(spell(str(part)) for part in first["loc"])))


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``base``, group by group."""
    merged = dict(base)
    for name, value in over.items():
        inner = merged.get(name)
        merged[name] = _merge(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return merged
