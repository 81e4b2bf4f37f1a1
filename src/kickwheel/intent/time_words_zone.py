"""How either language says in which zone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from kickwheel.intent.time_tokens import CronWords, Entry, InZone, Meaning, Unclear, entry
from kickwheel.intent.zones import AMBIGUOUS, known_zones

_CHINESE = {
    word: name
    for name, words in {
        "Asia/Shanghai": "北京 上海 中国 东八区",
        "Asia/Hong_Kong": "香港",
        "Asia/Taipei": "台北",
        "Asia/Tokyo": "东京 日本",
        "Asia/Seoul": "首尔 韩国",
        "Asia/Singapore": "新加坡",
        "Asia/Kolkata": "孟买 印度",
        "Asia/Dubai": "迪拜",
        "Australia/Sydney": "悉尼",
        "Europe/London": "伦敦 英国",
        "Europe/Paris": "巴黎",
        "Europe/Berlin": "柏林 德国",
        "Europe/Moscow": "莫斯科",
        "Europe/Madrid": "马德里 西班牙",
        "Europe/Rome": "罗马 意大利",
        "Europe/Amsterdam": "阿姆斯特丹 荷兰",
        "Europe/Brussels": "布鲁塞尔 比利时",
        "Europe/Vienna": "维也纳 奥地利",
        "Europe/Zurich": "苏黎世 瑞士",
        "Europe/Warsaw": "华沙 波兰",
        "Europe/Prague": "布拉格 捷克",
        "Europe/Stockholm": "斯德哥尔摩 瑞典",
        "Europe/Oslo": "奥斯陆 挪威",
        "Europe/Copenhagen": "哥本哈根 丹麦",
        "Europe/Helsinki": "赫尔辛基 芬兰",
        "Europe/Dublin": "都柏林 爱尔兰",
        "Europe/Lisbon": "里斯本",
        "Europe/Athens": "雅典 希腊",
        "Europe/Istanbul": "伊斯坦布尔 土耳其",
        "Africa/Cairo": "开罗 埃及",
        "Africa/Johannesburg": "约翰内斯堡 南非",
        "Africa/Nairobi": "内罗毕 肯尼亚",
        "Asia/Bangkok": "曼谷 泰国",
        "Asia/Jakarta": "雅加达",
        "Asia/Kuala_Lumpur": "吉隆坡",
        "Asia/Manila": "马尼拉 菲律宾",
        "Asia/Ho_Chi_Minh": "胡志明市 越南",
        "Asia/Riyadh": "利雅得 沙特",
        "Asia/Macau": "澳门",
        "Australia/Melbourne": "墨尔本",
        "Pacific/Auckland": "奥克兰 新西兰",
        "America/Chicago": "芝加哥 美中",
        "America/Toronto": "多伦多",
        "America/Vancouver": "温哥华",
        "America/Mexico_City": "墨西哥城",
        "America/Sao_Paulo": "圣保罗",
        "America/New_York": "纽约 美东",
        "America/Los_Angeles": "洛杉矶 美西",
    }.items()
    for word in words.split()
}
_ENGLISH = {
    word: name
    for name, words in {
        "Asia/Shanghai": ("beijing", "china", "china standard"),
        "Asia/Kolkata": ("india", "indian", "mumbai"),
        "Asia/Tokyo": ("japan",),
        "Europe/London": ("uk", "british"),
        "Europe/Berlin": ("german", "munich", "frankfurt"),
        "America/New_York": ("eastern", "us eastern"),
        "America/Chicago": ("us central",),
        "America/Denver": ("us mountain",),
        "America/Los_Angeles": ("pacific", "us pacific", "san francisco"),
    }.items()
    for word in words
}


@cache
def _cities() -> Mapping[str, str | None]:
    """Last parts of IANA names, e.g. ``new york``; None where two areas share one."""
    cities: dict[str, str | None] = {}
    for name in known_zones():
        area, _, city = name.rpartition("/")
        if area and area not in {"Etc", "US", "Canada", "Brazil", "Mexico", "Chile", "SystemV"}:
            key = city.replace("_", " ").lower()
            cities[key] = name if key not in cities else None
    return cities | _ENGLISH


def _city(match: re.Match[str]) -> Meaning | None:
    words = match["city"].lower().split()
    for first in range(len(words)):
        found = _cities().get(" ".join(words[first:]))
        if found:
            return InZone(found)
    return Unclear(f"Which IANA time zone is {match['city']!r}, e.g. Europe/Berlin?", reason="ambiguous_zone")


def _place(match: re.Match[str]) -> Meaning | None:
    """A city right behind a time: '9am in Berlin' may be the zone or where the data is."""
    if _cities().get(match["place"].lower()) is None:
        return None
    return Unclear(f"Is the time meant in {match['place']}'s time zone? Write '{match['place']} time'", reason="ambiguous_zone")


def _offset(match: re.Match[str]) -> Meaning:
    hours = int(match["hours"] or 0)
    if hours == 0 and not match["minutes"]:
        return InZone("UTC")
    name = f"Etc/GMT{'-' if match['sign'] == '+' else '+'}{hours}"
    if match["minutes"] or name not in known_zones():
        return Unclear(f"Which IANA time zone is {match.group()!r}, e.g. Asia/Kolkata?", reason="ambiguous_zone")
    return InZone(name)


def _iana(match: re.Match[str]) -> Meaning | None:
    return InZone(match["iana"]) if match["iana"] in known_zones() else None


ZONE: tuple[Entry, ...] = (
    entry(
        r"(?:时区\s*(?:[:=]|为|是)?\s*|\btime\s?zone\s*[:=]?\s*)?\b(?P<iana>(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Za-z_]+(?:/[A-Za-z_]+)?(?:[+-]\d+)?)",
        _iana,
    ),
    entry(
        r"\b(?:UTC|GMT)\s*(?:(?P<sign>[+-])\s*(?P<hours>\d{1,2})(?::?(?P<minutes>30|45))?(?::?00)?)?(?:\s*time\b|时间)?(?![\w+-])",
        _offset,
    ),
    entry(
        rf"(?P<zh>{'|'.join(sorted(_CHINESE, key=len, reverse=True))})(?:标准|当地)?"
        r"(?:时间(?![表轴线段戳序])|时区|时(?![\u4e00-\u9fff]))",
        lambda m: InZone(_CHINESE[m["zh"]]),
    ),
    entry("东八区", InZone("Asia/Shanghai")),
    entry(
        rf"\b(?P<short>{'|'.join(AMBIGUOUS)})\b(?:\s*time)?",
        lambda m: Unclear(f"Which zone is {m['short']}? {AMBIGUOUS[m['short'].upper()]}", reason="ambiguous_zone"),
    ),
    Entry(re.compile(r"(?P<city>(?:\b[A-Z][A-Za-z]+ ){1,3})(?:[Ss]tandard |[Dd]aylight )?[Tt]ime\b", re.ASCII), _city),
    Entry(re.compile(r"(?:(?<=[\dm])|(?<=days)|(?<=daily)) in (?P<place>[A-Z][a-z]+(?: [A-Z][a-z]+)?)\b", re.ASCII), _place),
    Entry(
        re.compile(r"\b(?:ET|PT)\b", re.ASCII),
        lambda m: InZone({"ET": "America/New_York", "PT": "America/Los_Angeles"}[m.group()]),
    ),
)

CRON: tuple[Entry, ...] = (
    entry(
        r"(?<![\w*/,-])(?:(?:\*|\d{1,2})(?:[-/,*\d]*))(?:\s+(?:[\d*?LW#][-\d*/,?LW#]*|(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[-,a-z]*)){4,6}(?<!,)(?![\w*/-]|,[\w*])",
        lambda m: CronWords(m.group()) if "*" in m.group() else None,
    ),
)
