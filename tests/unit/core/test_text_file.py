"""Files in another encoding are told, byte order marks are passed over, wherever people hand us text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kickwheel.domain import check_domain
from kickwheel.errors import InputError
from kickwheel.intent.glossary import GlossaryDocument
from kickwheel.intent.knowledge import read_facts
from kickwheel.text_file import read_text
from kickwheel.workspace import read_jsonl
from kickwheel.yaml_document import read_yaml
from schemas.utterance import Utterance

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "dataops"
TEXTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "text": ("订单\n", read_text),
    "yaml": ("entities: {orders: [订单]}\n", lambda path: read_yaml(path, GlossaryDocument)),
    "csv": ("subject,relation,object\norders,also called,订单\n", read_facts),
    "jsonl": ('{"id": "a", "text": "订单", "language": "zh"}\n', lambda path: read_jsonl(path, Utterance)),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_other_encodings_are_input_errors(tmp_path: Path, kind: str) -> None:
    text, read = TEXTS[kind]
    path = tmp_path / "file"
    path.write_bytes(text.encode("gbk"))
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read(path)
    assert caught.value.file == path


@pytest.mark.parametrize("kind", TEXTS)
def test_byte_order_mark_is_passed_over(tmp_path: Path, kind: str) -> None:
    text, read = TEXTS[kind]
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    plain.write_text(text, encoding="utf-8")
    marked.write_text(text, encoding="utf-8-sig")
    assert read(marked) == read(plain)


@pytest.mark.parametrize(
    "name", ["domain.yaml", "glossary.yaml", "knowledge.csv", "bindings.yaml", "seeds.jsonl", "expected.jsonl"]
)
def test_check_names_the_file_in_another_encoding(tmp_path: Path, name: str) -> None:
    domain = Path(shutil.copytree(EXAMPLE, tmp_path / "dataops"))
    path = domain / name
    path.write_bytes(path.read_bytes().decode().encode("utf-16"))
    assert path in [problem.file for problem in check_domain(domain) if "not UTF-8" in str(problem)]
