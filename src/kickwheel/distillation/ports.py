"""What the stage needs of whoever trains the challenger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from kickwheel.settings import DistillationSettings
from kickwheel.tuning.ports import Progress, TrainedAdapter
from schemas.feedback import DistillationRow, TokenTeacher
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance


class Distiller(Protocol):
    """Goes on training the champion's adapter, towards the targets of a distillation batch."""

    def distil(
        self,
        rows: Sequence[DistillationRow],
        replay: Sequence[Utterance],
        plan: LoraPlan,
        settings: DistillationSettings,
        *,
        base_path: Path,
        parent: Path,
        out: Path,
        progress: Progress | None = None,
        token_teacher: TokenTeacher | None = None,
    ) -> TrainedAdapter:
        """Train on ``rows`` with old labelled rows (``replay``) mixed in, and write the adapter to ``out``.

        ``plan`` is the plan of this training: see :func:`~kickwheel.distillation.mixing.distillation_plan`. Taken up again
        after a kill, like :class:`~kickwheel.tuning.ports.LoraTrainer`. ``token_teacher`` is asked for each completion token's
        distribution where ``settings.token_kl`` is above 0, and left alone otherwise.

        Raises:
            InputError: ``token_kl`` is above 0 and there is no teacher, or its tokens are not the base's.
            StageFailed: nothing to distil, a budget below one batch, a champion that does not fit the plan.
        """
        ...
