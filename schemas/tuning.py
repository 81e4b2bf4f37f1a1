"""Stage 3, tuning: a LoRA adapter and what it gained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, FolderRef, Rate, Sha256
from schemas.calibration import Calibration
from schemas.parity import ParityReport
from schemas.quality import CrossValidation, Evaluation, PairedTest
from schemas.trial import TrialVerdict

Method = Literal["lora", "full"]
"""LoRA matrices beside a frozen base, or every weight of it."""


class LoraPlan(Contract):
    """LoRA and optimiser settings of one training.

    Shape and dropout are the white paper's (F11). The rest was chosen on ``valid`` of the example (310 labelled rows, 45,000
    tokens, mean of three seeds; joint frame accuracy in brackets, its noise about 3 points):

    - ``batch_size`` 2: on so few tokens it is steps that are scarce (36 %; with the best rate tried, 4: 32 %, 8: 24 %,
      16: 15 %), and on a CPU small batches cost no speed.
    - ``learning_rate`` 4e-3: the peak; best at batch 2 (5.6e-3: 34 %). Larger batches want more, and still end below.
    - ``decay`` linear: cosine is no different (30 against 31 %, batch 4), no decay is a third as good (11 %).
    - ``warmup_share`` 6 %: two dozen steps, enough for a rate this high; not searched.
    - ``weight_decay`` 0: 0.1 changes nothing that can be seen (30 against 32 %, batch 4).
    """

    r: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    target_modules: tuple[str, ...] = ("q_proj", "v_proj")
    learning_rate: float = Field(default=4e-3, gt=0)
    batch_size: int = Field(default=2, ge=1)
    decay: Literal["linear", "cosine"] = Field(default="linear", description="To 0 at the last step that the budget allows")
    warmup_share: float = Field(default=0.06, ge=0, lt=1, description="Share of the steps on which the rate rises to its peak")
    weight_decay: float = Field(default=0.0, ge=0, description="AdamW's, on the LoRA matrices")
    max_tokens: int = Field(default=45_000, ge=1, description="Trained tokens: non-padding tokens through forward and backward")
    seed: int = 0
    method: Method = Field(default="lora", description="full: every weight of the base, for comparison; served merged")
    epochs: float = Field(default=0.0, ge=0, description="Passes that are enough; 0: as many as max_tokens allows")
    decay_steps: int = Field(default=0, ge=0, description="Steps that the decay is made for; 0: those that there are")


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
    evaluations: tuple[Evaluation, ...] = Field(
        description="On eval, reporting only: tuned, probe, base_zero_shot, base_few_shot, base_few_shot_json, champion"
    )
    against_probe: PairedTest
    against_base: PairedTest
    against_champion: PairedTest | None = Field(default=None, description="The champion of before; None: there was none")
    calibration: Calibration | None = Field(default=None, description="Fitted on valid; None: no confidence is known")
    parity: ParityReport | None = Field(default=None, description="None: results of before it was checked")
    cross_validation: tuple[CrossValidation, ...] = Field(default=(), description="Where there are few labelled rows")
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


class GateCheck(Contract):
    """One figure of champion and challenger beside quality, and the limit that the challenger must keep."""

    name: Literal["calibration", "latency", "memory"]
    champion: float = Field(description="The champion's figure")
    challenger: float = Field(description="The challenger's figure, smaller is better")
    limit: float = Field(description="Largest value that the challenger may have")
    unit: str = Field(description="What the figures are, with their unit")

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        return self.challenger <= self.limit

    def sentence(self) -> str:
        """The figures in words."""
        return (
            f"{self.name}: {self.unit}: challenger {self.challenger:.3g}, champion {self.champion:.3g}, limit {self.limit:.3g}"
        )


class GateVerdict(Contract):
    """Whether a challenger may replace the champion, decided on valid and on trials, never on eval."""

    decision: Literal["promote", "hold", "reject"]
    reasons: tuple[str, ...]
    champion: Evaluation | None = None
    challenger: Evaluation
    base: Evaluation | None = Field(default=None, description="The untuned base on valid; None: not asked")
    paired: PairedTest | None = None
    against_base: PairedTest | None = None
    one_sided_p: Rate | None = Field(
        default=None, description="Exact McNemar: as many rows won, were the challenger no better (than champion, else base)"
    )
    alpha: Rate = Field(default=0.05, description="What that had to be at most")
    checks: tuple[GateCheck, ...] = Field(default=(), description="Calibration, time and memory, as far as measured")
    trial: TrialVerdict | None = Field(default=None, description="A/B trial that was taken into account")
    min_gain: Rate = 0.0
