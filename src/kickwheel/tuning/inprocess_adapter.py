"""A student in this process: transformers and PEFT, for machines without a model server. Greedy, like the served one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.inference.frame_codec import STOP, decode_frame
from kickwheel.inference.ports import Message
from kickwheel.inference.served_student import MAX_TOKENS
from kickwheel.inference.student_prompt import as_openai, student_messages
from kickwheel.tuning.encoding import end_of_turn
from kickwheel.tuning.model_adapter import load_base, load_tokenizer, with_adapter
from schemas.frame import Prediction
from schemas.task import TaskCatalog

if TYPE_CHECKING:
    import torch


class InProcessStudent:
    """A :class:`~kickwheel.inference.ports.Student`: the base with an adapter, or without one (``adapter`` None).

    The model is loaded at the first prediction.
    """

    def __init__(
        self,
        base_path: Path,
        adapter: Path | None,
        catalog: TaskCatalog,
        name: str,
        *,
        messages_for: Callable[[str], tuple[Message, ...]] = student_messages,
        batch_size: int = 16,
        max_tokens: int = MAX_TOKENS,
    ):
        self._base_path = base_path
        self._adapter = adapter
        self._catalog = catalog
        self._name = name
        self._messages_for = messages_for
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._loaded: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """Name in reports."""
        return self._name

    def predict(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> list[Prediction]:
        """One prediction a text, in order; ``confidence`` is the geometric mean of the tokens' probabilities."""
        tokenizer, model = self._load()
        prompts = [
            tokenizer.apply_chat_template(as_openai(self._messages_for(text)), add_generation_prompt=True, tokenize=False)
            for text in texts
        ]
        by_length = sorted(range(len(texts)), key=lambda index: len(prompts[index]))
        found: dict[int, Prediction] = {}
        for start in range(0, len(by_length), self._batch_size):
            batch = by_length[start : start + self._batch_size]
            answers = self._generate(tokenizer, model, [prompts[index] for index in batch])
            for index, (reply, finish_reason, confidence) in zip(batch, answers, strict=True):
                prediction = decode_frame(texts[index], reply, self._catalog, finish_reason=finish_reason)
                found[index] = prediction.model_copy(update={"confidence": confidence})
            if progress is not None:
                progress(len(found), len(texts))
        return [found[index] for index in range(len(texts))]

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            tokenizer = load_tokenizer(self._base_path)
            tokenizer.padding_side = "left"
            model = load_base(self._base_path, tokenizer)
            if self._adapter is not None:
                model = with_adapter(model, self._adapter, trainable=False)
            self._loaded = tokenizer, model.eval()
        return self._loaded

    def _generate(self, tokenizer: Any, model: Any, prompts: Sequence[str]) -> list[tuple[str, str, float]]:
        """Reply, finish reason and confidence of each prompt."""
        import torch

        end = end_of_turn(tokenizer)
        ends = {end, *([] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id])}
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token_id = end
        encoded = tokenizer(list(prompts), return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
        with torch.inference_mode():
            output = model.generate(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                max_new_tokens=self._max_tokens,
                do_sample=False,
                eos_token_id=sorted(ends),
                pad_token_id=tokenizer.pad_token_id,
                return_dict_in_generate=True,
                output_logits=True,
            )
            chosen = output.sequences[:, encoded["input_ids"].shape[1] :]
            logprobs = torch.stack([_logprob_of(step, chosen[:, at]) for at, step in enumerate(output.logits)], dim=1)
        return [_reply(tokenizer, ids, scores, ends) for ids, scores in zip(chosen.tolist(), logprobs.tolist(), strict=True)]


def _logprob_of(logits: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (rows,) of one token a row under logits (rows, vocabulary)."""
    return logits.float().log_softmax(dim=-1).gather(1, token[:, None]).squeeze(1)


def _reply(tokenizer: Any, ids: list[int], logprobs: list[float], ends: set[int]) -> tuple[str, str, float]:
    stop = next((at for at, token in enumerate(ids) if token in ends), None)
    length = len(ids) if stop is None else stop + 1
    whole = tokenizer.decode(ids[:stop], skip_special_tokens=True)
    text = whole.partition(STOP[0])[0]
    ended = stop is not None or text != whole
    return text, "stop" if ended else "length", math.exp(sum(logprobs[:length]) / length)
