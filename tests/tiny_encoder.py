"""A random two-layer BERT with a character tokenizer: real transformers and PEFT code, no download."""

from __future__ import annotations

from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz 订单日志同步昨天午饭"


def write_tiny_encoder(folder: Path) -> Path:
    """The encoder's folder: config, safetensors, tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate(["[PAD]", "[UNK]", *LETTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.2,
    )
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    return folder
