"""Rows as token ids: the prompt just as the server's chat endpoint will make it, then what the student must write.

The prompt carries no loss. The completion ends with the token that ends a turn in the model's own chat template, so that the
student learns to stop. The vocabulary stays as it is: new tokens would resize the embedding, and vLLM cannot serve that
(vllm-project/vllm 4186).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kickwheel.errors import StageFailed
from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.student_prompt import as_openai, student_messages
from schemas.frame import Frame
from schemas.utterance import Utterance

MAX_TOKENS = 1024
"""Longest sequence trained on: one pasted log must not take the memory, or a tenth of the budget."""

_MARK = "KICKWHEEL"


@dataclass(frozen=True)
class TokenSequence:
    """One training text. Loss is on ``completion`` only."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Length in tokens."""
        return len(self.prompt) + len(self.completion)


@dataclass(frozen=True)
class Example:
    """One item of a batch: a labelled row (one sequence), or a case with one sequence a candidate frame.

    ``target`` is the probability that each candidate is to have; ``weight`` that of the hard label.
    """

    sequences: tuple[TokenSequence, ...]
    target: tuple[float, ...] = (1.0,)
    weight: float = 1.0

    @property
    def tokens(self) -> int:
        """Tokens that one pass over the example costs."""
        return sum(sequence.tokens for sequence in self.sequences)


class FrameEncoder:
    """Encodes texts and frames for one tokenizer (transformers', with a chat template)."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self.end_of_turn = end_of_turn(tokenizer)

    def prompt(self, text: str) -> tuple[int, ...]:
        """The chat prompt up to where the student begins to write."""
        encoded = self._tokenizer.apply_chat_template(
            as_openai(student_messages(text)), add_generation_prompt=True, tokenize=True, return_dict=True
        )
        return tuple(encoded["input_ids"])

    def completion(self, frame: Frame) -> tuple[int, ...]:
        """The written frame and the end of the turn."""
        return (*self._tokenizer(encode_frame(frame), add_special_tokens=False)["input_ids"], self.end_of_turn)

    def sequence(self, text: str, frame: Frame) -> TokenSequence:
        """Prompt and completion of one text with one frame."""
        return TokenSequence(self.prompt(text), self.completion(frame))

    def labelled(self, row: Utterance) -> Example:
        """A labelled row.

        Raises:
            StageFailed: it has no label.
        """
        if row.frame is None:
            raise StageFailed(f"row {row.id!r} has no label: only labelled rows can be trained on")
        return Example((self.sequence(row.text, row.frame),))


def end_of_turn(tokenizer: Any) -> int:
    """Id of the token that ends the assistant's turn: what the template itself writes there, else the tokenizer's EOS.

    The EOS alone will not do: converted tokenizers often name another one.

    Raises:
        StageFailed: neither is there.
    """
    turn = [{"role": "user", "content": "."}, {"role": "assistant", "content": _MARK}]
    rendered = str(tokenizer.apply_chat_template(turn, tokenize=False))
    after = tokenizer(rendered[rendered.rindex(_MARK) + len(_MARK) :], add_special_tokens=False)["input_ids"]
    added = tokenizer.added_tokens_decoder
    if after and after[0] in added and added[after[0]].special:
        return int(after[0])
    if tokenizer.eos_token_id is None:
        raise StageFailed("the base model's chat template ends a turn with no special token, and its tokenizer names no EOS")
    return int(tokenizer.eos_token_id)


def short_enough(examples: Sequence[Example], limit: int = MAX_TOKENS) -> tuple[list[Example], int]:
    """Examples whose sequences all have at most ``limit`` tokens, and how many were left out."""
    kept = [example for example in examples if max(sequence.tokens for sequence in example.sequences) <= limit]
    return kept, len(examples) - len(kept)
