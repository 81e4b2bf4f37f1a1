"""Requirement documents: Markdown, plain text, or what converts to Markdown in; statements with line and quote out.

A document is prose, lists and tables. Every sentence is a statement; headings, code and block quotes are not read.
Lines ``Key: value`` below a statement (a nested list item, a following line, a table column) say more about it::

    - 每日9点同步用户订单至数据湖
      - 意图：sync_orders
      - 说明：copy or refresh customer orders into the data lake
      - 槽位：date（日期）；region（名称，例如 华东、EMEA）
      - 说法：“把昨天的订单同步到湖里”；“resend the orders of EMEA”

Front matter (YAML between ``---`` lines) may name ``zone``, ``title`` and ``owner``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import AfterValidator, BaseModel, ConfigDict

from kickwheel.errors import InputError
from kickwheel.intent.document_conversion import CONVERTERS, to_markdown
from kickwheel.intent.sentences import split_sentences
from kickwheel.intent.zones import zone
from kickwheel.yaml_document import parse_yaml

FieldName = Literal["intent", "description", "slots", "zone", "schedule", "qualifier", "phrasings"]
_KEYS: dict[str, FieldName] = {
    "intent": "intent", "意图": "intent",
    "description": "description", "meaning": "description", "说明": "description", "描述": "description", "含义": "description",
    "slots": "slots", "parameters": "slots", "槽位": "slots", "参数": "slots",
    "zone": "zone", "time zone": "zone", "timezone": "zone", "时区": "zone",
    "schedule": "schedule", "when": "schedule", "cron": "schedule",
    "执行时间": "schedule", "时间": "schedule", "频率": "schedule", "调度": "schedule",
    "qualifier": "qualifier", "限定": "qualifier",
    "examples": "phrasings", "example": "phrasings", "phrasings": "phrasings",
    "示例": "phrasings", "例句": "phrasings", "说法": "phrasings",
}  # fmt: skip
_STATEMENT_COLUMNS = {"requirement", "requirements", "statement", "task", "what", "需求", "任务", "要求", "语句"}
_FIELD_LINE = re.compile(rf"\s*({'|'.join(_KEYS)})\s*[:：]\s*(\S.*)", re.IGNORECASE)
_LIST_HEAD = re.compile(rf"({'|'.join(key for key, name in _KEYS.items() if name == 'phrasings')})\s*[:：]", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-•·]|\*(?!/|\s+[\d*])|\d+[.)、])\s*(?=\D)")
"""What stands before a list item; not the star that a cron expression begins with."""
_MARKDOWN, _TEXT = {".md", ".markdown"}, {".txt", ""}


class FrontMatter(BaseModel):
    """What a document says about itself."""

    model_config = ConfigDict(frozen=True, extra="allow")

    zone: Annotated[str, AfterValidator(lambda name: zone(name).key)] | None = None
    title: str = ""
    owner: str = ""


@dataclass(frozen=True)
class Field:
    """Value of a ``Key: value`` line and the line that it stands on."""

    value: str
    line: int


@dataclass(frozen=True)
class Statement:
    """One sentence, as it stands in the document."""

    document: str
    line: int
    quote: str
    fields: dict[FieldName, Field] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A document that was read."""

    name: str
    front: FrontMatter
    statements: tuple[Statement, ...]


def read_document(path: Path) -> Document:
    """Read a file. Lines are the file's own; those of a converted one are lines of :func:`document_text`.

    Raises:
        InputError: as :func:`document_text`; or front matter, or a line below a statement, that does not hold.
    """
    return parse_document(document_text(path), str(path), markdown=path.suffix.lower() not in _TEXT)


def document_text(path: Path) -> str:
    """The text in which statements are looked for: Markdown, or plain text as it stands.

    Raises:
        InputError: missing, not UTF-8, of a kind that is not read, or it can't be converted.
    """
    if not path.is_file():
        raise InputError("there is no such document", file=path)
    suffix = path.suffix.lower()
    if suffix in CONVERTERS:
        return to_markdown(path)
    if suffix not in _MARKDOWN | _TEXT:
        known = ", ".join(sorted(filter(None, _MARKDOWN | _TEXT | CONVERTERS.keys())))
        raise InputError(f"{path.suffix} files are not read: save it as one of {known}", file=path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error.reason} at byte {error.start}", file=path) from error


