"""A Chinese statement that is refused is asked about in Chinese."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kickwheel.intent
from kickwheel.intent.documents import parse_document
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.questions_zh import in_chinese
from kickwheel.intent.rules import RulesRecogniser

SOURCES = sorted(Path(kickwheel.intent.__file__).parent.glob("*.py"))
RAISING = {"TimeRefused", "Refused", "Unclear"}


def asked(path: Path) -> Iterator[str]:
    """Questions in a module's text, gaps filled with a word, quoted where the code quotes it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in RAISING:
            yield from filter(lambda text: " " in text, map(filled, call.args[:2]))


def filled(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = [part for part in node.values if isinstance(part, ast.Constant | ast.FormattedValue)]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else gap(part) for part in parts)


def gap(part: ast.FormattedValue) -> str:
    if ast.unparse(part.value) == "_SAY":
        return "Say it as 'sync ORDERS to LAKE every day at 9:00'"
    return "'每天'" if part.conversion == ord("r") else "7"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_question_of_the_rules_is_in_the_table(path: Path) -> None:
    assert [question for question in asked(path) if not re.search("[一-鿿]", in_chinese(question).replace("每天", ""))] == []


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("每天凌晨归档日志", "在一天中的几点？"),
        ("每周一归档日志9点CST", "可能是：Asia/Shanghai、America/Chicago、America/Havana"),
        ("每2分钟拉取订单", "每2 分钟一次超过了上限（5 分钟一次）：*/5 * * * * 够吗？"),
        ("每天9点熏蒸库存", "要做什么？"),
    ],
)
def test_chinese_statements_are_asked_about_in_chinese(statement: str, question: str) -> None:
    document = parse_document(statement, "doc", markdown=False)
    rules = RulesRecogniser(load_glossary())
    [rejection] = map_documents([document], domain="d", zone="UTC", recogniser=rules).rejections
    assert question in rejection.question


def test_english_statements_are_not() -> None:
    document = parse_document("Archive logs nightly", "doc", markdown=False)
    [rejection] = map_documents([document], domain="d", zone="UTC", recogniser=RulesRecogniser(load_glossary())).rejections
    assert rejection.question.isascii()
