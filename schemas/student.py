"""The encoder student: how it is trained, and what its artifact says of itself."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, DataRef, FolderRef, Sha256, Slug
from schemas.quality import Evaluation, PairedTest
from schemas.task import TaskCatalog
from schemas.training import GuardEvent, GuardPlan, RobustPlan
from schemas.tuning import LoraPlan, LossPoint, Method

StudentKind = Literal["causal", "encoder"]
"""``causal`` writes the frame as JSON, ``encoder`` classifies the intent and tags the tokens."""


class EncoderStudentPlan(Contract):
    """Settings of an encoder's fine-tuning: a head for the intent, tags for the slots."""

    base: str = Field(
        default="package:all-minilm-l6-v2",
        description="Encoder: package:NAME, a folder, or a hub id. The packaged one is English; other languages then rest on "
        "the lexical features alone",
    )
    method: Method = Field(default="lora", description="lora, or full: every weight of the encoder")
    r: int = Field(default=8, ge=1, description="Rank of the LoRA matrices")
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1, description="Of the LoRA matrices and before the heads")
    target_modules: tuple[str, ...] = Field(default=(), description="Empty: query and value of its attention")
    lexical: bool = Field(default=True, description="Hashed character n-grams beside the encoder: any language, any spelling")
    epochs: float = Field(default=12.0, gt=0, description="Passes over the labelled rows")
    learning_rate: float = Field(default=5e-4, gt=0, description="Peak rate of the encoder's own matrices")
    head_rate: float = Field(default=10.0, gt=0, description="The heads learn this many times faster")
    batch_size: int = Field(default=16, ge=1)
    decay: Literal["linear", "cosine"] = Field(default="linear", description="Of the rate, to 0")
    decay_steps: int = Field(default=0, ge=0, description="Steps that the decay is made for; 0: those that there are")
    warmup_share: float = Field(default=0.1, ge=0, lt=1, description="Share of the steps on which the rate rises")
    weight_decay: float = Field(default=0.01, ge=0, description="AdamW's")
    slot_weight: float = Field(default=1.0, ge=0, description="Of the tags' loss beside the intent's")
    self_training: bool = Field(
        default=False, description="Learn from the unlabelled pool, too: what a probe on the same labels believes of it"
    )
    max_tokens: int = Field(default=64, ge=8, description="Word pieces of a text that are read")
    seed: int = 0


class EncoderRecord(Contract):
    """``student.json`` of an encoder's artifact: all that its weights need to answer."""

    schema_version: Literal["1"] = "1"
    kind: Literal["encoder"] = Field(default="encoder", description="Of student")
    plan: EncoderStudentPlan
    base_sha256: Sha256 = Field(description="Of the base encoder's model.safetensors")
    base_licence: str = "unknown"
    train_sha256: Sha256 = Field(description="Hash of the rows it was trained on")
    intents: tuple[Slug, ...] = Field(description="Columns of the intent head")
    tags: tuple[str, ...] = Field(description="Columns of the tag head: O, B-slot, I-slot")
    common_words: dict[str, int] = Field(default_factory=dict, description="Word -> how common it is, 0 to 5")
    catalog: TaskCatalog = Field(description="The frame schema: intents and their slots")


class Recipe(Contract):
    """Everything that a training was made of: who has it can train the same weights on the same machine."""

    schema_version: Literal["1"] = "1"
    domain: str = Field(description="Name of the domain")
    kind: StudentKind = Field(description="causal or encoder")
    causal: LoraPlan | None = Field(default=None, description="The plan of a causal student, nothing left open")
    encoder: EncoderStudentPlan | None = Field(default=None, description="The plan of an encoder student")
    robust: RobustPlan = Field(description="Arms of robust training")
    guard: GuardPlan = Field(description="The convergence guard, which can change the rate")
    base_model: str = Field(description="Hub id, folder or package of the base")
    base_sha256: Sha256 = Field(description="Of the base's weights and configuration")
    base_licence: str
    train: DataRef = Field(description="The labelled rows")
    valid: DataRef | None = Field(default=None, description="The rows that the guard watches")
    pool: DataRef | None = Field(default=None, description="Unlabelled texts that were read")
    catalog: TaskCatalog = Field(description="The frame schema")
    versions: dict[str, str] = Field(description="Of Kickwheel and the libraries that compute")
    threads: int = Field(ge=1, description="Of the processor: sums are rounded in another order with another number")

    @property
    def method(self) -> Method:
        """LoRA or full fine-tuning."""
        plan = self.causal or self.encoder
        return plan.method if plan else "lora"

    @property
    def arm(self) -> str:
        """Name among the arms of a comparison, e.g. ``encoder-lora``."""
        return f"{self.kind}-{self.method}"


class PlanPreview(Contract):
    """What a training would be, before anything is trained."""

    arm: str = Field(description="Kind and method, e.g. encoder-lora")
    rows: int = Field(ge=0, description="Labelled rows")
    rows_from: str = Field(description="Which labelled rows, in words")
    steps: int = Field(ge=0, description="Optimiser steps")
    causal: LoraPlan | None = Field(default=None, description="The plan of a causal student")
    encoder: EncoderStudentPlan | None = Field(default=None, description="The plan of an encoder student")
    reasons: tuple[str, ...] = Field(description="Why this plan")
    warnings: tuple[GuardEvent, ...] = Field(description="What the convergence guard has against it")


class StudentReport(Contract):
    """One student of a comparison: what it was made of, and what it can do."""

    schema_version: Literal["1"] = "1"
    name: str = Field(description="Name in the registry and in answers, e.g. dataops-lap-0001-encoder-lora")
    recipe: Recipe
    artifact: FolderRef = Field(description="Adapter or weights, with all that they need to be loaded")
    rows_from: str = Field(description="Which labelled rows, in words")
    reasons: tuple[str, ...] = Field(description="Why this plan")
    events: tuple[GuardEvent, ...] = Field(default=(), description="What the convergence guard saw")
    losses: tuple[LossPoint, ...]
    validation: tuple[tuple[int, float], ...] = Field(default=(), description="(step, loss on valid)")
    trained_tokens: int
    tokens_per_second: float
    evaluations: tuple[Evaluation, ...] = Field(description="On eval: the student and its baselines; reporting only")
    tests: dict[str, PairedTest] = Field(description="By baseline: wins are rows that only the student got right")
    promotion: str = Field(description="What became of it: 'champion' of its kind, or the reason why not")
    same_as_run: bool | None = Field(default=None, description="--from-run: whether the weights are those of that run")

    def evaluation(self, student: str) -> Evaluation:
        """The evaluation of one student."""
        return next(item for item in self.evaluations if item.student == student)
