"""Packing: what shares a row must not be seen in the loss."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kickwheel.errors import StageFailed
from kickwheel.tuning.acceleration import COMPILE_FROM, choose_acceleration
from kickwheel.tuning.accelerator_adapter import batch_maker
from kickwheel.tuning.batch_adapter import completion_logprobs
from kickwheel.tuning.encoding import Example, FrameEncoder, TokenSequence
from kickwheel.tuning.loop_adapter import PADDED
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_new_lora
from kickwheel.tuning.packed_batch_adapter import fixed_shape, pack_examples, packed_batch, packed_steps
from kickwheel.tuning.packing import first_fit, lay_out, packing_fault
from kickwheel.tuning.ranking_adapter import CompletionRanker, shortest_distinct
from kickwheel.tuning.soft_labels_adapter import soft_cross_entropy
from kickwheel.tuning.trainer_adapter import token_cross_entropy
from tests.unit.tuning.lora_run import PLAN, rows


def visible(pack: Any, place: int) -> list[int]:
    """Tokens that the token at a place sees."""
    return [int(pack.tokens[j]) for j in range(place + 1) if place < pack.ends[j]]


def test_every_token_sees_its_own_sequence_and_nothing_else() -> None:
    sequences = [
        TokenSequence((1, 2, 3), (4, 5)),
        TokenSequence((1, 2, 3), (4, 6)),
        TokenSequence((1, 2), (9,)),
        TokenSequence((7, 2), (4, 5)),
    ]
    pack = lay_out(sequences, range(4))
    assert len(pack.tokens) == 11  # of 16: two prompts and a 4 are shared
    for member, before, labels in zip(pack.members, pack.before, pack.labels, strict=True):
        whole = [*sequences[member].prompt, *sequences[member].completion]
        assert tuple(labels) == sequences[member].completion
        for k, place in enumerate(before):
            assert visible(pack, place) == whole[: len(sequences[member].prompt) + k]
            assert pack.positions[place] == len(sequences[member].prompt) + k - 1


def test_a_sequence_without_a_prompt_is_refused() -> None:
    with pytest.raises(StageFailed, match="without a prompt"):
        lay_out([TokenSequence((), (1, 2))], [0])


def test_first_fit_keeps_to_the_capacity_and_loses_nothing() -> None:
    sizes = [70, 30, 50, 50, 20, 10, 40, 130]
    bins = first_fit(sizes, 100)
    assert sorted(index for chosen in bins for index in chosen) == list(range(len(sizes)))
    assert all(len(chosen) == 1 or sum(sizes[index] for index in chosen) <= 100 for chosen in bins)
    assert len(bins) == 4  # the oversized one, and 270 in three


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({"model_type": "llama"}, None),
        ({"model_type": "qwen2", "layer_types": ["full_attention"], "sliding_window": 4096}, None),
        ({"model_type": "qwen2", "layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"model_type": "mistral", "sliding_window": 4096}, "window"),
        ({"model_type": "mamba"}, "not tried"),
    ],
)
def test_packing_is_kept_from_models_whose_rows_would_meet(config: dict[str, Any], fault: str | None) -> None:
    said = packing_fault(SimpleNamespace(**config))
    assert said is None if fault is None else fault in (said or "")


def test_acceleration_follows_device_and_size() -> None:
    on_cpu = choose_acceleration("cpu", fault=None, tokens=10**9)
    assert (on_cpu.packed, on_cpu.compiled) == (False, False)
    small = choose_acceleration("cuda", fault=None, tokens=COMPILE_FROM - 1)
    assert (small.packed, small.compiled) == (False, False)  # packed and not compiled is slower than padded there
    assert choose_acceleration("cuda", fault=None, tokens=COMPILE_FROM).compiled is True
    assert choose_acceleration("cuda", fault="a window", tokens=COMPILE_FROM).packed is False
    assert choose_acceleration("cuda", fault=None, tokens=COMPILE_FROM, processes=2).packed is False


def some_examples(encoder: FrameEncoder) -> list[Example]:
    """Rows, one of them with two candidate frames and a weight."""
    made = [encoder.labelled(row) for row in rows(5)]
    other = encoder.sequence(rows(3)[2].text, rows(2)[1].frame)  # type: ignore[arg-type]
    made[2] = Example((made[2].sequences[0], other), target=(0.7, 0.3), weight=0.5)
    return made


@pytest.mark.parametrize("width", [None, 200, 512])
def test_packed_and_padded_rows_have_the_same_loss_and_gradients(tiny_base: Path, width: int | None) -> None:
    import torch

    tokenizer = load_tokenizer(tiny_base)
    torch.manual_seed(1)
    plan = PLAN.model_copy(update={"dropout": 0.0, "target_modules": ("q_proj", "v_proj", "down_proj")})
    model = with_new_lora(load_base(tiny_base, tokenizer).float(), plan)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zero at first, and then A would have no gradient
            torch.nn.init.normal_(parameter, std=0.1)
    examples = some_examples(FrameEncoder(tokenizer))
    padded = batch_maker(examples, [range(5)], PADDED, 0)(0)
    packs = pack_examples(examples, width)
    packed = packed_batch(examples, packs, 0, None if width is None else fixed_shape([packs]))
    assert sum(len(pack.tokens) for pack in packs) < sum(example.tokens for example in examples)
    found = []
    for batch in (padded, packed):
        model.zero_grad()
        logprobs, mask = completion_logprobs(model, batch)
        loss = soft_cross_entropy(model, batch) + token_cross_entropy(model, batch)
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        found.append((logprobs.sum(dim=1), mask.sum(dim=1), loss, gradients))
    for one, other in zip(found[0][:3], found[1][:3], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert found[0][3].keys() == found[1][3].keys() != set()
    for name, gradient in found[0][3].items():
        torch.testing.assert_close(gradient, found[1][3][name], rtol=1e-3, atol=1e-5)


def test_steps_have_one_shape(tiny_base: Path) -> None:
    examples = some_examples(FrameEncoder(load_tokenizer(tiny_base)))
    batches = [[0, 1, 2], [3, 4], [2]]
    steps, shape = packed_steps(examples, batches)
    made = [packed_batch([examples[i] for i in batch], step, 0, shape) for batch, step in zip(batches, steps, strict=True)]
    assert {tuple(batch["input_ids"].shape) for batch in made} == {(shape.rows, shape.width)}
    assert {tuple(batch["keep"].shape) for batch in made} == {(shape.predicted,)}


def test_ranker_gives_the_log_probability_of_each_completion(tiny_base: Path) -> None:
    import torch

    tokenizer = load_tokenizer(tiny_base)
    model = load_base(tiny_base, tokenizer).float().eval()
    completions = [(40, 41, 42), (40, 41, 43, 44), (50,)]
    prompts = [(5, 6, 7), (8, 9), (5, 6, 7, 8, 9)]
    table = CompletionRanker(model, completions, batch_size=2).scores(prompts)
    for i, prompt in enumerate(prompts):
        for j, completion in enumerate(completions):
            with torch.no_grad():
                logs = model(input_ids=torch.tensor([[*prompt, *completion]])).logits.float().log_softmax(-1)[0]
            want = sum(logs[len(prompt) - 1 + k, token].item() for k, token in enumerate(completion))
            assert table[i, j] == pytest.approx(want, abs=1e-3)


def test_completions_are_told_apart_by_their_shortest_beginnings() -> None:
    assert shortest_distinct([(1, 2, 3, 9, 9), (1, 2, 4, 9), (5, 9)]) == [(1, 2, 3), (1, 2, 4), (5,)]
