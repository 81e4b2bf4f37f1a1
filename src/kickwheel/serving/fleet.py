"""The versions in service, and how one takes another's place without a request failing.

A new routing is put in service whole: first every version of it is loaded and warm, then one assignment switches, and a version
that nobody needs any more answers what it has begun and is closed. Everything runs on one event loop, so between two ``await``s
a request sees one state.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.serving.assignment import Arm
from kickwheel.serving.ports import LiveStudent, StudentMaker
from kickwheel.serving.routing_adapter import POLL_S, RoutingWatch
from schemas.calibration import Calibration
from schemas.frame import Prediction
from schemas.serving import Routing, ServedVersion

LOG = logging.getLogger(__name__)

CALIBRATION_FILE = "calibration.json"
"""Beside the artifact, in its folder; without it confidence is told as the model gave it."""

WARM_UP_TEXT = "warm up"
RETRY_S = 2.0
"""Between attempts at a routing that could not be put in service."""


@dataclass
class Serving:
    """A version that is loaded."""

    version: ServedVersion
    student: LiveStudent
    calibration: Calibration | None
    warm_s: float
    key: str
    """Tells its answers from every other version's."""
    in_flight: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """For the time of a request: it is not closed meanwhile."""
        self.in_flight += 1
        self.idle.clear()
        try:
            yield
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self.idle.set()

    async def understand(self, text: str) -> Prediction:
        """Ask it."""
        with self.working():
            return await self.student.understand(text)


@dataclass(frozen=True)
class InService:
    """One state of the service."""

    routing: Routing
    champion: Serving
    challenger: Serving | None

    def serving(self, arm: Arm) -> Serving:
        """What answers for an arm."""
        return self.challenger if arm == "challenger" and self.challenger is not None else self.champion

    @property
    def all(self) -> tuple[Serving, ...]:
        """Champion first."""
        return (self.champion,) if self.challenger is None else (self.champion, self.challenger)


class Fleet:
    """Follows a routing file.

    Args:
        drain_s: seconds that a version has for what it has begun, once it is replaced.
        on_change: told each routing that went into service.
    """

    def __init__(
        self,
        watch: RoutingWatch,
        maker: StudentMaker,
        *,
        drain_s: float = 30.0,
        on_change: Callable[[InService], None] = lambda _state: None,
    ):
        self._watch, self._maker, self._drain_s, self._on_change = watch, maker, drain_s, on_change
        self.state: InService | None = None
        """What is in service; None: nothing is warm yet."""
        self.problem = "nothing is in service yet"
        """Why the newest routing is not in service; empty: it is."""
        self._wanted: Routing | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    async def follow(self) -> None:
        """Put each change of the routing in service, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(POLL_S if not self.problem or self._wanted is None else RETRY_S)

    async def look(self) -> None:
        """Put the newest routing in service, if it is not yet; what is in service stays where that cannot be done."""
        try:
            self._wanted = self._watch.look() or self._wanted
            if self._wanted is None:
                self.problem = f"there is no routing: {self._watch.path}"
            elif self.state is None or self.state.routing != self._wanted:
                await self._put_in_service(self._wanted)
        except InputError as error:
            self.problem = str(error)
            LOG.error("the routing does not hold, the one before stays in service: %s", error)
        except Exception as error:  # whatever a version fails with, the ones in service go on
            self.problem = f"{type(error).__name__}: {error}"
            LOG.error("the routing could not be put in service, the one before stays: %s", error)

    async def close(self) -> None:
        """Close every version, after what it has begun."""
        for serving in self.state.all if self.state else ():
            self._retire(serving)
        self.state = None
        if self._retiring:
            await asyncio.gather(*self._retiring, return_exceptions=True)

    async def _put_in_service(self, routing: Routing) -> None:
        loaded = {serving.version: serving for serving in (self.state.all if self.state else ())}
        fresh: list[Serving] = []
        try:
            champion = loaded.get(routing.champion)
            if champion is None:
                fresh.append(champion := await self._load(routing.champion))
            challenger = None
            if routing.challenger is not None:
                challenger = champion if routing.challenger == routing.champion else loaded.get(routing.challenger)
                if challenger is None:
                    fresh.append(challenger := await self._load(routing.challenger))
        except BaseException:
            for serving in fresh:
                self._retire(serving)
            raise
        self.state, self.problem = InService(routing, champion, challenger), ""
        kept = {id(serving) for serving in self.state.all}
        for serving in loaded.values():
            if id(serving) not in kept:
                self._retire(serving)
        LOG.info("in service: revision %d, %s", routing.revision, ", ".join(one.version.name for one in self.state.all))
        self._on_change(self.state)

    async def _load(self, version: ServedVersion) -> Serving:
        begin = time.monotonic()
        student = await self._maker.make(version)
        try:
            await student.understand(WARM_UP_TEXT)
            await student.understand(WARM_UP_TEXT)  # the first may pay for what is compiled or connected, the second must not
            calibration = read_calibration(version)
        except BaseException:
            await student.close()
            raise
        return Serving(version, student, calibration, time.monotonic() - begin, version.model_dump_json())

    def _retire(self, serving: Serving) -> None:
        task = asyncio.create_task(self._close_when_idle(serving))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _close_when_idle(self, serving: Serving) -> None:
        if serving.in_flight:
            try:
                await asyncio.wait_for(serving.idle.wait(), self._drain_s)
            except TimeoutError:
                LOG.warning("%s had %d requests left after %g s", serving.version.name, serving.in_flight, self._drain_s)
        await serving.student.close()


def read_calibration(version: ServedVersion) -> Calibration | None:
    """The calibration beside a version's artifact; None: there is none.

    Raises:
        InputError: the file does not hold.
    """
    path = Path(version.folder) / CALIBRATION_FILE
    if not version.folder or not path.is_file():
        return None
    try:
        return Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InputError(first["msg"], file=path, field=".".join(str(part) for part in first["loc"]) or None) from error
