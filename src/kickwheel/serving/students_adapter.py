"""Makes students of served versions: on a model server, or in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.inference.ports import Student
from kickwheel.probe import Probe
from kickwheel.serving.batching_adapter import BatchedStudent
from kickwheel.serving.metrics import ServiceMetrics
from kickwheel.serving.ports import LiveStudent
from kickwheel.serving.upstream_adapter import UpstreamStudent
from kickwheel.settings import Settings
from kickwheel.workspace import laps_of, read_jsonl
from schemas.seeding import SeedSet
from schemas.serving import ServedVersion
from schemas.task import TaskCatalog
from schemas.utterance import Utterance


class StudentWorkshop:
    """A :class:`~kickwheel.serving.ports.StudentMaker` for one domain."""

    def __init__(self, domain: Domain, settings: Settings, metrics: ServiceMetrics):
        self._domain, self._settings, self._metrics = domain, settings, metrics
        self._probe: Probe | None = None
        self._catalog: TaskCatalog | None = None

    async def make(self, version: ServedVersion) -> LiveStudent:
        """A student that is loaded, not yet warm. What takes time is done on a thread, requests go on meanwhile."""
        serving = self._settings.serving
        if version.kind == "vllm":
            failures = self._metrics.downstream_failures
            return UpstreamStudent(
                version.url,
                version.model,
                await asyncio.to_thread(self.catalog),
                timeout_s=serving.timeout_s,
                connections=serving.connections,
                confidence=serving.confidence,
                on_failure=lambda code: failures.labels(version.name, code).inc(),
            )
        make: Callable[[], Student] = self.probe if version.kind == "probe" else lambda: self._encoder(version)
        return BatchedStudent(await asyncio.to_thread(make), most=serving.batch)

    def probe(self) -> Probe:
        """Fitted once, on the labelled rows of the newest lap, else on the domain's seeds."""
        if self._probe is None:
            pool = [row.text for row in self._domain.rows("pool")]
            self._probe = Probe.fit(self._labelled(), seed=self._settings.seed, vocabulary_texts=pool)
        return self._probe

    def catalog(self) -> TaskCatalog:
        """Intents and slots of the newest lap, else as the rules read the domain's documents now."""
        if self._catalog is None:
            read = (lap for lap in reversed(laps_of(self._settings.home, self._domain.name)) if lap.has("intent"))
            lap = next(read, None)
            self._catalog = lap.load("intent", TaskCatalog) if lap else self._read_documents()
        return self._catalog

    def _labelled(self) -> list[Utterance]:
        for lap in reversed(laps_of(self._settings.home, self._domain.name)):
            if lap.has("seeding"):
                path = Path(lap.load("seeding", SeedSet).train.path)
                if path.is_file():
                    return read_jsonl(path, Utterance)
        return self._domain.rows("seeds")

    def _read_documents(self) -> TaskCatalog:
        from kickwheel.intent import map_requirements
        from kickwheel.registry import published_versions

        return map_requirements(
            self._domain.requirement_files,
            domain=self._domain.name,
            zone=self._domain.zone,
            glossary=self._domain.glossary(),
            min_interval_minutes=self._settings.intent.min_interval_minutes,
            versions=published_versions(self._domain.folder),
        )

    def _encoder(self, version: ServedVersion) -> Student:
        from kickwheel.tuning.encoder_student_adapter import load_encoder_student

        student: Student = load_encoder_student(Path(version.folder), self.catalog(), name=version.name)
        return student
