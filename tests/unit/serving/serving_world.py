"""A service with scripted versions: everything real but the models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from kickwheel.errors import KickwheelError
from kickwheel.serving.access import CallerLimits, Tokens, read_tokens
from kickwheel.serving.app import create_app
from kickwheel.serving.fleet import Fleet
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.recorder import InferenceRecorder
from kickwheel.serving.response_cache import ResponseCache
from kickwheel.serving.routing_adapter import RoutingWatch, write_routing
from kickwheel.serving.service import Fallback, UnderstandingService
from schemas.events import InferenceRecord, Received
from schemas.frame import Frame, Prediction
from schemas.serving import Routing, ServedVersion

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HERE = "http://127.0.0.1:8500"
UNDERSTAND, FEEDBACK, ADMIN = "understand-" + "0" * 16, "feedback-" + "1" * 16, "admin-" + "2" * 16
TOKENS = read_tokens(SecretStr(f"web:understand:{UNDERSTAND} app:feedback:{FEEDBACK} ops:admin:{ADMIN}"), None)
NOBODY = Tokens([])

TEXT = "👩‍👩‍👧 把昨天的订单同步到２号仓 🚚"


def version(name: str, **more: Any) -> ServedVersion:
    return ServedVersion(name=name, kind="probe", **more)


def routing(revision: int, champion: str = "old", challenger: str | None = None, **more: Any) -> Routing:
    other = version(challenger) if challenger else None
    return Routing(revision=revision, champion=version(champion), challenger=other, experiment="trial" if other else "", **more)


def orders(text: str) -> Prediction:
    """The intent of every text, and its date and region where they stand in it."""
    values = {name: value for name, value in {"date": "昨天", "region": "２号仓"}.items() if value in text}
    return Prediction(frame=Frame.from_values(text, "sync_orders", values), confidence=0.75, intent_confidence=0.9)


@dataclass
class Scripted:
    """A live student that answers as it is told; an error is raised."""

    answer: Callable[[str], Prediction | Exception] = orders
    delay_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    closed: bool = False

    async def understand(self, text: str) -> Prediction:
        assert not self.closed, "asked after it was closed"
        self.asked.append(text)
        await asyncio.sleep(self.delay_s)
        assert not self.closed, "closed while it worked"
        found = self.answer(text)
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self) -> None:
        self.closed = True

    @property
    def questions(self) -> list[str]:
        """What it was asked beside the warm-up."""
        return [text for text in self.asked if text != "warm up"]


@dataclass
class Maker:
    """Gives out students by the names of their versions; an error is raised."""

    students: Mapping[str, Scripted | KickwheelError]

    async def make(self, version: ServedVersion) -> Scripted:
        found = self.students[version.name]
        if isinstance(found, KickwheelError):
            raise found
        found.closed = False
        return found


@dataclass
class Written:
    """A record writer that is done at once, or fails as it is told."""

    records: list[InferenceRecord] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    refusals: list[KickwheelError] = field(default_factory=list)
    batches: int = 0

    def submit(self, inferences: Any = ()) -> Future[Received]:
        if self.refusals:
            raise self.refusals.pop(0)
        self.batches += 1
        done: Future[Received] = Future()
        if self.failures:
            done.set_exception(self.failures.pop(0))
        else:
            self.records += inferences
            done.set_result(Received(added=len(inferences)))
        return done


@dataclass
class World:
    """What a test may look at after the fact."""

    home: Path
    students: dict[str, Scripted | KickwheelError]
    written: Written = field(default_factory=Written)
    metrics: ServiceMetrics = field(default_factory=ServiceMetrics)
    tokens: Tokens = NOBODY
    calls_per_second: float = 0.0
    cache_size: int = 0
    fallback: Scripted | None = None

    @property
    def path(self) -> Path:
        return self.home / "routing.json"

    def put(self, wanted: Routing) -> None:
        write_routing(self.path, wanted)

    def fleet(self) -> Fleet:
        return Fleet(RoutingWatch(self.path), Maker(self.students), drain_s=5.0)

    def service(self) -> UnderstandingService:
        return UnderstandingService(
            self.fleet(),
            ResponseCache(self.cache_size),
            InferenceRecorder(self.written),
            self.metrics,
            low_confidence=0.5,
            fallback=Fallback("orders-probe", self.fallback) if self.fallback else None,
            clock=lambda: NOW,
            timer=lambda: 0.0,
        )

    def app(self, **more: Any) -> FastAPI:
        @asynccontextmanager
        async def opening() -> AsyncIterator[UnderstandingService]:
            service = self.service()
            await service.fleet.look()
            try:
                yield service
            finally:
                await service.close()

        limits = CallerLimits(self.calls_per_second, clock=lambda: 0.0)
        options: dict[str, Any] = {"tokens": self.tokens, "limits": limits, "metrics": self.metrics, "max_body_bytes": 65_536}
        return create_app(opening, **{**options, **more})

    def client(self, token: str = "", **more: Any) -> TestClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return TestClient(self.app(**more), base_url=HERE, headers=headers)

    def figure(self, name: str, **labels: str) -> float:
        """A metric's value now; 0 where it has none yet."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


def world(home: Path, students: Mapping[str, Scripted | KickwheelError] | None = None, **more: Any) -> World:
    """A service whose champion is ``old``."""
    made = World(home, dict(students or {"old": Scripted()}), **more)
    made.put(routing(1))
    return made
