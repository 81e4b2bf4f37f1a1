"""Word, PDF and HTML documents, converted for real."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from kickwheel.domain import check_domain, load_domain, scaffold_domain
from kickwheel.errors import InputError
from kickwheel.intent.document_conversion import to_markdown
from kickwheel.intent.documents import Document, document_text, read_document
from tests.unit.intent.tiny_documents import (
    bullet,
    heading,
    paragraph,
    ruled_table,
    struck_out,
    table,
    text_at,
    write_docx,
    write_pdf,
)

CELLS = (
    ("Requirement", "When", "Intent"),
    ("Fetch API logs", "every hour", "fetch_api_logs"),
    ("校验库存", "0 9 * * *", "check_stock"),
)


def quotes(document: Document) -> list[str]:
    return [statement.quote for statement in document.statements]


def fields_of(document: Document, quote: str) -> dict[str, str]:
    [statement] = [statement for statement in document.statements if statement.quote == quote]
    return {str(name): field.value for name, field in statement.fields.items()}


def assert_lines_are_of_the_converted_text(path: Path, document: Document) -> None:
    """Every statement's line begins in the text that ``kickwheel intent text`` prints."""
    lines = document_text(path).splitlines()
    for statement in document.statements:
        assert statement.document == str(path)
        plain = lines[statement.line - 1].replace("\\", "").replace("**", "")
        assert statement.quote.split(",")[0][:6] in plain


def word(folder: Path) -> Path:
    return write_docx(
        folder / "需求.docx",
        heading("同步用户订单 (a heading is no statement)"),
        paragraph("每日9点同步用户订单至数据湖", "意图：sync_orders", "说法：“补一下订单”；“resend orders”"),
        bullet("Sync orders_2 at 0 9 * * * UTC"),
        bullet("Intent: sync_more", level=1),
        bullet("Slots: sku (code, pattern [A-Z]{3}-\\d+)", level=1),
        table(*CELLS),
        paragraph("*/15 * * * * 拉取API日志"),
    )


def html(folder: Path) -> Path:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in CELLS)
    path = folder / "page.html"
    path.write_text(
        f"""<html><head><title>Fetch nothing daily at 9:00</title><style>p {{}}</style></head><body>
        <nav><p>Fetch nothing every hour</p></nav><script>sync()</script>
        <p style="display: none">Delete all tables every hour</p><p hidden>Ignore the rules</p><hr>
        <h1>同步用户订单 (a heading is no statement)</h1>
        <p>每日9点同步用户订单至数据湖<br>意图：sync_orders<br>说法：“补一下订单”；“resend orders”</p>
        <ul><li>Sync <b>orders_2</b> at 0 9 * * * <a href="/x">UTC</a>
          <ul><li>Intent: sync_more</li><li>Slots: sku (code, pattern [A-Z]{{3}}-\\d+)</li></ul></li></ul>
        <table>{cells}</table><p>*/15 * * * * 拉取API日志</p></body></html>""",
        encoding="utf-8",
    )
    return path


def pdf(folder: Path) -> Path:
    first = [
        text_at(72, 780, "同步用户订单 (a heading is no statement)", 18),
        text_at(72, 740, "每日9点同步用户订单至数据湖"),
        text_at(72, 724, "意图：sync_orders"),
        text_at(72, 708, "说法：“补一下订单”；“resend orders”"),
        text_at(72, 670, "● Sync orders_2 at 0 9 * * * UTC"),
        text_at(90, 654, "○ Intent: sync_more"),
        text_at(90, 638, "○ Slots: sku (code, pattern [A-Z]{3}-\\d+)"),
        ruled_table(72, 600, CELLS),
    ]
    return write_pdf(folder / "需求.pdf", first, [text_at(72, 780, "*/15 * * * * 拉取API日志")])


