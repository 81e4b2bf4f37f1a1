"""Word and PDF files of a few lines, written by hand: what a converter is given in these tests is seen here, whole."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def heading(text: str) -> str:
    """A heading of a Word document."""
    return f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{_run(text)}</w:p>'


def paragraph(*lines: str) -> str:
    """A paragraph with line breaks."""
    return f"<w:p>{'<w:r><w:br/></w:r>'.join(map(_run, lines))}</w:p>"


def bullet(text: str, level: int = 0) -> str:
    """A list item."""
    place = f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    return f"<w:p>{place}{_run(text)}</w:p>"


def table(*rows: Sequence[str]) -> str:
    """A table, its header first."""
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def struck_out(text: str) -> str:
    """A paragraph with a line through it."""
    return f"<w:p>{_run(text).replace('<w:r>', '<w:r><w:rPr><w:strike/></w:rPr>')}</w:p>"


def write_docx(path: Path, *blocks: str) -> Path:
    """A Word document of these blocks."""
    levels = "".join(f'<w:lvl w:ilvl="{n}"><w:numFmt w:val="bullet"/></w:lvl>' for n in range(3))
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_WORD}.document.main+xml"/></Types>',
        "_rels/.rels": _relations(("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": _relations(("styles", "styles.xml"), ("numbering", "numbering.xml")),
        "word/styles.xml": f'<w:styles {_W}><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
        "</w:style></w:styles>",
        "word/numbering.xml": f'<w:numbering {_W}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>',
        "word/document.xml": f"<w:document {_W}><w:body>{''.join(blocks)}</w:body></w:document>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def _relations(*targets: tuple[str, str]) -> str:
    inner = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets)
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'


def text_at(x: int, y: int, text: str, size: int = 12) -> str:
    """A line of text in a PDF; y counts from the bottom. Han characters are as wide as high, others half as wide."""
    return f"BT /F1 {size} Tf {x} {y} Td <{text.encode('utf-16-be').hex()}> Tj ET"


def ruled_table(x: int, y: int, rows: Sequence[Sequence[str]], width: int = 120, height: int = 20) -> str:
    """A table with lines around its cells; its upper left corner is at x, y."""
    right, bottom = x + width * len(rows[0]), y - height * len(rows)
    lines = [f"{x} {y - height * n} m {right} {y - height * n} l S" for n in range(len(rows) + 1)]
    lines += [f"{x + width * n} {y} m {x + width * n} {bottom} l S" for n in range(len(rows[0]) + 1)]
    cells = [
        text_at(x + width * column + 4, y - height * row - 14, cell, 10)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell
    ]
    return "\n".join(lines + cells)


def write_pdf(path: Path, *pages: Sequence[str], encrypted: bool = False) -> Path:
    """A PDF of A4 pages."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{6 + 2 * n} 0 R' for n in range(len(pages)))}] >>",
        "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [4 0 R] >>",
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /W [1 95 500] /FontDescriptor 5 0 R"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>",
        "<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0"
        " /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>",
    ]
    for number, page in enumerate(pages):
        content = "\n".join(page)
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {7 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R"
    if encrypted:
        trailer += f" /ID [<{'00' * 16}> <{'00' * 16}>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4"
        trailer += f" /O <{'11' * 32}> /U <{'22' * 32}> >>"
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table_place = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    path.write_bytes(data + f"trailer\n<< {trailer} >>\nstartxref\n{table_place}\n%%EOF\n".encode())
    return path
