"""A small working domain to start from: two intents, a few rows, everything that a lap needs."""

from __future__ import annotations

import re
from pathlib import Path

from kickwheel.domain_folder import DOMAIN_FILE
from kickwheel.errors import DomainError
from kickwheel.workspace import write_atomically, write_jsonl
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.utterance import LabelSource, Provenance, Utterance, language_of

_DOMAIN = """\
name: {name}
title: {title}
zone: UTC # IANA zone of statements that name none
# settings: # anything of kickwheel.settings, by group
#   seeding: {{rounds: 2, per_round: 60}}
"""

_REQUIREMENTS = """\
---
title: What the platform must do
---

> Every sentence is read as a statement; the lines below one say how users ask for the task.
> Headings, block quotes like this one and code are not read. `kickwheel intent map` shows what each sentence becomes.

- Sync customer orders to the data lake every day at 9:00
  - Intent: sync_orders
  - Meaning: copy or refresh customer orders in the data lake
  - Slots: date (e.g. yesterday); region (name, e.g. EMEA)
- 每小时拉取API日志
  - 意图：fetch_api_logs
  - 说明：pull or download API logs
  - 槽位：service（名称，例如 checkout-api）
"""

_GLOSSARY = """\
# Business words of this domain, on top of the ones that every data platform shares.
entities:
  orders: [customer orders, 用户订单]
  api_logs: [API logs, API日志]
destinations:
  datalake: [data lake, 数据湖]
"""

_ROWS = {
    "seeds": (
        ("sync_orders", "push [date:yesterday]'s orders to the lake again please"),
        ("sync_orders", "the lake still misses purchases from [region:EMEA]"),
        ("sync_orders", "把[date:昨天]的订单同步到湖里"),
        ("fetch_api_logs", "pull the [service:checkout-api] logs"),
        ("fetch_api_logs", "拉一下[service:支付网关]的接口日志"),
        ("fetch_api_logs", "need access logs, all of them"),
        (OUT_OF_SCOPE, "what's for lunch today"),
        (OUT_OF_SCOPE, "grant me access to the dashboard"),
    ),
    "valid": (
        ("sync_orders", "refresh orders for [region:Japan]"),
        ("fetch_api_logs", "download gateway logs of [service:auth]"),
        (OUT_OF_SCOPE, "is the office open on Friday?"),
    ),
    "eval": (
        ("sync_orders", "orders -> lake, [date:last night]"),
        ("fetch_api_logs", "[service:billing] request logs pls"),
        (OUT_OF_SCOPE, "谁能帮我重置密码"),
    ),
    "pool": (
        (None, "can you re-run the order load for monday"),
        (None, "logs of the search api?"),
        (None, "下载一下订单服务的日志"),
        (None, "my laptop is broken"),
    ),
}
_MARK = re.compile(r"\[(\w+):([^\]]+)\]")


def scaffold_domain(name: str, parent: Path) -> Path:
    """Write a domain that passes :func:`kickwheel.domain.check_domain` and return its folder.

    Raises:
        DomainError: the name is no slug, or there is something at that place.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise DomainError(f"{name!r} is no name for a domain: lower-case letters, digits and _, a letter first")
    folder = parent / name
    if folder.exists():
        raise DomainError("exists already: nothing was written", file=folder)
    write_atomically(folder / DOMAIN_FILE, _DOMAIN.format(name=name, title=name.replace("_", " ").capitalize()))
    write_atomically(folder / "requirements" / "tasks.md", _REQUIREMENTS)
    write_atomically(folder / "glossary.yaml", _GLOSSARY)
    for split, rows in _ROWS.items():
        write_jsonl(folder / f"{split}.jsonl", [_row(split, number, *row) for number, row in enumerate(rows, start=1)])
    return folder


def _row(split: str, number: int, intent: str | None, marked: str) -> Utterance:
    text = _MARK.sub(r"\2", marked)
    frame = Frame.from_values(text, intent, dict(_MARK.findall(marked))) if intent else None
    source: LabelSource = "seed" if split == "seeds" else "gold"
    return Utterance(
        id=f"{split}-{number:04d}",
        text=text,
        language=language_of(text),
        frame=frame,
        provenance=Provenance(source=source) if frame else None,
    )
