"""A small domain for the seeding tests: three intents, Chinese and emoji among the rows, answers known."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from kickwheel.inference.frame_codec import encode_frame
from kickwheel.inference.ports import ChatRequest
from kickwheel.seeding.rounds import SeedingInputs
from kickwheel.settings import SeedingSettings
from schemas.frame import Frame
from schemas.task import SlotSpec, TaskCatalog, TaskSchema
from schemas.utterance import Provenance, Utterance, language_of


def task(number: int, intent: str, *slots: SlotSpec) -> TaskSchema:
    action, target = intent.split("_", 1)
    return TaskSchema(id=UUID(int=number), intent=intent, action=action, target=target, description=intent, slots=slots)


DATE = SlotSpec(name="date", type="date")
REGION = SlotSpec(name="region")
SERVICE = SlotSpec(name="service")
CATALOG = TaskCatalog(
    domain="world",
    tasks=(task(1, "sync_orders", DATE, REGION), task(2, "fetch_logs", SERVICE, DATE), task(3, "enrich_profiles")),
)


def row(row_id: str, text: str, intent: str, **slots: str) -> Utterance:
    frame = Frame.from_values(text, intent, slots)
    return Utterance(id=row_id, text=text, language=language_of(text), frame=frame, provenance=Provenance(source="seed"))


def unlabelled(labelled: Utterance) -> Utterance:
    return labelled.model_copy(update={"frame": None, "provenance": None})


REGIONS = ("EMEA", "LATAM", "APAC", "Nordics", "华东", "华南")
SERVICES = ("checkout-api", "kong", "billing", "search-v2", "支付网关", "auth")


def _rows(prefix: str, days: tuple[str, ...]) -> list[Utterance]:
    rows = []
    for n, (region, service) in enumerate(zip(REGIONS, SERVICES, strict=True)):
        day = days[n % len(days)]
        rows += [
            row(f"{prefix}-{n}a", f"reload the orders of {region} for {day}", "sync_orders", region=region, date=day),
            row(f"{prefix}-{n}b", f"logs from {service} {day} 🙃", "fetch_logs", service=service, date=day),
            row(f"{prefix}-{n}c", f"complete customer profiles, ticket {prefix}{n}", "enrich_profiles"),
            row(f"{prefix}-{n}d", f"😀把{day}的订单同步一下 {n}", "sync_orders", date=day),
            row(f"{prefix}-{n}e", f"what is for lunch, {service}?", "out_of_scope"),
        ]
    return rows


SEEDS = _rows("seeds", ("yesterday", "today", "上周"))
TRUTH = {item.id: item for item in _rows("pool", ("last week", "昨天", "May"))}
POOL = [unlabelled(item) for item in TRUTH.values()]
VALID = _rows("valid", ("Monday", "本月"))
BY_TEXT = {item.text: item for item in TRUTH.values()}


def asked_text(request: ChatRequest) -> str:
    """The text that a request is about: the last user message, before any talk about a refused reply."""
    return next(m.content for m in reversed(request.messages) if m.role == "user" and m.content in BY_TEXT)


def oracle(request: ChatRequest) -> str:
    """A teacher who is always right."""
    frame = BY_TEXT[asked_text(request)].frame
    assert frame is not None
    return encode_frame(frame)


def shaky(request: ChatRequest) -> str:
    """A teacher who misses regions."""
    frame = BY_TEXT[asked_text(request)].frame
    assert frame is not None
    return encode_frame(frame.model_copy(update={"slots": tuple(slot for slot in frame.slots if slot.name != "region")}))


def inputs(folder: Path, **changes: object) -> SeedingInputs:
    values: dict[str, object] = {
        "catalog": CATALOG,
        "seeds": SEEDS,
        "pool": POOL,
        "valid": VALID,
        "answers": {},
        "folder": folder,
        "label_log": folder / "teacher_calls.jsonl",
        "settings": SeedingSettings(rounds=2, per_round=10, few_shot=3),
        "seed": 7,
    }
    return SeedingInputs(**{**values, **changes})  # type: ignore[arg-type]
