"""Documents that are no text of their own: Word, PDF and HTML become Markdown, by converters of the extra ``documents``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from kickwheel.errors import InputError


class Converter(Protocol):
    """Turns a file into Markdown."""

    def __call__(self, path: Path) -> str:
        """The file's text with its headings, lists and tables; what Markdown would take for marks is escaped.

        Raises:
            InputError: it is not of its kind, encrypted, or a picture of text.
            ModuleNotFoundError: the extra ``documents`` is not installed.
        """
        ...


def _word(path: Path) -> str:
    from kickwheel.intent.word_adapter import word_to_markdown

    return word_to_markdown(path)


def _pdf(path: Path) -> str:
    from kickwheel.intent.pdf_adapter import pdf_to_markdown

    return pdf_to_markdown(path)


def _html(path: Path) -> str:
    from kickwheel.intent.html_adapter import html_file_to_markdown

    return html_file_to_markdown(path)


CONVERTERS: Mapping[str, Converter] = MappingProxyType({".docx": _word, ".pdf": _pdf, ".html": _html, ".htm": _html})
"""Converters by suffix."""


def to_markdown(path: Path, converters: Mapping[str, Converter] = CONVERTERS) -> str:
    """A document as Markdown. Lines of its statements are lines of this text; ``kickwheel intent text`` prints it.

    Raises:
        InputError: the file can't be converted, holds no text, or the extra ``documents`` is not installed.
    """
    if path.stat().st_size == 0:
        raise InputError("the file is empty", file=path)
    try:
        text = converters[path.suffix.lower()](path)
    except ModuleNotFoundError as error:
        problem = f"reading {path.suffix} files needs {error.name}: pip install 'kickwheel[documents]'"
        raise InputError(problem, file=path) from error
    if not text.strip():
        raise InputError("there is no text in it", file=path)
    return text.rstrip() + "\n"
