"""HTML to Markdown, by markdownify on Beautiful Soup."""

from __future__ import annotations

import re
from pathlib import Path

from kickwheel.errors import InputError

_UNREAD = "script, style, template, noscript, head, nav, hr, img, svg, iframe, [hidden], del, s, strike"
_UNREAD_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|text-decoration[\w-]*\s*:[^;]*line-through", re.IGNORECASE
)
"""What nobody sees, and what is struck out: it is there to show that it no longer holds."""
_READ_AS = {"gb2312": "gb18030", "gbk": "gb18030"}
"""As browsers do: pages that declare the older sets hold characters of the whole one."""


def html_file_to_markdown(path: Path) -> str:
    """A web page's visible text. Its encoding is the one that it declares, else UTF-8.

    Raises:
        InputError: the bytes are not of that encoding.
    """
    from bs4.dammit import EncodingDetector

    data = path.read_bytes()
    marked, encoding = EncodingDetector.strip_byte_order_mark(data)
    encoding = encoding or EncodingDetector.find_declared_encoding(marked, is_html=True) or "utf-8"
    try:
        html = marked.decode(_READ_AS.get(encoding.lower(), encoding))
    except LookupError as error:
        raise InputError(f"its meta tag names the encoding {encoding!r}, which there is not", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"not {encoding.upper()}: {error.reason} at byte {error.start}", file=path) from error
    return html_to_markdown(html)


def html_to_markdown(html: str) -> str:
    """Markdown of the text that is seen and holds; the first row of a table is its header."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    for element in soup.select(_UNREAD):
        element.decompose()
    for element in soup.select("[style]"):
        if not element.decomposed and _UNREAD_STYLE.search(str(element.get("style", ""))):
            element.decompose()
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", table_infer_header=True, escape_misc=True, strip=["a"], newline_style="BACKSLASH"
    )
    text: str = converter.convert_soup(soup)
    return text.strip() + "\n"
