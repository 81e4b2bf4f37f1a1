"""Text files that people hand us: UTF-8, with or without the mark that some editors put first."""

from __future__ import annotations

from pathlib import Path

from kickwheel.errors import InputError


def read_text(path: Path) -> str:
    """The file's text without a byte order mark; every kind of line end becomes a newline.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error


def not_utf8(path: Path | str, error: UnicodeDecodeError) -> InputError:
    """The error for a file in another encoding."""
    return InputError(f"not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8", file=path)
