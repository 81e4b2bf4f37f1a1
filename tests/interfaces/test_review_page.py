"""The review page in a real browser: ten rows by keyboard and mouse, two of them Chinese with emoji, one undone, exported."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from typer.testing import CliRunner

from kickwheel.cli import app
from kickwheel.review.page_adapter import review_app
from kickwheel.review.queue import DomainReview
from kickwheel.workspace import read_jsonl
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.review import ReviewRow
from tests.unit.review.review_world import ITEMS, ZH, ZH_LOGS, desk, frame, world

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

pytestmark = pytest.mark.filterwarnings("default")  # Playwright's event loop


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Playwright's own Chromium, or the machine's."""
    playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    with playwright_api.sync_playwright() as playwright:
        installed = Path(playwright.chromium.executable_path).is_file()
        found = None if installed else next(filter(None, map(shutil.which, BROWSERS)), None)
        if not installed and found is None:
            pytest.skip("there is no Chromium: apt-get install chromium, or python -m playwright install --with-deps chromium")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def review(tmp_path: Path) -> DomainReview:
    return world(tmp_path)


@pytest.fixture
def address(review: DomainReview) -> Iterator[str]:
    """The page's server, on a free port."""
    application = review_app(desk(review, overlap=1.0), title="数据平台 <b>claims</b>", token="a-token")
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page as its first reviewer has it. Nothing may be logged as an error, a refused script or style among it."""
    context = browser.new_context(accept_downloads=True, locale="en-GB")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda message: errors.append(message.text) if message.type == "error" and "422" not in message.text else None,
    )
    begin(page, address, "ana")
    yield page
    context.close()
    assert errors == []


def begin(page: Page, address: str, reviewer: str) -> None:
    page.goto(address)
    page.get_by_label("Your name").fill(reviewer)
    page.get_by_role("button", name="Start").click()
    shows(page, ITEMS[0].text)


def shows(page: Page, text: str) -> None:
    page.wait_for_function("text => document.getElementById('text').textContent === text", arg=text)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def choose(page: Page, typed: str) -> None:
    press(page, "i")
    page.keyboard.type(typed)
    press(page, "Enter")


def drag_over(page: Page, words: str) -> None:
    """Select words with the mouse, from the left edge of the first character to the right edge of the last."""
    box = page.evaluate(
        """words => {
          const walker = document.createTreeWalker(document.getElementById('text'), NodeFilter.SHOW_TEXT);
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const at = node.data.indexOf(words);
            if (at >= 0) {
              const range = document.createRange();
              range.setStart(node, at);
              range.setEnd(node, at + words.length);
              const {left, right, top, bottom} = range.getBoundingClientRect();
              return {left, right, middle: (top + bottom) / 2};
            }
          }
        }""",
        words,
    )
    page.mouse.move(box["left"] + 1, box["middle"])
    page.mouse.down()
    page.mouse.move(box["right"] - 1, box["middle"], steps=5)
    page.mouse.up()


def test_ten_rows_are_labelled_one_is_undone_and_the_spans_round_trip(
    page: Page, review: DomainReview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[Frame] = []

    assert page.get_by_text("Suggested: sync_orders (91 %)").is_visible()
    assert page.get_by_text("63 %").is_visible()
    assert page.get_by_text("the two labellers mark different details").is_visible()

    # 1: the suggestion, and one detail more, marked by keyboard: the last word is "yesterday"
    press(page, *["ArrowRight"] * 7, "1", "Enter")
    expected.append(frame(ITEMS[0].text, "sync_orders", region="EMEA", date="yesterday"))
    shows(page, ZH)

    # 2: Chinese after emoji of one and of several code points: marked with the mouse
    drag_over(page, "昨天")
    press(page, "1")
    drag_over(page, "２号仓")
    press(page, "2", "Enter")
    expected.append(frame(ZH, "sync_orders", date="昨天", region="２号仓"))
    shows(page, ITEMS[2].text)

    # 3: accepted as it stands
    press(page, "a")
    assert ITEMS[2].suggestion is not None
    expected.append(ITEMS[2].suggestion)
    shows(page, ZH_LOGS)

    # 4: Chinese, no suggestion: the intent by typing, details by a drag and by keyboard (grown character by character)
    choose(page, "logs")
    drag_over(page, "支付网关")
    press(page, "1")
    drag_over(page, "上")
    press(page, "Shift+ArrowRight", "2", "Enter")
    expected.append(frame(ZH_LOGS, "fetch_logs", service="支付网关", date="上周"))
    shows(page, ITEMS[4].text)

    # 5: user text that looks like HTML stays text
    assert page.locator("#text b").count() == 0
    press(page, "o")
    expected.append(Frame(intent=OUT_OF_SCOPE))
    shows(page, ITEMS[5].text)

    # 6: answered wrongly, undone, answered again
    press(page, "o")
    shows(page, ITEMS[6].text)
    press(page, "u")
    shows(page, ITEMS[5].text)
    assert page.get_by_role("combobox").input_value() == OUT_OF_SCOPE  # starts from what was undone
    press(page, "Escape", "Enter")  # back to the suggestion
    expected.append(Frame(intent="enrich_profiles"))
    shows(page, ITEMS[6].text)

    # 7: no intent, no answer; then one from the list, which takes the detail's button
    press(page, "Enter")
    page.get_by_text("Choose what is asked for first.").wait_for()
    choose(page, "sync")
    drag_over(page, "APAC")
    page.get_by_role("button", name="region").click()
    press(page, "Enter")
    expected.append(frame(ITEMS[6].text, "sync_orders", region="APAC"))
    shows(page, ITEMS[7].text)

    # 8: a mark that is taken away again
    press(page, "Backspace", "Enter")
    expected.append(Frame(intent="fetch_logs"))
    shows(page, ITEMS[8].text)

    # 9: skipped first
    press(page, "s")
    shows(page, ITEMS[9].text)
    press(page, "u")
    shows(page, ITEMS[8].text)
    press(page, "a")
    assert ITEMS[8].suggestion is not None
    expected.append(ITEMS[8].suggestion)
    shows(page, ITEMS[9].text)

    # 10
    page.get_by_role("button", name="Accept suggestion").click()
    expected.append(Frame(intent=OUT_OF_SCOPE))
    page.get_by_text("Nothing waits for you.").wait_for()
    assert page.get_by_role("progressbar").get_attribute("aria-valuenow") == "100"

    with page.expect_download() as download:
        page.get_by_role("button", name="Export answers").click()
    download.value.save_as(tmp_path / "review.jsonl")
    exported = read_jsonl(tmp_path / "review.jsonl", ReviewRow)
    answers = [answer for row in exported for answer in row.answers]
    assert [answer.frame for answer in answers] == expected
    for answer in answers:
        assert answer.frame is not None
        assert all(answer.text[slot.start : slot.end] == slot.value for slot in answer.frame.slots)
    assert [line.decision for line in review.log.answers()].count("withdrawn") == 2

    elsewhere = world(tmp_path / "elsewhere")
    monkeypatch.setenv("KICKWHEEL_HOME", str(elsewhere.home))
    folder, file = str(elsewhere.domain.folder), str(tmp_path / "review.jsonl")
    result = CliRunner().invoke(app, ["review", "import", folder, file])
    assert "10 answers taken" in result.stderr
    assert [row.frame for row in elsewhere.standings()] == expected


def test_a_second_reviewer_is_compared_with_the_first(page: Page, address: str, browser: Browser) -> None:
    press(page, "a")
    shows(page, ZH)
    other = browser.new_context(locale="en-GB").new_page()
    begin(other, address, "李雷")
    press(other, "o")
    shows(other, ZH)
    other.get_by_role("button", name="Agreement 0 %").click()
    told = other.get_by_role("dialog").inner_text()
    assert "ana · 李雷" in told
    assert "Rows in conflict: 1" in told
    other.context.close()


def test_the_page_speaks_chinese_and_has_a_dark_side(browser: Browser, address: str) -> None:
    context = browser.new_context(locale="zh-CN", color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    page.get_by_label("您的名字").fill("李雷")
    page.get_by_role("button", name="开始").click()
    shows(page, ITEMS[0].text)
    assert page.get_by_role("button", name="保存").is_visible()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="浅色或深色").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    press(page, "?")
    assert "撤销上一个答案" in page.get_by_role("dialog").inner_text()
    context.close()


def test_an_answer_that_could_not_be_saved_stays_on_the_page(page: Page, review: DomainReview) -> None:
    page.route("**/api/answer", lambda route: route.fulfill(status=422, body=json.dumps({"error": "the disk is full"})))
    press(page, "a")
    page.get_by_text("the disk is full").wait_for()
    shows(page, ITEMS[0].text)
    assert review.log.answers() == []
    page.unroute("**/api/answer")
    press(page, "a")
    shows(page, ZH)
