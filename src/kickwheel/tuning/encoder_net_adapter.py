"""The encoder student's network: an encoder, with or without LoRA, under a head for the intent and one for the tags.

Both heads add hashed lexical features to what the encoder says (wide and deep, Cheng et al. 2016, arXiv 1606.07792). A text is
encoded once; its slots are tagged given an intent, the gold one in training, the likeliest in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kickwheel.embedding.encoder_adapter import load_encoder, load_encoder_tokenizer
from kickwheel.embedding.ngrams import NgramEmbedder
from kickwheel.errors import StageFailed
from kickwheel.probe.tokens import Token, tokenize
from kickwheel.tuning.encoder_features import BUCKETS, Labels, hashed_features, pieces_of
from schemas.student import EncoderStudentPlan

if TYPE_CHECKING:
    import torch

_ATTENTION = (("query", "value"), ("q_proj", "v_proj"), ("q_lin", "v_lin"), ("q", "v"), ("Wqkv",))
"""What encoders call the query and value of their attention: BERT and XLM-R, DeBERTa-like, DistilBERT, MPNet, ModernBERT."""


@dataclass(frozen=True)
class ReadText:
    """A text as the network takes it.

    Args:
        pieces: word piece ids.
        places: of each token, the word pieces that it overlaps.
    """

    pieces: list[int]
    tokens: list[Token]
    places: list[list[int]]


class Reader:
    """Texts to word pieces and tokens."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self.tokenizer = load_encoder_tokenizer(folder)
        self._max_tokens = max_tokens
        self._ngrams = NgramEmbedder()

    def read(self, texts: Sequence[str]) -> list[ReadText]:
        """One a text, in order."""
        if not texts:
            return []
        found = self.tokenizer(list(texts), truncation=True, max_length=self._max_tokens, return_offsets_mapping=True)
        tokens = [tokenize(text) for text in texts]
        pairs = zip(found["input_ids"], found["offset_mapping"], tokens, strict=True)
        return [ReadText(list(ids), mine, pieces_of(mine, offsets)) for ids, offsets, mine in pairs]

    def ngrams(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, dimensions) lexical vectors of whole texts."""
        return self._ngrams.embed(texts)

    def padded(self, texts: Sequence[ReadText]) -> dict[str, torch.Tensor]:
        """``input_ids`` and ``attention_mask``, (texts, longest)."""
        batch = self.tokenizer.pad({"input_ids": [text.pieces for text in texts]}, return_tensors="pt")
        return {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}


@dataclass(frozen=True)
class Encoded:
    """What the encoder says of a batch: ``pooled`` (texts, width), each of length 1; ``tokens`` (all texts' tokens, width)."""

    pooled: torch.Tensor
    tokens: torch.Tensor


def build_net(base: Path, plan: EncoderStudentPlan, labels: Labels) -> Any:
    """A new network, its heads zero, LoRA drawn from torch's global generator.

    Raises:
        StageFailed: the encoder has no module of the plan's names.
    """
    return _net_class()(with_method(load_encoder(base), plan), plan, labels)


def _net_class() -> Any:
    import torch
    from torch import nn
    from torch.nn.functional import embedding_bag, normalize

    class FrameNet(nn.Module):
        """See the module's docstring. Parameters: ``encoder.*``, ``intent_*``, ``tag_*``."""

        def __init__(self, encoder: Any, plan: EncoderStudentPlan, labels: Labels) -> None:
            super().__init__()
            width, wide = encoder.config.hidden_size, NgramEmbedder().dimensions if plan.lexical else 0
            self.encoder, self.dropout, self.wide = encoder, nn.Dropout(plan.dropout), wide
            self.intent_deep = nn.Linear(width, len(labels.intents))
            self.tag_deep = nn.Linear(width, len(labels.tags))
            nn.init.zeros_(self.intent_deep.weight)
            nn.init.zeros_(self.intent_deep.bias)
            nn.init.zeros_(self.tag_deep.weight)
            nn.init.zeros_(self.tag_deep.bias)
            if wide:
                self.intent_wide = nn.Parameter(torch.zeros(wide, len(labels.intents)))
                self.tag_wide = nn.Parameter(torch.zeros(BUCKETS, len(labels.tags)))
            self.to(encoder.device)

        def encode(self, batch: Mapping[str, torch.Tensor], places: Sequence[Sequence[Sequence[int]]]) -> Encoded:
            device = self.intent_deep.weight.device
            ids, mask = batch["input_ids"].to(device), batch["attention_mask"].to(device)
            hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            weight = mask.unsqueeze(-1).to(hidden.dtype)
            pooled = normalize((hidden * weight).sum(1) / weight.sum(1), dim=-1)
            return Encoded(pooled, self._tokens(hidden, places))

        def _tokens(self, hidden: torch.Tensor, places: Sequence[Sequence[Sequence[int]]]) -> torch.Tensor:
            length, flat, owner, count = hidden.shape[1], [], [], 0
            for row, text in enumerate(places):
                for pieces in text:
                    flat += [row * length + piece for piece in pieces]
                    owner += [count] * len(pieces)
                    count += 1
            owners = torch.tensor(owner, dtype=torch.long, device=hidden.device)
            rows = hidden.reshape(-1, hidden.shape[-1])[torch.tensor(flat, dtype=torch.long, device=hidden.device)]
            sums = torch.zeros(count, hidden.shape[-1], device=hidden.device).index_add(0, owners, rows)
            means: torch.Tensor = sums / torch.bincount(owners, minlength=count).clamp_min(1).unsqueeze(1)
            return means

        def intents(self, encoded: Encoded, ngrams: torch.Tensor) -> torch.Tensor:
            """(texts, intents) logits."""
            logits: torch.Tensor = self.intent_deep(self.dropout(encoded.pooled))
            return logits + ngrams.to(logits.device) @ self.intent_wide if self.wide else logits

        def tags(self, encoded: Encoded, features: Sequence[Sequence[int]]) -> torch.Tensor:
            """(tokens, tags) logits; ``features`` of each token."""
            logits: torch.Tensor = self.tag_deep(self.dropout(encoded.tokens))
            if not self.wide or not len(features):
                return logits
            flat = torch.tensor([bucket for one in features for bucket in one], dtype=torch.long, device=logits.device)
            ends = torch.tensor([0, *(len(one) for one in features[:-1])], dtype=torch.long, device=logits.device).cumsum(0)
            return logits + embedding_bag(flat, self.tag_wide, ends, mode="sum")

        def forward(
            self, batch: Mapping[str, torch.Tensor], places: Any, ngrams: torch.Tensor, features: Any
        ) -> tuple[Encoded, torch.Tensor, torch.Tensor]:
            """Both heads at once, where the intent is known: training."""
            encoded = self.encode(batch, places)
            return encoded, self.intents(encoded, ngrams), self.tags(encoded, features)

    return FrameNet


def start_heads(net: Any, weights: NDArray[np.float64], biases: NDArray[np.float64]) -> None:
    """Let the intent head begin as a linear model on [encoder's vector, lexical vector]: (features, intents) and (intents,).

    Raises:
        StageFailed: it is not as wide as they are.
    """
    import torch

    width = net.intent_deep.in_features
    if weights.shape[0] != width + net.wide:
        raise StageFailed(f"a head for {weights.shape[0]} features does not fit an encoder with {width + net.wide}")
    with torch.no_grad():
        net.intent_deep.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights[:width].T)))
        net.intent_deep.bias.copy_(torch.from_numpy(biases))
        if net.wide:
            net.intent_wide.copy_(torch.from_numpy(np.ascontiguousarray(weights[width:])))


