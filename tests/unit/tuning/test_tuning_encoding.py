"""Rows as tokens: the server's prompt, the written frame, the end of the turn."""

from __future__ import annotations

import pytest

from kickwheel.errors import StageFailed
from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.student_prompt import as_openai, student_messages
from kickwheel.tuning.encoding import Example, FrameEncoder, TokenSequence, end_of_turn, short_enough
from schemas.frame import Frame
from schemas.utterance import Utterance, language_of
from tests.tiny_model import CHAT_TEMPLATE, byte_tokenizer

TEXTS = ("sync the orders of yesterday", "同步昨天的订单 🙂", "ｆｕｌｌ－ｗｉｄｔｈ １２３")


def row(text: str, intent: str = "sync_orders", **values: str) -> Utterance:
    frame = Frame.from_values(text, intent, values)
    return Utterance(id="r1", text=text, language=language_of(text), frame=frame)


@pytest.mark.parametrize("text", TEXTS)
def test_prompt_is_what_the_chat_endpoint_makes(text: str) -> None:
    tokenizer = byte_tokenizer()
    rendered = tokenizer.apply_chat_template(as_openai(student_messages(text)), add_generation_prompt=True, tokenize=False)
    assert list(FrameEncoder(tokenizer).prompt(text)) == tokenizer(rendered, add_special_tokens=False)["input_ids"]
    assert rendered.endswith("<|im_start|>assistant\n")


def test_completion_is_the_written_frame_and_the_end_of_the_turn() -> None:
    tokenizer = byte_tokenizer()
    labelled = row("同步昨天的订单 🙂", date="昨天")
    (sequence,) = FrameEncoder(tokenizer).labelled(labelled).sequences
    assert labelled.frame is not None
    assert tokenizer.decode(sequence.completion[:-1]) == encode_frame(labelled.frame)
    assert sequence.completion[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert sequence.tokens == len(sequence.prompt) + len(sequence.completion)


def test_end_of_turn_comes_from_the_template_where_the_tokenizer_names_another_eos() -> None:
    """As converted from GGUF: eos_token is <|im_start|>, and a student taught to write that would never stop."""
    tokenizer = byte_tokenizer(eos="<|im_start|>")
    assert end_of_turn(tokenizer) == tokenizer.convert_tokens_to_ids("<|im_end|>")


def test_end_of_turn_is_the_eos_where_the_template_writes_none() -> None:
    template = CHAT_TEMPLATE.replace("+ '<|im_end|>'", "")
    tokenizer = byte_tokenizer(template=template)
    assert end_of_turn(tokenizer) == tokenizer.eos_token_id


def test_model_that_cannot_end_a_turn_is_refused() -> None:
    with pytest.raises(StageFailed, match="no EOS"):
        end_of_turn(byte_tokenizer(eos=None, template=CHAT_TEMPLATE.replace("+ '<|im_end|>'", "")))


def test_encoding_adds_no_token_to_the_vocabulary() -> None:
    """vllm-project/vllm 4186: an adapter with a resized vocabulary cannot be served."""
    tokenizer = byte_tokenizer()
    before = len(tokenizer)
    FrameEncoder(tokenizer).labelled(row("sync it today", date="today"))
    assert len(tokenizer) == before


def test_row_without_label_is_refused_by_id() -> None:
    unlabelled = Utterance(id="pool-7", text="sync it", language="en")
    with pytest.raises(StageFailed, match="pool-7"):
        FrameEncoder(byte_tokenizer()).labelled(unlabelled)


def test_overlong_examples_are_left_out_and_counted() -> None:
    short, long = (Example((TokenSequence(tuple(range(n)), (1, 2)),)) for n in (8, 9))
    assert short_enough([short, long, short], limit=10) == ([short, short], 1)
