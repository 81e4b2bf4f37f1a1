"""A domain whose first lap has asked ten rows, two of them Chinese with emoji; no pipeline is run for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from kickwheel.domain import load_domain, scaffold_domain
from kickwheel.review.desk import Desk
from kickwheel.review.queue import DomainReview
from kickwheel.seeding.review_queue import ReviewItem, ReviewQueue
from kickwheel.workspace import Lap, open_lap
from schemas.frame import Frame
from schemas.review import Decision, ReviewAnswer
from schemas.utterance import language_of
from tests.unit.seeding.seeding_world import CATALOG

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def item(number: int, text: str, suggestion: Frame | None, *reasons: str) -> ReviewItem:
    return ReviewItem(
        id=f"pool-{number:04d}",
        text=text,
        language=language_of(text),
        suggestion=suggestion,
        intent_confidence=0.91 if suggestion else None,
        slot_confidence={slot.name: 0.63 for slot in suggestion.slots} if suggestion else {},
        reasons=reasons or ("slots_disagree",),
        probe_confidence=0.4,
        round=1,
    )


def frame(text: str, intent: str, **slots: str) -> Frame:
    return Frame.from_values(text, intent, slots)


ORDERS = "reload the orders of EMEA for yesterday"
ZH = "😀把👩‍👩‍👧昨天的订单同步到 ２号仓 🚚"
ZH_LOGS = "拉一下支付网关🙃上周的日志"
ITEMS = [
    item(1, ORDERS, frame(ORDERS, "sync_orders", region="EMEA")),
    item(2, ZH, Frame(intent="sync_orders"), "intent_disagrees"),
    item(3, "logs from kong today 🙃", frame("logs from kong today 🙃", "fetch_logs", service="kong", date="today")),
    item(4, ZH_LOGS, None, "malformed"),
    item(5, "what is for lunch, <b>kong</b>?", Frame(intent="enrich_profiles"), "intent_disagrees"),
    item(6, "complete customer profiles", Frame(intent="enrich_profiles")),
    item(7, "orders of APAC again", None, "no teacher"),
    item(8, "get me the auth logs of May", frame("get me the auth logs of May", "fetch_logs", service="auth")),
    item(9, "sync LATAM last week", frame("sync LATAM last week", "sync_orders", region="LATAM")),
    item(10, "hello", Frame(intent="out_of_scope")),
]
BY_ID = {one.id: one for one in ITEMS}


def ask(lap: Lap, items: list[ReviewItem], folder: str = "from-0123") -> None:
    """What a seeding stage leaves of its questions."""
    ReviewQueue(lap.folder / "seeding" / folder / "review_items.jsonl").add(items)


def world(folder: Path, items: list[ReviewItem] = ITEMS) -> DomainReview:
    """The domain, its lap's catalogue and questions on disk."""
    domain = load_domain(scaffold_domain("claims", folder))
    home = folder / "home"
    lap = open_lap(home, domain.name)
    lap.finish("intent", CATALOG, "inputs")
    ask(lap, items)
    return DomainReview(domain, home)


def desk(review: DomainReview, overlap: float = 0.0) -> Desk:
    """A desk whose clock stands still."""
    return Desk(review, CATALOG, overlap=overlap, clock=lambda: NOON)


def said(
    row: ReviewItem, reviewer: str, label: Frame | None, minute: int = 0, decision: Decision | None = None
) -> ReviewAnswer:
    """An answer; without a label it is a skip."""
    return ReviewAnswer(
        id=row.id,
        text=row.text,
        decision=decision or ("labelled" if label else "skipped"),
        frame=label,
        reviewer=reviewer,
        at=NOON + timedelta(minutes=minute),
        via="page",
    )
