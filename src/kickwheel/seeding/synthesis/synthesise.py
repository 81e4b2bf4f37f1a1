"""Synthesis of a lap, at two moments: before the first round for intents without a row, after the last for what is thin.

Each moment's rows are written down as a whole; a run that is killed before asks again, and the log of calls answers what was
answered. Rows are few by design: ``seeding.synthetic_share`` caps their part of the labelled rows, save where an intent has
nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kickwheel.errors import BudgetSpent, KickwheelError, StageFailed
from kickwheel.inference.frame_codec import decode_frame
from kickwheel.inference.ports import ChatClient
from kickwheel.inference.remembering_client import RememberingClient
from kickwheel.probe import Probe
from kickwheel.seeding.coverage import WHOLE_INTENT
from kickwheel.seeding.gate import Gated
from kickwheel.seeding.rounds import SeedingInputs, fit_probe, labelled_after, teacher_prompt
from kickwheel.seeding.synthesis.checking import DraftCheck, IntentOf, Labellers
from kickwheel.seeding.synthesis.orders import boundary_orders, cold_orders, thin_orders
from kickwheel.seeding.synthesis.ports import Writer
from kickwheel.seeding.synthesis.synthetic_rows import SyntheticRows, read_synthetic, write_synthetic
from kickwheel.seeding.synthesis.teacher_writer import TeacherWriter
from kickwheel.seeding.synthesis.template_writer import TemplateWriter
from schemas.synthesis import SynthesisOrder, SynthesisReport
from schemas.utterance import Utterance

Moment = Literal["start", "end"]
CALLS = "synthesis_calls.jsonl"


def synthesise(gate: Gated, moment: Moment, teacher: ChatClient | None) -> SyntheticRows:
    """Write the rows of a moment, or read them if they are written.

    Args:
        teacher: writes wordings and reads them back; None: templates alone.

    Raises:
        StageInputMissing: "end" before all rounds are done.
        StageFailed: there is neither a labelled row nor anything that could be written.
    """
    inputs = gate.inputs
    if (done := read_synthetic(inputs.folder, moment)) is not None:
        return done
    labelled = labelled_after(inputs, inputs.settings.rounds if moment == "end" else 0)
    probe = fit_probe(inputs, labelled) if labelled else None
    orders = _orders(inputs, moment, labelled, probe)
    client = RememberingClient(teacher, inputs.label_log.with_name(CALLS)) if teacher else None
    result = _filled(gate, orders, labelled, probe, client, 0 if moment == "start" else inputs.settings.rounds)
    if not labelled and not result.rows:
        raise StageFailed(
            "there is no labelled row, and nothing could be written for the tasks: label some rows in seeds.jsonl, give the "
            "requirement documents phrasings, or set a teacher (KICKWHEEL_TEACHER__BASE_URL)"
        )
    write_synthetic(inputs.folder, moment, result)
    return result


def _orders(inputs: SeedingInputs, moment: Moment, labelled: Sequence[Utterance], probe: Probe | None) -> list[SynthesisOrder]:
    settings = inputs.settings
    if settings.synthesis == "off":
        return []
    languages = sorted({row.language for row in (*inputs.pool, *inputs.seeds)}) or ["en"]
    if moment == "start":
        return cold_orders(labelled, inputs.catalog, languages, settings.synthetic_rows)
    if settings.synthesis == "cold":
        return []
    orders = thin_orders(labelled, inputs.catalog, languages, settings.synthetic_rows)
    if probe is not None:
        orders += boundary_orders(labelled, probe, inputs.pool, languages, settings.synthetic_rows)
    return orders


@dataclass
class _Room:
    """Rows that may still be kept under the cap; orders for intents without rows don't count."""

    left: int

    def takes(self, order: SynthesisOrder) -> bool:
        return order.reason == "no_rows" or self.left > 0

    def keep(self, order: SynthesisOrder) -> None:
        self.left -= order.reason != "no_rows"


