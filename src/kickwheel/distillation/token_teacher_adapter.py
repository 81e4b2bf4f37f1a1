"""The causal teacher of token-level distillation: found, told apart by its contents, refused where it speaks in other tokens.

Two next-token distributions can be compared column by column only if a column is the same token in both. So the hash of the
student's tokenizer and that of the teacher's have to be equal. It is taken of ``tokenizer.json``, read and written anew by
the tokenizers library (older files say the same in other words), of

- ``model``: its kind, the vocabulary (which token a column is), the merges or scores in their order, and its options (how
  words become the tokens that the teacher has learnt to continue);
- ``added_tokens``: id, text and whether it is special, by id.

Not of the rest, which is about text: normaliser, pre-tokenizer, post-processor, decoder, padding, truncation, how added
tokens are found in a text, the chat template. The teacher never sees a text: it is given the student's own ids.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.inference.base_model_adapter import ensure_base_model
from kickwheel.settings import DistillationSettings, refuse_missing_teacher
from kickwheel.workspace import fingerprint, hash_file
from schemas.feedback import TokenTeacher

SETTING = "KICKWHEEL_DISTILLATION__TOKEN_TEACHER"
FIELD = "distillation.token_teacher"


def find_token_teacher(settings: DistillationSettings, *, base_path: Path, home: Path) -> TokenTeacher | None:
    """The teacher that the settings name, ready on disk; None where the term is off. No weights are loaded.

    Raises:
        ModelUnavailable: it cannot be had, or a part of it is missing.
        InputError: none is named, or its tokens are not those of the base in ``base_path``.
    """
    if settings.token_kl == 0:
        return None
    refuse_missing_teacher(settings)
    folder = ensure_base_model(settings.token_teacher, home, what="token-level teacher", setting=SETTING).path
    teacher = TokenTeacher(
        name=settings.token_teacher,
        path=str(folder),
        sha256=teacher_contents(folder),
        tokenizer_sha256=tokenizer_hash(folder),
        weight=settings.token_kl,
    )
    refuse_other_tokens(teacher, base_path)
    return teacher


def refuse_other_tokens(teacher: TokenTeacher, base_path: Path) -> None:
    """Let a teacher pass whose tokens are those of the base.

    Raises:
        InputError: they are others; names both.
    """
    own = tokenizer_hash(base_path)
    if own != teacher.tokenizer_sha256:
        raise InputError(
            f"the teacher {teacher.name!r} ({teacher.path}, tokenizer {teacher.tokenizer_sha256[:12]}) has other tokens than"
            f" the student's base ({base_path}, tokenizer {own[:12]}), so that their distributions over tokens cannot be"
            " compared: name a teacher of the base's family with the same vocabulary, merges and added tokens, or set"
            " distillation.token_kl to 0 (distillation over whole frames takes any teacher)",
            field=FIELD,
        )


def tokenizer_hash(folder: Path) -> str:
    """SHA-256 of what makes ids comparable (see the module).

    Raises:
        InputError: no ``tokenizer.json`` is there, or it cannot be read.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise InputError(
            "not there, and tokenizers are compared by it: save the model's fast tokenizer into the folder (save_pretrained)",
            file=path,
        )
    return _tokenizer_hash(path, *_stamp(path))


def teacher_contents(folder: Path) -> str:
    """SHA-256 of what a teacher's distributions come from: configuration, tokenizer and the bytes of all weights.

    Sizes would not do: two trainings of one model have the same.
    """
    files = [folder / "config.json", folder / "tokenizer.json", *sorted(folder.glob("*.safetensors"))]
    return fingerprint([(path.name, _hash(path, *_stamp(path))) for path in files if path.is_file()])


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=256)
def _hash(path: Path, size: int, changed: int) -> str:
    """Of a file as it is now: a lap asks for its inputs often, and weights are gigabytes."""
    return hash_file(path)


@lru_cache(maxsize=16)
def _tokenizer_hash(path: Path, size: int, changed: int) -> str:
    from tokenizers import Tokenizer

    try:
        said = json.loads(Tokenizer.from_file(str(path)).to_str())
    # The library raises bare Exceptions.
    except Exception as error:
        raise InputError(f"no tokenizer that can be read: {error}", file=path) from error
    added = sorted((token["id"], token["content"], token["special"]) for token in said["added_tokens"])
    return fingerprint(said["model"], added)
