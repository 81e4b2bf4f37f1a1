"""Several sequences as one row of tokens, without padding and with what they share only once.

Sequences are merged into a prefix tree and laid out depth first. The tokens below a token are then just those that follow it
up to ``end``: a token i may see token j where ``j <= i < end[j]``, which is each sequence's own causal attention. So a
row's loss is what it is alone (Krell et al. 2021, arXiv 2107.02027, without cross-contamination), and a prompt that many
sequences begin with (a system prompt, or one text with many candidate frames) is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kickwheel.errors import StageFailed
from kickwheel.tuning.encoding import TokenSequence

Ids = NDArray[np.int64]
ATTENDS_TO_ALL = frozenset({"llama", "qwen2", "qwen3", "mistral", "smollm3"})
"""Model types whose attention takes any mask and whose positions are rotary: the position is told, not counted."""


@dataclass(frozen=True, eq=False)
class Pack:
    """Sequences laid out as one row of L tokens.

    Args:
        tokens: (L,), each of a shared prefix once.
        positions: (L,), depth in the tree: the position that the token has in its own sequence.
        ends: (L,), one past the last token below.
        members: which sequences, in the order of ``before`` and ``labels``.
        before: for each member the places of the tokens that predict its completion.
        labels: for each member its completion.
    """

    tokens: Ids
    positions: Ids
    ends: Ids
    members: tuple[int, ...]
    before: tuple[Ids, ...]
    labels: tuple[Ids, ...]


def lay_out(sequences: Sequence[TokenSequence], members: Sequence[int]) -> Pack:
    """The tree of ``sequences[member]`` for each member.

    Raises:
        StageFailed: a sequence has no prompt, so that nothing predicts its first token.
    """
    whole = {member: (*sequences[member].prompt, *sequences[member].completion) for member in members}
    order = sorted(members, key=whole.__getitem__)
    tokens: list[int] = []
    positions: list[int] = []
    ends: list[int] = []
    path: list[int] = []  # places of the tokens of the sequence before, by depth
    last: tuple[int, ...] = ()
    before: list[Ids] = []
    for member in order:
        ids = whole[member]
        shared = shared_prefix(last, ids)
        for place in path[shared:]:
            ends[place] = len(tokens)
        new = len(ids) - shared
        path[shared:] = range(len(tokens), len(tokens) + new)
        tokens += ids[shared:]
        positions += range(shared, len(ids))
        ends += [0] * new
        last = ids
        first = len(sequences[member].prompt)
        if not first:
            raise StageFailed("a sequence without a prompt cannot be trained on: nothing predicts its first token")
        before.append(np.array(path[first - 1 : -1]))
    for place in path:
        ends[place] = len(tokens)
    return Pack(
        np.array(tokens),
        np.array(positions),
        np.array(ends),
        tuple(order),
        tuple(before),
        tuple(np.array(sequences[member].completion) for member in order),
    )


def shared_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens both begin with."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def first_fit(sizes: Sequence[int], capacity: int) -> list[list[int]]:
    """Indices by bin: the largest first, each into the first bin with room, sums at most ``capacity`` (Johnson 1973: at most
    11/9 of the fewest bins and 6/9 more). What is larger than a bin has one of its own."""
    bins: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        size = sizes[index]
        for k, left in enumerate(room):
            if size <= left:
                bins[k].append(index)
                room[k] -= size
                break
        else:
            bins.append([index])
            room.append(capacity - size)
    return bins


def packing_fault(config: object) -> str | None:
    """Why sequences of a model of this configuration (transformers') must not share a row; None: they may.

    A window, a recurrent layer or learnt positions would let neighbours in a row change one another.
    """
    kind = getattr(config, "model_type", None)
    if kind not in ATTENDS_TO_ALL:
        return f"packing was not tried with models of type {kind!r}"
    layers = set(getattr(config, "layer_types", None) or ()) - {"full_attention"}
    if layers:
        return f"some layers are no full attention: {', '.join(sorted(layers))}"
    if kind == "mistral" and getattr(config, "sliding_window", None):
        return "attention is within a window"
    return None