def _filled(
    gate: Gated,
    orders: Sequence[SynthesisOrder],
    labelled: Sequence[Utterance],
    probe: Probe | None,
    client: ChatClient | None,
    round_number: int,
) -> SyntheticRows:
    inputs = gate.inputs
    writers: list[Writer] = [TemplateWriter(inputs.catalog, labelled, seed=inputs.seed)]
    if client is not None:
        writers.append(TeacherWriter(client, inputs.catalog, labelled, seed=inputs.seed))
    labellers = _labellers(inputs, labelled, probe, client)
    check = DraftCheck(inputs.catalog, labelled, gate.held_out, labellers, inputs.settings)
    room = _Room(_cap(labelled, inputs.settings.synthetic_share))
    rows: list[Utterance] = []
    refused: Counter[str] = Counter()
    filled: list[SynthesisOrder] = []
    notes, written = [], 0
    for planned in orders:
        order = _left_of(planned, filled)
        if order is None:
            continue
        kept: list[Utterance] = []
        for writer in writers:
            if len(kept) >= order.wanted or not room.takes(order):
                break
            missing = order.model_copy(update={"wanted": order.wanted - len(kept)})
            try:
                for draft in writer.write(missing):
                    if len(kept) >= order.wanted or not room.takes(order):
                        break
                    written += 1
                    row = check.row(order, draft, round_number)
                    if isinstance(row, str):
                        refused[row] += 1
                    else:
                        kept.append(row)
                        room.keep(order)
            except BudgetSpent as error:
                notes.append(f"{writer.name} wrote no more: {error}")
                writers = [other for other in writers if other is not writer]
        rows += kept
        filled.append(order.model_copy(update={"kept": len(kept)}))
    report = SynthesisReport(
        writers=tuple(writer.name for writer in writers) if orders else (),
        orders=tuple(filled),
        written=written,
        kept=len(rows),
        refused=dict(sorted(refused.items())),
        unchecked=check.unchecked,
        share=_synthetic([*labelled, *rows]) / max(1, len(labelled) + len(rows)),
        notes=tuple(dict.fromkeys(notes)),
    )
    return SyntheticRows(report=report, rows=tuple(rows))


def _left_of(order: SynthesisOrder, filled: Sequence[SynthesisOrder]) -> SynthesisOrder | None:
    """What an order of an intent still wants when rows with its slots are there: they are rows of the intent, too."""
    if order.slot != WHOLE_INTENT or order.reason == "boundary":
        return order
    here = (done for done in filled if (done.intent, done.language) == (order.intent, order.language))
    left = order.wanted - sum(done.kept for done in here)
    return order.model_copy(update={"wanted": left}) if left > 0 else None


def _synthetic(rows: Sequence[Utterance]) -> int:
    return sum(bool(row.provenance and row.provenance.source == "synthetic") for row in rows)


def _cap(labelled: Sequence[Utterance], share: float) -> int:
    """Synthetic rows that may be added so that they stay within ``share`` of all rows."""
    synthetic = _synthetic(labelled)
    real = len(labelled) - synthetic
    return max(0, int(share / (1 - share) * real) - synthetic)


def _labellers(
    inputs: SeedingInputs, labelled: Sequence[Utterance], probe: Probe | None, client: ChatClient | None
) -> Labellers:
    def by_probe(text: str) -> str | None:
        frame = probe.predict([text])[0].frame if probe else None
        return frame.intent if frame else None

    reader = _reader(inputs, labelled, client) if client else None
    return Labellers(by_probe, frozenset(probe.classes) if probe else frozenset(), reader)


def _reader(inputs: SeedingInputs, labelled: Sequence[Utterance], client: ChatClient) -> IntentOf:
    """The teacher with the prompt by which it labels: it does not know what the text was written for."""
    prompt = teacher_prompt(inputs, labelled)

    def read(text: str) -> str | None:
        try:
            reply = client.complete(prompt.request(text))
        except BudgetSpent:
            raise
        except KickwheelError:
            return None
        frame = decode_frame(text, reply.text, inputs.catalog, finish_reason=reply.finish_reason).frame
        return frame.intent if frame else None

    return read
