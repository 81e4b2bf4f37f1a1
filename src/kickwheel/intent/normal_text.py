"""One spelling for what is written in many: width, dashes, traditional characters of time words, Chinese numerals."""

from __future__ import annotations

import re
import unicodedata

_SPELLING = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("“”", '"'),
        **dict(
            zip(
                "點週號時鐘個間訂單數據庫匯總發報資觸結後從開戶畫歸檔驗導",
                "点周号时钟个间订单数据库汇总发报资触结后从开户画归档验导",
                strict=True,
            )
        ),
    }
)
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}

ZH_NUMBER = r"(?:\d+|[二三四五六七八九]?十[一二三四五六七八九]?|[零〇]?[零〇一二三四五六七八九两兩])"
"""Pattern of a whole number below 100 in Arabic or Chinese digits."""


def normalise(text: str) -> str:
    """NFKC (full-width digits and punctuation become ASCII), one kind of dash and quote, runs of space become one."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SPELLING).split())


_SPACED = re.compile(r"(?<=[\u4e00-\u9fff\d]) (?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff]) (?=\d)")
_SPACED_OUT = 4
"""Spaces at Han characters from which a text is written word by word; fewer set its parts apart."""


def unspaced(text: str) -> str:
    """Chinese that is written with a space after each word, without them: 每天 6 点 同步 订单 到 数仓."""
    return _SPACED.sub("", text) if len(_SPACED.findall(text)) >= _SPACED_OUT else text


def number(text: str) -> int:
    """Value of a whole number below 100: ``15``, ``十五``, ``二十``, ``两``.

    Raises:
        ValueError: no such number.
    """
    if text.isdecimal():
        return int(text)
    if len(text) > 1 and text[0] in "零〇":  # 零五, and 零5 as some write it
        return number(text[1:])
    tens, ten, ones = text.partition("十")
    if not ten:
        if len(text) != 1:
            raise ValueError(f"{text!r} is no number below 100")
        return _DIGITS[text]
    if len(tens) > 1 or len(ones) > 1:
        raise ValueError(f"{text!r} is no number below 100")
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def comparable(text: str) -> str:
    """Text without case, width, white space and punctuation: equal where people would say 'the same'."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "PZC")
