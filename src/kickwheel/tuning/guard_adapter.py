"""The convergence guard inside a training loop: looks, cuts rates, and keeps the weights of the lowest validation loss."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kickwheel.tuning.convergence import ConvergenceGuard, Verdict, check_steps
from kickwheel.workspace import write_atomically
from schemas.training import GuardEvent, GuardPlan

if TYPE_CHECKING:
    import torch

_STATE, _BEST = "guard.json", "guard-best.safetensors"
Named = Iterable[tuple[str, "torch.Tensor"]]


class GuardHook:
    """Called by a loop after each optimiser step and at each checkpoint.

    Args:
        validate: the validation loss of the model as it is now; None: it is not looked at.
        work: folder of the loop's checkpoints; the best weights lie there too.
        keeps_best: whether weights of the lowest validation loss are kept; not for a whole model, which is too large.
        every: steps between two looks at a gradient; on a GPU each waits for the device.
    """

    def __init__(
        self,
        plan: GuardPlan,
        steps: int,
        validate: Callable[[], float] | None,
        work: Path,
        *,
        keeps_best: bool = True,
        every: int = 1,
    ) -> None:
        self._plan, self._steps, self._validate, self._work = plan, steps, validate, work
        self._at = check_steps(steps, plan.checks) if validate and plan.action != "off" else frozenset()
        self._keeps_best, self._every = keeps_best, every
        self._guard = ConvergenceGuard(plan)
        self.losses: list[tuple[int, float]] = []

    @property
    def events(self) -> tuple[GuardEvent, ...]:
        """What the guard saw so far."""
        return tuple(self._guard.events)

    @property
    def factor(self) -> float:
        """Share that is left of the planned learning rate."""
        return self._guard.factor

    def looks(self, step: int) -> bool:
        """Whether :meth:`after_step` wants to be called after this step."""
        return self._plan.action != "off" and (step % self._every == 0 or step in self._at)

    def after_step(self, step: int, gradient_norm: float, trained: Callable[[], Named]) -> Verdict:
        """``trained`` gives the trained weights by name, to keep or, at a stop, to be set back to the best ones."""
        verdict = self._guard.gradient(step, gradient_norm)
        if step in self._at and self._validate is not None and verdict != "stop":
            loss = self._validate()
            self.losses.append((step, loss))
            later = self._guard.validation(step, loss)
            verdict = later if later != "go" else verdict
            if self._keeps_best and self._guard.lowest == loss:
                self._keep(trained())
        if verdict == "stop":
            self._set_back(trained())
        return verdict

    def save(self, folder: Path) -> None:
        """The state beside a checkpoint."""
        write_atomically(folder / _STATE, json.dumps({"guard": self._guard.state, "losses": self.losses}))

    def load(self, folder: Path) -> None:
        """Take up the state of a checkpoint; one without a state starts anew."""
        path = folder / _STATE
        if path.is_file():
            state = json.loads(path.read_text(encoding="utf-8"))
            self._guard = ConvergenceGuard(self._plan, state["guard"])
            self.losses = [(int(step), float(loss)) for step, loss in state["losses"]]

    def _keep(self, trained: Named) -> None:
        from safetensors.torch import save_file

        self._work.mkdir(parents=True, exist_ok=True)
        partial = self._work / f".{_BEST}"
        save_file({name: tensor.detach().cpu().contiguous().clone() for name, tensor in trained}, partial)
        partial.replace(self._work / _BEST)

    def _set_back(self, trained: Named) -> None:
        import torch
        from safetensors.torch import load_file

        path = self._work / _BEST
        if not path.is_file():
            return
        best = load_file(path)
        with torch.no_grad():
            for name, tensor in trained:
                tensor.copy_(best[name])


def forget_best(work: Path) -> None:
    """A training that starts from the beginning must not fall back on another one's weights."""
    if work.is_dir() and not any(work.glob("checkpoint-*")):
        shutil.rmtree(work)
