"""What makes a training fast, chosen from the device, the model and the size of the training."""

from __future__ import annotations

from dataclasses import dataclass

COMPILE_FROM = 600_000
"""Trained tokens from which compiling pays on a GPU: it takes some 30 s more, and without it packed steps of 64 rows run at
8,600 tokens a second, padded ones at 14,000 (H200, docs/benchmarks.md)."""


@dataclass(frozen=True)
class Acceleration:
    """How a training is run. None of it changes what is learnt, but for rounding.

    Args:
        packed: rows share a line of tokens, without padding (:mod:`kickwheel.tuning.packing`).
        fixed: every batch has the same shape, so that nothing is compiled or allocated twice; costs some padding.
        compiled: the model's layers are compiled; needs ``fixed``.
        autocast: matrix products of the adapter in bf16, its weights in float32.
        loss_every: steps between two looks at the loss: each look makes a GPU wait for its processor.
        reasons: one line a choice.
    """

    packed: bool = True
    fixed: bool = False
    compiled: bool = False
    autocast: bool = False
    loss_every: int = 1
    reasons: tuple[str, ...] = ()


def choose_acceleration(device: str, *, fault: str | None, tokens: int, processes: int = 1) -> Acceleration:
    """The acceleration of a training of ``tokens`` on a device of this type (``cpu``, ``cuda``, ...).

    Args:
        fault: why rows must not be packed (:func:`~kickwheel.tuning.packing.packing_fault`), or None.
        processes: that train together, a GPU each.
    """
    on_gpu = device == "cuda"
    if fault is None and processes > 1:
        fault = "several processes train together"
    if fault is not None:
        return Acceleration(packed=False, autocast=on_gpu, loss_every=16 if on_gpu else 1, reasons=(f"no packing: {fault}",))
    if not on_gpu:
        # Batches of like length have hardly any padding to save, and packing gains a tenth at best (docs/benchmarks.md).
        return Acceleration(packed=False)
    if tokens < COMPILE_FROM:
        reason = f"neither packed nor compiled: {tokens:,} tokens, and compiling pays from {COMPILE_FROM:,}"
        return Acceleration(packed=False, loss_every=16, reasons=(reason,))
    reason = f"rows are packed and layers compiled, which pays from {COMPILE_FROM:,} tokens"
    return Acceleration(fixed=True, compiled=True, autocast=True, loss_every=16, reasons=(reason,))
