"""PDF to Markdown, by pdfplumber: what is printed where becomes headings, lists, ruled tables and paragraphs again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kickwheel.errors import InputError
from kickwheel.intent.pdf_lines import PrintedLine, PrintedTable, to_blocks

if TYPE_CHECKING:
    from pdfplumber.page import Page

_GAP = 0.15
"""A gap between letters that is wider than this share of their size is a space: TeX prints none."""
_HAN_GAP = re.compile(r"(?<=[\u2e80-\u9fff\uff00-\uffef]) (?=[\u2e80-\u9fff\uff00-\uffef])")
"""Justified Chinese has gaps, and no spaces."""


def pdf_to_markdown(path: Path) -> str:
    """A PDF's text, page after page.

    Raises:
        InputError: encrypted, no PDF, or without any text (scanned).
    """
    import pdfplumber
    from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
    from pdfminer.pdfexceptions import PDFException
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(path) as pdf:
            pages = [_printed(page) for page in pdf.pages]
            widths = [float(page.width) for page in pdf.pages]
    except (PdfminerException, PDFException) as error:
        cause = error.args[0] if error.args else error
        if isinstance(error, PDFEncryptionError | PDFPasswordIncorrect) or isinstance(
            cause, PDFEncryptionError | PDFPasswordIncorrect
        ):
            raise InputError("encrypted: save it without a password", file=path) from error
        raise InputError(f"no PDF: {cause}", file=path) from error
    if not any(pages):
        raise InputError("no text in it, maybe scanned pages: run text recognition (OCR) over it first", file=path)
    return "\n\n".join(to_blocks(pages, widths)) + "\n"


def _printed(page: Page) -> list[PrintedLine | PrintedTable]:
    """Lines and tables from the page's top to its bottom."""
    found = [(table, table.extract(x_tolerance_ratio=_GAP)) for table in page.find_tables()]
    tables = [(table.bbox, rows) for table, rows in found if len(rows) > 1 and len(rows[0]) > 1]

    def outside(item: dict[str, Any]) -> bool:
        x, y = (item["x0"] + item["x1"]) / 2, (item["top"] + item["bottom"]) / 2
        return not any(box[0] <= x <= box[2] and box[1] <= y <= box[3] for box, _ in tables)

    printed: list[PrintedLine | PrintedTable] = [
        PrintedTable(box[1], [[_text(cell or "") for cell in row] for row in rows]) for box, rows in tables
    ]
    for line in page.filter(outside).extract_text_lines(return_chars=True, x_tolerance_ratio=_GAP):
        text = _text(line["text"])
        if text:
            sizes = sorted(char["size"] for char in line["chars"])
            printed.append(PrintedLine(text, line["x0"], line["x1"], line["top"], line["bottom"], size=sizes[len(sizes) // 2]))
    return sorted(printed, key=lambda item: item.top)


def _text(printed: str) -> str:
    return _HAN_GAP.sub("", " ".join(printed.split()))