def parse_document(text: str, name: str, *, markdown: bool) -> Document:
    """Read a document's text. In plain text every line stands for itself."""
    front, body, first_line = _front_matter(text, name)
    pieces = _with_listed_phrasings(_markdown_lines(body) if markdown else _text_lines(body))
    statements: list[Statement] = []
    for piece in pieces:
        line, content = piece.lines[0][1], piece.text
        matched = _FIELD_LINE.fullmatch(content)
        if matched and statements:
            key = _KEYS[matched[1].lower()]
            last = statements[-1]
            if key in last.fields:
                raise InputError("stands here for the second time", file=name, line=line + first_line, field=matched[1])
            statements[-1] = replace(last, fields=last.fields | {key: Field(matched[2].strip(), line + first_line)})
            continue
        own = {key: Field(value, line + first_line) for key, value in piece.fields.items()}
        found = [Statement(name, piece.line_at(offset) + first_line, sentence) for offset, sentence in split_sentences(content)]
        statements += found[:-1] + [replace(statement, fields=own) for statement in found[-1:]]
    return Document(name, front, tuple(statements))


def _front_matter(text: str, name: str) -> tuple[FrontMatter, str, int]:
    """Front matter, the body, and the number of the body's first line."""
    matched = re.match(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if not matched:
        return FrontMatter(), text, 1
    front = parse_yaml(matched[1], FrontMatter, file=name, first_line=2)
    return front, text[matched.end() :], matched[0].count("\n") + 1


@dataclass(frozen=True)
class Piece:
    """Text that belongs together."""

    text: str
    lines: list[tuple[int, int]]
    """Offset in the text and line (from 0) that begins there."""
    fields: dict[FieldName, str] = field(default_factory=dict)
    """What a table row says about it."""
    depth: int = 0
    """How deep it is nested in lists."""

    def line_at(self, offset: int) -> int:
        """Line of an offset."""
        return [line for start, line in self.lines if start <= offset][-1]


def _with_listed_phrasings(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """A list below ``Examples:`` becomes one field line: its items are what users say, not statements."""
    head: Piece | None = None
    listed: list[str] = []
    for piece in [*pieces, None]:
        if piece and head and piece.depth > head.depth and not _FIELD_LINE.fullmatch(piece.text):
            listed.append(piece.text.rstrip(";；"))
            continue
        if head:
            yield replace(head, text=f"{head.text} {'; '.join(listed)}".strip())
        head, listed = (piece if piece and _LIST_HEAD.fullmatch(piece.text) else None), []
        if piece and not head:
            yield piece


def _text_lines(body: str) -> Iterator[Piece]:
    for number, line in enumerate(body.splitlines()):
        content = _BULLET.sub("", line).strip()
        if content:
            yield Piece(content, [(0, number)], depth=len(line) - len(line.lstrip()))


def _markdown_lines(body: str) -> Iterator[Piece]:
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    quoted, index = 0, 0
    while index < len(tokens):
        token = tokens[index]
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "table_open":
            end = next(place for place in range(index, len(tokens)) if tokens[place].type == "table_close")
            if not quoted:
                yield from _table_rows(tokens[index:end])
            index = end
        elif token.type == "inline" and not quoted and tokens[index - 1].type != "heading_open":
            yield from _inline_lines(token)
        index += 1


def _inline_lines(token: Token) -> Iterator[Piece]:
    """A paragraph or list item. Lines that just wrap are one; a field line stands for itself."""
    first = token.map[0] if token.map else 0
    text, lines = "", list[tuple[int, int]]()
    for number, line in enumerate(_plain(token).split("\n"), start=first):
        line = line.strip()
        if text and (_FIELD_LINE.fullmatch(line) or _FIELD_LINE.fullmatch(text)):
            yield Piece(text, lines, depth=token.level)
            text, lines = "", []
        if text and text[-1] < "⺀" and line[:1] < "⺀":
            text += " "
        lines.append((len(text), number))
        text += line
    yield Piece(text, lines, depth=token.level)


def _table_rows(tokens: list[Token]) -> Iterator[Piece]:
    """A row is a statement: its requirement column, or all its cells, with the columns that say more about it."""
    header: list[str] = []
    cells: list[str] = []
    line = 0
    for token in tokens:
        if token.type == "tr_open":
            cells, line = [], token.map[0] if token.map else line
        elif token.type == "inline":
            cells.append(_plain(token).strip())
        elif token.type == "thead_close":
            header = [cell.lower() for cell in cells]
        elif token.type == "tr_close" and header:
            named = {_KEYS[name]: cell for name, cell in zip(header, cells, strict=False) if name in _KEYS and cell}
            texts = [cell for name, cell in zip(header, cells, strict=False) if name in _STATEMENT_COLUMNS]
            others = [cell for name, cell in zip(header, cells, strict=False) if name not in _KEYS]
            text = ", ".join(cell for cell in texts or others if cell)
            if text:
                yield Piece(text, [(0, line)], named)


def _plain(token: Token) -> str:
    """Inline text without its marks."""
    parts = {"softbreak": "\n", "hardbreak": "\n"}
    return "".join(
        parts.get(child.type, child.content if child.type in ("text", "code_inline") else "") for child in token.children or ()
    )
