"""A GGUF file as a folder that can be trained: ``python -m benchmarks.unpack_gguf model.gguf OUT``. Needs the package gguf."""

from __future__ import annotations

import sys
from pathlib import Path

from kickwheel.inference.base_model_adapter import CHATML

END_OF_TURN = "<|im_end|>"


def main(gguf: Path, out: Path) -> None:
    """bf16 safetensors, config and tokenizer; ChatML where the file brings no chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    tokenizer.eos_token = tokenizer.pad_token = END_OF_TURN
    tokenizer.clean_up_tokenization_spaces = False
    if not tokenizer.chat_template:
        tokenizer.chat_template = CHATML
    weights = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    weights.save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
