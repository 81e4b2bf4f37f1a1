"""Requirement documents: Markdown, plain text, or what converts to Markdown in; statements with line and quote out.

A document is prose, lists and tables. Every sentence is a statement; headings, code, quoted and struck-out text are not.
A heading or a line with a colon that is a time and nothing else holds for what stands below it, a sentence that says in which
zone all times are for the document (:mod:`kickwheel.intent.lead_ins`).
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from kickwheel.errors import InputError
from kickwheel.intent.document_conversion import CONVERTERS, to_markdown
from kickwheel.intent.document_pieces import (
    FIELD_LINE,
    KEYS,
    FieldName,
    Piece,
    markdown_pieces,
    text_pieces,
    with_listed_phrasings,
)
from kickwheel.intent.lead_ins import time_of_lead_in, zone_of_all
from kickwheel.intent.sentences import split_sentences
from kickwheel.intent.zones import zone
from kickwheel.text_file import read_text
from kickwheel.yaml_document import parse_yaml

_OF_ALL_SENTENCES: frozenset[FieldName] = frozenset({"schedule", "zone"})
"""Columns of a row that hold for each of its sentences; the others tell of its last one."""
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
    unread: tuple[str, ...] = ()
    """Cells of its row in columns that no name explains."""
    lead: str | None = None
    """Words of time of a heading or a lead-in that it stands below."""
    above: int | None = None
    """Index of the statement that it follows in the same paragraph, item or cell, or stands below in a list; None: of none."""


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
    return read_text(path)


def parse_document(text: str, name: str, *, markdown: bool) -> Document:
    """Read a document's text. In plain text every line stands for itself."""
    front, body, first_line = _front_matter(text, name)
    pieces = with_listed_phrasings(markdown_pieces(body) if markdown else text_pieces(body))
    statements: list[Statement] = []
    around: list[tuple[int, int]] = []  # depth and statement of each piece that the current one may stand below
    leads = _Leads()
    for piece in pieces:
        line, content = piece.lines[0][1], piece.text
        if piece.heading or leads.opened_by(piece):
            leads.take(piece)
            continue
        matched = FIELD_LINE.fullmatch(content)
        if matched and statements:
            key = KEYS[matched[1].lower()]
            last = statements[-1]
            if key in last.fields:
                raise InputError("stands here for the second time", file=name, line=line + first_line, field=matched[1])
            statements[-1] = replace(last, fields=last.fields | {key: Field(matched[2].strip(), line + first_line)})
            continue
        while around and around[-1][0] >= piece.depth:
            around.pop()
        for statement in _sentences(piece, name, first_line):
            if said := zone_of_all(statement.quote):
                front = _in_zone(front, said, statement)
                continue
            above = around[-1][1] if around else None
            around = [*(outer for outer in around if outer[0] < piece.depth), (piece.depth, len(statements))]
            statements.append(replace(statement, above=above, lead=leads.time))
    return Document(name, front, tuple(statements))


class _Leads:
    """Headings and lead-ins with a time that the current piece stands below."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._open: list[tuple[int, str]] = []

    @property
    def time(self) -> str | None:
        """Words of time of the closest heading that has any, and of the lead-ins."""
        return ", ".join(words for _, words in (*self._headings[-1:], *self._open)) or None

    def opened_by(self, piece: Piece) -> bool:
        """Whether a piece is a lead-in itself; those that it does not stand below are closed."""
        self._open = [(depth, words) for depth, words in self._open if depth < piece.depth]
        return time_of_lead_in(piece.text) is not None

    def take(self, piece: Piece) -> None:
        """A heading closes those of its level and below, with a time or without."""
        words = time_of_lead_in(piece.text, heading=bool(piece.heading))
        if piece.heading:
            self._open = []
            self._headings = [(level, told) for level, told in self._headings if level < piece.heading]
        if words:
            (self._headings if piece.heading else self._open).append((piece.heading or piece.depth, words))


def _in_zone(front: FrontMatter, said: str, statement: Statement) -> FrontMatter:
    if front.zone not in (None, said):
        problem = f"all times are said to be in {said}, and {front.zone} is named before: which of the zones counts?"
        raise InputError(problem, file=statement.document, line=statement.line, field="zone")
    return front.model_copy(update={"zone": said})


def _sentences(piece: Piece, name: str, first_line: int) -> list[Statement]:
    own = {key: Field(value, piece.lines[0][1] + first_line) for key, value in piece.fields.items()}
    shared = {key: value for key, value in own.items() if key in _OF_ALL_SENTENCES}
    found = [
        Statement(name, piece.line_at(offset) + first_line, sentence, shared, piece.unread)
        for offset, sentence in split_sentences(piece.text)
    ]
    return [*found[:-1], *(replace(last, fields=own) for last in found[-1:])]


def _front_matter(text: str, name: str) -> tuple[FrontMatter, str, int]:
    """Front matter, the body, and the number of the body's first line."""
    matched = re.match(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if not matched:
        return FrontMatter(), text, 1
    front = parse_yaml(matched[1], FrontMatter, file=name, first_line=2)
    return front, text[matched.end() :], matched[0].count("\n") + 1