def with_method(encoder: Any, plan: EncoderStudentPlan) -> Any:
    """The encoder with new LoRA matrices, or as it is, every weight trained.

    Raises:
        StageFailed: it has no module of the plan's names.
    """
    if plan.method == "full":
        for name, parameter in encoder.named_parameters():
            # BERT's pooler takes no part: several processes would wait for its gradient for ever.
            parameter.requires_grad_(not name.startswith("pooler."))
        return encoder
    from peft import LoraConfig, get_peft_model

    shape = LoraConfig(
        r=plan.r,
        lora_alpha=plan.alpha,
        lora_dropout=plan.dropout,
        target_modules=list(attention_of(encoder, plan)),
        bias="none",
    )
    return get_peft_model(encoder, shape)


def attention_of(encoder: Any, plan: EncoderStudentPlan) -> tuple[str, ...]:
    """The plan's modules, else what this encoder calls its attention's query and value.

    Raises:
        StageFailed: the encoder has none of them.
    """
    names = {name.rpartition(".")[2] for name, _ in encoder.named_modules()}
    wanted = [plan.target_modules] if plan.target_modules else _ATTENTION
    found = next((group for group in wanted if set(group) <= names), None)
    if found is None:
        raise StageFailed(
            f"the encoder {plan.base} has no modules {' or '.join(str(group) for group in wanted)}: name its own in "
            "KICKWHEEL_ENCODER__TARGET_MODULES, or set KICKWHEEL_ENCODER__METHOD=full"
        )
    return found


def own_parameters(net: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """What a training changes and an artifact holds, by name: trained weights of the encoder, and the heads."""
    return ((name, parameter) for name, parameter in net.named_parameters() if parameter.requires_grad)


def features_of(texts: Sequence[ReadText], intents: Sequence[str], common: Mapping[str, int]) -> list[list[int]]:
    """Hashed features of all tokens of a batch, text after text."""
    return [one for text, intent in zip(texts, intents, strict=True) for one in hashed_features(text.tokens, intent, common)]