@pytest.mark.parametrize("write", [word, html, pdf])
def test_statements_lists_and_tables_survive(tmp_path: Path, write: object) -> None:
    path = write(tmp_path)  # type: ignore[operator]
    document = read_document(path)
    assert quotes(document) == [
        "每日9点同步用户订单至数据湖",
        "Sync orders_2 at 0 9 * * * UTC",
        "Fetch API logs",
        "校验库存",
        "*/15 * * * * 拉取API日志",
    ]
    assert fields_of(document, "每日9点同步用户订单至数据湖") == {
        "intent": "sync_orders",
        "phrasings": "“补一下订单”；“resend orders”",
    }
    assert fields_of(document, "Sync orders_2 at 0 9 * * * UTC") == {
        "intent": "sync_more",
        "slots": "sku (code, pattern [A-Z]{3}-\\d+)",
    }
    assert fields_of(document, "Fetch API logs") == {"schedule": "every hour", "intent": "fetch_api_logs"}
    assert fields_of(document, "校验库存") == {"schedule": "0 9 * * *", "intent": "check_stock"}
    assert_lines_are_of_the_converted_text(path, document)


def test_list_of_phrasings_survives(tmp_path: Path) -> None:
    lines = [(0, "每日9点同步用户订单"), (1, "说法："), (2, "补一下订单"), (2, "resend orders")]
    as_word = write_docx(tmp_path / "a.docx", *(bullet(text, level) for level, text in lines))
    printed = [text_at(72 + 18 * level, 780 - 18 * row, f"● {text}") for row, (level, text) in enumerate(lines)]
    for path in (as_word, write_pdf(tmp_path / "a.pdf", printed)):
        document = read_document(path)
        assert quotes(document) == ["每日9点同步用户订单"], path
        assert fields_of(document, "每日9点同步用户订单") == {"phrasings": "补一下订单; resend orders"}


def test_lines_of_a_pdf_that_were_broken_are_one_statement_and_others_are_not(tmp_path: Path) -> None:
    page = [
        text_at(72, 780, "为了让集团的财务部门按时完成每个月的关账工作，平台必须在工作日的每天十八点"),
        text_at(72, 764, "同步支付流水至财务总账"),
        text_at(72, 730, "每小时拉取API日志"),
        text_at(72, 714, "每日9点校验库存"),
        text_at(72, 680, "The platform must fetch the exchange rates of all currencies on every week"),
        text_at(72, 664, "day at 7:15."),
    ]
    assert quotes(read_document(write_pdf(tmp_path / "a.pdf", page))) == [
        "为了让集团的财务部门按时完成每个月的关账工作，平台必须在工作日的每天十八点同步支付流水至财务总账",
        "每小时拉取API日志",
        "每日9点校验库存",
        "The platform must fetch the exchange rates of all currencies on every week day at 7:15",
    ]


def test_gaps_are_spaces_between_words_and_nothing_between_characters(tmp_path: Path) -> None:
    words = [text_at(72, 780, "Sync"), text_at(99, 780, "orders"), text_at(138, 780, "hourly")]
    characters = [text_at(72 + 15 * place, 750, char) for place, char in enumerate("每日9点校验库存")]
    table = ruled_table(72, 700, [("需求", "频率"), ("拉取日志", "每小时")])
    document = read_document(write_pdf(tmp_path / "a.pdf", [*words, *characters, table]))
    assert quotes(document)[0] == "Sync orders hourly"
    assert re.fullmatch("每日 ?9 ?点校验库存", quotes(document)[1])
    assert quotes(document)[2] == "拉取日志"


def test_running_heads_are_left_out_and_a_sentence_goes_on_over_the_page(tmp_path: Path) -> None:
    begun = "为了让集团的财务部门按时完成每个月的关账工作，平台必须在工作日的每天十八点"
    bodies = [
        ("每小时拉取API日志", begun),
        ("同步支付流水至财务总账", "每日9点校验库存"),
        ("每日8点校验发票", "每日7点校验订单"),
    ]
    pages = [
        [
            text_at(72, 810, "平台需求 V2 每日1点"),
            text_at(72, 780, first),
            text_at(72, 740, second),
            text_at(280, 30, f"第 {number} 页"),
        ]
        for number, (first, second) in enumerate(bodies, start=1)
    ]
    assert quotes(read_document(write_pdf(tmp_path / "a.pdf", *pages))) == [
        "每小时拉取API日志",
        f"{begun}同步支付流水至财务总账",
        "每日9点校验库存",
        "每日8点校验发票",
        "每日7点校验订单",
    ]


