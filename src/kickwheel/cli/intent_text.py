"""``kickwheel intent text``: a document as it is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kickwheel.cli.reading import refusals


def command(file: Annotated[Path, typer.Argument(help="Word, PDF, HTML, Markdown or text file")]) -> None:
    """Print the text in which statements are looked for. Line numbers of a converted document count its lines.

    Examples:

        kickwheel intent text requirements.docx | cat -n
    """
    from kickwheel.intent.documents import document_text

    with refusals():
        sys.stdout.write(document_text(file))
