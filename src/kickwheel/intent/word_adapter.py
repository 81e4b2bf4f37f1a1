"""Word documents (.docx) to Markdown, by mammoth: headings, lists and tables stay what they are, pictures are left out."""

from __future__ import annotations

import zipfile
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.intent.html_adapter import html_to_markdown

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of an OLE file: what Word writes around an encrypted .docx, and what an old .doc is."""


def word_to_markdown(path: Path) -> str:
    """A document's text as it reads with all tracked changes accepted, without what is struck out.

    Raises:
        InputError: encrypted, an old .doc, or no Word document.
    """
    import mammoth

    with path.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            raise InputError("encrypted, or a .doc of old: save it as .docx without a password", file=path)
        file.seek(0)
        try:
            html: str = mammoth.convert_to_html(
                file, style_map="strike => s", convert_image=mammoth.images.img_element(lambda _: {"src": ""})
            ).value
        except (zipfile.BadZipFile, KeyError, OSError, ValueError) as error:
            raise InputError(f"no Word document: {error}", file=path) from error
    return html_to_markdown(html)