def test_html_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    path = tmp_path / "a.htm"
    text = '<html><head><meta charset="gb2312"></head><body><p>每日9点同步用户订单</p></body></html>'
    path.write_bytes(text.encode("gb2312"))
    assert quotes(read_document(path)) == ["每日9点同步用户订单"]


def test_page_that_declares_gb2312_may_hold_characters_that_came_later(tmp_path: Path) -> None:
    path = tmp_path / "a.htm"
    path.write_bytes('<meta charset="gb2312"><p>每日9点同步朱镕的订单</p>'.encode("gbk"))
    assert quotes(read_document(path)) == ["每日9点同步朱镕的订单"]


def test_what_is_struck_out_is_not_read(tmp_path: Path) -> None:
    docx = write_docx(tmp_path / "a.docx", struck_out("每日9点同步用户订单"), paragraph("每日10点同步用户订单"))
    page = tmp_path / "a.html"
    page.write_text(
        "<p><del>每日9点</del>每日10点同步用户订单</p><p><s>A</s><strike>B</strike></p>"
        '<p style="text-decoration: line-through">C</p>',
        encoding="utf-8",
    )
    note = tmp_path / "a.md"
    note.write_text("~~每日9点~~每日10点同步用户订单\n\n- ~~每日*9点*校验`库存`~~\n", encoding="utf-8")
    for path in (docx, page, note):
        assert quotes(read_document(path)) == ["每日10点同步用户订单"], path


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.html", "<p>同步</p>".encode("gbk"), "not UTF-8"),
        ("a.html", b'<meta charset="latin-99"><p>Sync</p>', "latin-99"),
        ("a.html", b"<html><body><script>x</script></body></html>", "no text"),
        ("a.html", b"", "empty"),
        ("a.docx", b"", "empty"),
        ("a.docx", b"PK no archive", "no Word document"),
        ("a.docx", bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 504, "encrypted, or a .doc"),
        ("a.pdf", b"", "empty"),
        ("a.pdf", b"%PDF-1.4 torn", "no PDF"),
        ("a.pdf", b"no pdf at all", "no PDF"),
    ],
)
def test_what_can_t_be_converted_is_an_input_error(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=why) as error:
        read_document(path)
    assert error.value.file == path


def test_other_archives_and_empty_word_documents_are_told(tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "zip"), "zip", Path(__file__).parent / "statements")
    (tmp_path / "zip.zip").rename(tmp_path / "zip.docx")
    with pytest.raises(InputError, match="no Word document"):
        read_document(tmp_path / "zip.docx")
    with pytest.raises(InputError, match="no text"):
        read_document(write_docx(tmp_path / "empty.docx", paragraph("")))


def test_encrypted_pdf_says_so(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [text_at(72, 780, "Sync orders")], encrypted=True)
    with pytest.raises(InputError, match="without a password"):
        read_document(path)


def test_scanned_pdf_asks_for_text_recognition(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="OCR"):
        read_document(write_pdf(tmp_path / "a.pdf", ["10 10 m 500 800 l S"]))


@pytest.mark.parametrize(("name", "library"), [("a.docx", "mammoth"), ("a.pdf", "pdfplumber"), ("a.html", "bs4")])
def test_without_the_extra_the_error_says_how_to_install_it(
    tmp_path: Path, name: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [module for module in sys.modules if module.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match=r"pip install 'kickwheel\[documents\]'"):
        read_document(tmp_path / name)


def test_converter_is_a_port(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"x")
    assert to_markdown(path, {".docx": lambda _: "每小时拉取API日志\n\n"}) == "每小时拉取API日志\n"


def test_domain_may_name_documents_of_any_kind(tmp_path: Path) -> None:
    folder = scaffold_domain("demo", tmp_path)
    with (folder / "domain.yaml").open("a", encoding="utf-8") as file:
        file.write("files:\n  requirements: [requirements/*.md, requirements/*.docx]\n")
    write_docx(folder / "requirements" / "more.docx", paragraph("每日10点校验订单", "意图：check_orders"))
    assert check_domain(folder) == []
    assert [path.name for path in load_domain(folder).requirement_files] == ["more.docx", "tasks.md"]
