"""The likeliest of a closed set of completions: constrained decoding without a decoder.

All candidates of a prompt are scored in one pass over their prefix tree (:mod:`kickwheel.tuning.packing`): the prompt once, and
what candidates share once. The answer is always one of them, so that there is nothing to parse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.tuning.encoding import TokenSequence
from kickwheel.tuning.packed_batch_adapter import attention_mask
from kickwheel.tuning.packing import Pack, lay_out, shared_prefix


def shortest_distinct(completions: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Each completion up to the token that tells it from all others: what follows is given, and need not be scored."""
    ends = []
    for k, one in enumerate(completions):
        longest = max((shared_prefix(one, other) for j, other in enumerate(completions) if j != k), default=0)
        ends.append(tuple(one[: longest + 1]))
    return ends


class CompletionRanker:
    """Scores the same completions after any prompt."""

    def __init__(self, model: Any, completions: Sequence[Sequence[int]], *, batch_size: int = 64) -> None:
        self._model = model
        self._batch_size = batch_size
        # The tree below a prompt, laid out after a prompt of one token.
        self._tree: Pack = lay_out([TokenSequence((-1,), tuple(ids)) for ids in completions], range(len(completions)))

    def scores(
        self, prompts: Sequence[Sequence[int]], progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float64]:
        """(prompts, completions): sums of the tokens' log-probabilities."""
        import torch

        table = np.zeros((len(prompts), len(self._tree.members)))
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        body = self._model.get_base_model() if hasattr(self._model, "get_base_model") else self._model
        with torch.inference_mode():
            for start in range(0, len(order), self._batch_size):
                chosen = order[start : start + self._batch_size]
                table[chosen] = self._batch(body, [prompts[i] for i in chosen])
                if progress is not None:
                    progress(start + len(chosen), len(order))
        return table

    def _batch(self, body: Any, prompts: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        import torch

        tree, device = self._tree, body.device
        below, depth, ends = (torch.from_numpy(part[1:]) for part in (tree.tokens, tree.positions, tree.ends))
        width = max(map(len, prompts)) + len(below)
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        positions = torch.zeros_like(ids)
        last = torch.arange(1, width + 1).expand(len(prompts), -1).clone()
        for row, prompt in enumerate(prompts):
            first, end = len(prompt), len(prompt) + len(below)
            ids[row, :end] = torch.cat([torch.tensor(prompt), below])
            positions[row, :end] = torch.cat([torch.arange(first), depth + first - 1])
            last[row, :end] = torch.cat([torch.full((first,), end), ends + first - 1])
        used = sorted({int(place) for places in tree.before for place in places})
        column = {place: k for k, place in enumerate(used)}
        output = body.model(
            input_ids=ids.to(device),
            position_ids=positions.to(device),
            attention_mask=attention_mask(last.to(device), body.dtype),
            use_cache=False,
        )
        shift = torch.tensor([len(prompt) - 1 for prompt in prompts])[:, None] + torch.tensor(used)[None]
        states = output.last_hidden_state.gather(
            1, shift.to(device)[..., None].expand(-1, -1, output.last_hidden_state.shape[-1])
        )
        scores = torch.zeros(len(prompts), len(tree.members), dtype=torch.float64, device=device)
        logs = body.lm_head(states).float().log_softmax(dim=-1)
        for member, places, labels in zip(tree.members, tree.before, tree.labels, strict=True):
            where = torch.tensor([column[int(place)] for place in places], device=device)
            scores[:, member] = logs[:, where, torch.from_numpy(labels).to(device)].double().sum(dim=1)
        table: NDArray[np.float64] = scores.cpu().numpy()
        return table
