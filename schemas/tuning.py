"""Stage 3, tuning: a LoRA adapter and what it gained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, FolderRef, Rate, Sha256
from schemas.quality import Evaluation, PairedTest


class LoraPlan(Contract):
    """LoRA and optimiser settings of one training. Defaults are the white paper's (F11) where it names one."""

    r: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    target_modules: tuple[str, ...] = ("q_proj", "v_proj")
    learning_rate: float = Field(default=2e-3, gt=0)
    batch_size: int = Field(default=16, ge=1)
    max_tokens: int = Field(default=45_000, ge=1, description="Trained tokens: non-padding tokens through forward and backward")
    seed: int = 0


class AdapterArtifact(Contract):
    """A LoRA adapter in safetensors, complete and hashed."""

    schema_version: Literal["1"] = "1"
    name: str = Field(description="Served name, e.g. dataops-lap-0001-tuned")
    folder: FolderRef
    base_model: str = Field(description="Hub id, folder or package that the adapter belongs to")
    base_path: str = Field(description="Folder of the base checkpoint on this machine")
    base_licence: str = "unknown"
    train_sha256: Sha256 = Field(description="Hash of the rows it was trained on")
    plan: LoraPlan
    parent: str | None = Field(default=None, description="Name of the adapter it started from")


class LossPoint(Contract):
    """One logged step."""

    step: int
    tokens: int = Field(description="Trained tokens so far")
    loss: float


class TuningReport(Contract):
    """What the tuning stage hands on."""

    schema_version: Literal["1"] = "1"
    adapter: AdapterArtifact
    losses: tuple[LossPoint, ...]
    trained_tokens: int
    tokens_per_second: float
    evaluations: tuple[Evaluation, ...] = Field(description="On eval: tuned, probe, base_zero_shot; reporting only")
    against_probe: PairedTest
    against_base: PairedTest
    promotion: str = Field(description="What became of the adapter: 'champion' or the reason why not")

    def evaluation(self, student: str) -> Evaluation:
        """The evaluation of one student."""
        return next(item for item in self.evaluations if item.student == student)

    def verdict(self) -> str:
        """How the tuned student stands against the probe, said plainly."""
        tuned = self.evaluation("tuned").overall.joint_frame_accuracy
        probe = self.evaluation("probe").overall.joint_frame_accuracy
        word = "beats" if tuned > probe else "equals" if tuned == probe else "LOSES TO"
        return (
            f"the tuned student {word} the linear probe on joint frame accuracy: {100 * tuned:.1f} % against "
            f"{100 * probe:.1f} % (exact McNemar p = {self.against_probe.p_value:.2g})"
        )


class GateVerdict(Contract):
    """Whether a challenger may replace the champion, decided on valid only."""

    decision: Literal["promote", "hold", "reject"]
    reasons: tuple[str, ...]
    champion: Evaluation | None = None
    challenger: Evaluation
    paired: PairedTest | None = None
    min_gain: Rate = 0.0
