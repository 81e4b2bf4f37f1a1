"""Stage 5, distillation: behaviour in, signals, a gated adapter out."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Contract, DataRef, Rate, Sha256
from schemas.frame import Frame
from schemas.quality import Evaluation
from schemas.tuning import AdapterArtifact, GateVerdict, LossPoint

SignalSource = Literal["operator", "implicit", "ab_winner"]


class Behaviour(Contract):
    """What a user did after seeing an answer."""

    dwell_s: float = Field(ge=0, description="Seconds on the answer")
    scroll: Rate = Field(description="Share of the answer scrolled")
    bounced: bool = False
    back_and_return: int = Field(default=0, ge=0, description="Times that the user left and came back")
    corrected: bool = Field(default=False, description="The user edited the answer into what was wanted")
    abandoned: bool = False
    turns: int = Field(default=1, ge=1, description="Turns until the user was done")
    rephrased: bool = Field(default=False, description="The user said it again in other words")
    thumbs_up: bool | None = Field(default=None, description="The user's judgement; None: none was given")
    completed: bool | None = Field(default=None, description="The business saw the task done; None: not known")
    converted: bool | None = Field(default=None, description="The business event that counts took place; None: not known")


class FeedbackCase(Contract):
    """One utterance of bundled feedback: what the user wanted, and how such a user behaves either way."""

    id: str
    user: str
    text: str = Field(min_length=1)
    wanted: Frame
    when_right: Behaviour
    when_wrong: Behaviour
    operator_labels: bool = Field(default=False, description="An operator labels this one afterwards (T+1)")


class OperatorLabel(Contract):
    """What one operator says would have been right."""

    operator: str = Field(description="Who labelled")
    frame: Frame


class FeedbackEvent(Contract):
    """An answer that a model really gave, with all that came back about it: of live traffic, or of a case that is replayed."""

    case: str
    user: str
    text: str
    inference_id: str = Field(default="", description="The answer's id; empty: replayed")
    position: int = Field(default=1, ge=1, description="Place among the answers shown at once, from 1")
    arm: str
    propensity: Rate = Field(description="Probability with which this arm was assigned")
    model: str
    answer: Frame | None
    behaviour: Behaviour
    correction: Frame | None = Field(default=None, description="The frame that the user edited the answer into")
    operator_label: Frame | None = Field(default=None, description="The latest label of an operator")
    operator_labels: tuple[OperatorLabel, ...] = Field(
        default=(), description="Every operator's label, where it is known whose"
    )
    completed: bool = Field(description="The task was done as wanted, without a correction")
    sequence: int = Field(default=0, ge=0, description="Number of the last change that is counted in; 0: replayed")
    replayed: bool = True


class Exposure(Contract):
    """How an answer came to be seen: what evidence about it has to be weighed by."""

    arm: str
    propensity: Rate = Field(description="Probability with which this arm was assigned")
    position: int = Field(default=1, ge=1, description="Place among the answers shown at once, from 1")


class Signal(Contract):
    """Evidence for or against one candidate frame of one case, -1 (wrong) to 1 (right)."""

    case: str
    candidate: Frame
    source: SignalSource
    rule: str = Field(description="Name of the rule that fired, e.g. dwell")
    strength: float = Field(ge=-1, le=1)
    user: str = Field(default="", description="Whose behaviour or label it is; empty: not known")
    inference_id: str = Field(default="", description="The answer that it is about; empty: replayed")
    exposure: Exposure | None = Field(default=None, description="How the answer came to be seen; None: not known")
    evidence: str = Field(default="", description="What was seen, in words, e.g. 9.2 s on the answer")

    @property
    def direction(self) -> Literal["for", "against"]:
        """Whether it speaks for the candidate."""
        return "for" if self.strength > 0 else "against"


class CandidateTarget(Contract):
    """One candidate frame of a case with what it is to be distilled towards."""

    frame: Frame
    fused: float = Field(description="Fused signal, weighted sum over sources")
    teacher: Rate | None = Field(description="Teacher's normalised score; None: the teacher gave none")
    target: Rate = Field(description="Probability over the closed set")


class DistillationRow(Contract):
    """One utterance of a distillation batch: a closed set of candidates whose targets sum to 1."""

    case: str
    text: str
    candidates: tuple[CandidateTarget, ...] = Field(min_length=2)
    weight: float = Field(gt=0, description="Weight of the hard label, from the amount of evidence")


class BusinessMetrics(Contract):
    """What the business sees of one arm of the replay."""

    cases: int
    task_completion: Rate
    turns: float = Field(description="Mean turns until the user was done")
    correction_rate: Rate
    cost_per_1k_tasks: float = Field(description="Machine time and tokens at the settings' prices, per 1,000 completed tasks")


class TokenTeacher(Contract):
    """The causal teacher whose next-token distributions a student is distilled towards."""

    name: str = Field(description="As the settings name it: folder, package or hub id")
    path: str = Field(description="Its folder on this machine")
    sha256: Sha256 = Field(description="SHA-256 of configuration, tokenizer and weights: another teacher is another training")
    tokenizer_sha256: Sha256 = Field(description="SHA-256 of vocabulary, merges and added tokens; equal to the student's")
    weight: float = Field(gt=0, description="Weight of the token-level term in the loss")


class DistillationReport(Contract):
    """What the distillation stage hands on."""

    schema_version: Literal["1"] = "1"
    events: DataRef
    batch: DataRef
    signals_by_rule: dict[str, int]
    conflicts: int = Field(description="Cases whose sources disagree about the same candidate")
    business: dict[str, BusinessMetrics] = Field(description="By arm; replayed")
    replay_evaluation: Evaluation = Field(description="The champion's answers against what users wanted")
    ab_winner: str | None = Field(description="Arm that won, or None with the reason in ab_note")
    ab_note: str
    teacher_note: str
    token_teacher: TokenTeacher | None = Field(default=None, description="None: distilled over whole frames only")
    challenger: AdapterArtifact | None = Field(description="None: there was nothing to distil")
    trained_tokens: int = 0
    losses: tuple[LossPoint, ...] = ()
    gate: GateVerdict | None
    challenger_eval: Evaluation | None = Field(default=None, description="Challenger on eval, if promoted; reporting only")
    champion: str = Field(description="Served name of the champion after the gate")
