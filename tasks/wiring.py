"""Where ports meet adapters: the only place that builds them, from settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from prefect.logging import get_run_logger

from kickwheel.distillation.ports import Distiller
from kickwheel.distillation.token_teacher_adapter import find_token_teacher
from kickwheel.domain import Domain, load_domain
from kickwheel.errors import ServerNotInstalled
from kickwheel.inference.base_model_adapter import BaseModelFolder, ensure_base_model
from kickwheel.inference.metered_client import LimitedClient, MeteredClient
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatClient, ChatRequest, Message, Student
from kickwheel.inference.purse import SPEND_FILE, Budget, Purse
from kickwheel.inference.rate_limit import RateLimiter
from kickwheel.inference.served_student import MAX_TOKENS, ServedStudent
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.vllm_adapter import RunningServer, find_server_command, model_server
from kickwheel.inference.warmup import warm_up
from kickwheel.lineage import stage_inputs
from kickwheel.probe import Probe
from kickwheel.seeding.student_scores import StudentScorer
from kickwheel.settings import Settings, get_settings
from kickwheel.tracking.registry_adapter import AdapterRegistry
from kickwheel.tracking.runs_adapter import LapTracker, RunRecorder
from kickwheel.tracking.traced_client_adapter import TracedClient
from kickwheel.tuning.ports import LoraTrainer, StudentTrainer
from kickwheel.workspace import Lap, open_lap
from schemas.feedback import TokenTeacher
from schemas.lap import Stage
from schemas.student import EncoderStudentPlan
from schemas.task import TaskCatalog
from schemas.tuning import AdapterArtifact
from tasks.policies import gpu_slot


@dataclass(frozen=True)
class Place:
    """Where a stage works."""

    domain: Domain
    settings: Settings
    lap: Lap

    @property
    def catalog(self) -> TaskCatalog:
        """The lap's catalogue."""
        return self.lap.load("intent", TaskCatalog)

    @property
    def teacher_ledger(self) -> Path:
        """What the teacher has cost in this lap."""
        return self.lap.folder / SPEND_FILE

    @property
    def on_gpu(self) -> bool:
        """Whether server and training want the same GPU; on a CPU they stand side by side."""
        return self.settings.server.device == "gpu"

    def gpu_slot(self) -> AbstractContextManager[None]:
        """Held around GPU work; nothing to hold on a CPU."""
        return gpu_slot() if self.on_gpu else nullcontext()

    def work(self, stage: Stage) -> Path:
        """Folder for what the stage makes from its present inputs."""
        return self.lap.work(stage, stage_inputs(stage, self.domain, self.settings, self.lap))


@dataclass(frozen=True)
class Endpoint:
    """A model by address: plain data that may travel between tasks. ``reason`` says why there is none."""

    url: str = ""
    model: str = ""
    reason: str = ""


def place_of(domain: str, lap: int) -> Place:
    """The domain, its settings and its lap (0: the unfinished one, or the next).

    Raises:
        DomainError: the folder does not hold.
    """
    found = load_domain(Path(domain))
    settings = get_settings(found.settings)
    return Place(found, settings, open_lap(settings.home, found.name, lap))


def tracker(place: Place) -> LapTracker:
    """The lap's MLflow runs."""
    return LapTracker(place.settings, place.domain.name, place.lap)


def registry(place: Place) -> AdapterRegistry:
    """The domain's adapters in the model registry."""
    ledger = place.settings.home / place.domain.name / "promotions.jsonl"
    return AdapterRegistry(tracker(place).client, place.domain.name, ledger)


def base_model(place: Place) -> BaseModelFolder:
    """The base model, ready on disk."""
    return ensure_base_model(place.settings.model.base, place.settings.home)


def trainer(place: Place) -> LoraTrainer:
    """The trainer that the settings name."""
    if place.settings.trainer == "instant":
        from kickwheel.testing.instant_trainer import InstantTrainer

        return InstantTrainer()
    from kickwheel.tuning.trainer_adapter import PeftTrainer

    return PeftTrainer()


def encoder_trainer(place: Place) -> StudentTrainer[EncoderStudentPlan]:
    """The trainer of encoder students; there is no instant one, since the real one takes seconds on a tiny encoder."""
    from kickwheel.tuning.encoder_trainer_adapter import EncoderStudentTrainer

    return EncoderStudentTrainer()


def distiller(place: Place) -> Distiller:
    """The distiller that goes with the trainer."""
    if place.settings.trainer == "instant":
        from kickwheel.testing.instant_trainer import InstantTrainer

        return InstantTrainer()
    from kickwheel.distillation.distil_adapter import PeftDistiller

    return PeftDistiller()


def token_teacher(place: Place) -> TokenTeacher | None:
    """The causal teacher of token-level distillation, whose tokens are the base's; None where it is off."""
    settings = place.settings
    if settings.distillation.token_kl == 0:
        return None
    return find_token_teacher(settings.distillation, base_path=base_model(place).path, home=settings.home)


@dataclass
class _SharedServer:
    """The server of several stages, and what ends it."""

    serving: ExitStack
    server: RunningServer | None = None


_shared: ContextVar[_SharedServer | None] = ContextVar("shared_server", default=None)


@contextmanager
def one_server(place: Place) -> Iterator[None]:
    """The stages of the block share one model server, started by the first that needs it: a start takes 25 s on a CPU.

    On a GPU each stage has its own, since training needs the memory.
    """
    if place.on_gpu:
        yield
        return
    with ExitStack() as serving:
        token = _shared.set(_SharedServer(serving))
        try:
            yield
        finally:
            _shared.reset(token)


@contextmanager
def running_server(place: Place, stage: Stage, log: Path | None = None) -> Iterator[RunningServer]:
    """The model server for a stage, holding the GPU slot. Its log lies beside the result of the stage that started it, or in
    ``log`` where that is given."""
    shared = _shared.get()
    if shared is None:
        with _started_server(place, stage, log) as server:
            yield server
        return
    if shared.server is None or not shared.server.is_healthy():
        shared.serving.close()
        shared.server = shared.serving.enter_context(_started_server(place, stage, log))
    yield shared.server


@contextmanager
def _started_server(place: Place, stage: Stage, log: Path | None) -> Iterator[RunningServer]:
    log = log or place.lap.stage(stage) / "vllm.log"
    base = Path() if place.settings.server.url else base_model(place).path  # a server that runs has its own
    with place.gpu_slot(), model_server(place.settings.server, base_path=base, log=log, enable_lora=True) as server:
        get_run_logger().info("model server %s at %s, ready after %.0f s", server.version, server.url, server.startup_s or 0)
        yield server


def missing_server(place: Place) -> str:
    """Why no model server can be started here; empty where one can."""
    try:
        if not place.settings.server.url:
            find_server_command(place.settings.server)
    except ServerNotInstalled as error:
        return str(error)
    return ""


@contextmanager
def teacher_endpoint(place: Place) -> Iterator[Endpoint]:
    """The teacher that the settings name; else the base model on a server started for it; else none, and why."""
    teacher = place.settings.teacher
    if teacher.base_url:
        yield Endpoint(teacher.base_url, teacher.model)
    elif reason := missing_server(place):
        yield Endpoint(reason=reason)
    else:
        with running_server(place, "seeding") as server:
            yield Endpoint(server.url, server.base_name)


@contextmanager
def chat_client(place: Place, endpoint: Endpoint) -> Iterator[OpenAIChatClient]:
    """A client for an endpoint, closed with the block. A key goes to the address that it is set for and nowhere else."""
    teacher, server = place.settings.teacher, place.settings.server
    is_teacher = endpoint.url == teacher.base_url
    is_server = bool(server.url) and endpoint.url.rstrip("/") == server.url.rstrip("/")
    key = server.api_key if is_server else ""
    if is_teacher and teacher.api_key.get_secret_value():
        key = teacher.api_key
    client = OpenAIChatClient(
        endpoint.url,
        endpoint.model,
        key,
        teacher.timeout_s,
        configured_by="KICKWHEEL_TEACHER__BASE_URL" if is_teacher else "KICKWHEEL_SERVER__URL",
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def teacher_client(place: Place, endpoint: Endpoint, run: RunRecorder | None = None) -> Iterator[ChatClient | None]:
    """A client for the teacher, within its limits a minute and the lap's budget; None where there is none.

    Its calls are traces of ``run``, where one is given and the settings say so.
    """
    if not endpoint.url:
        yield None
        return
    teacher = place.settings.teacher
    limiter = _limiter(endpoint.url, teacher.requests_per_minute, teacher.tokens_per_minute)
    with chat_client(place, endpoint) as client:
        metered = MeteredClient(LimitedClient(client, limiter), Purse(place.teacher_ledger, Budget.of(teacher)))
        if run is None or not teacher.trace:
            yield metered
            return
        traced = TracedClient(metered, "teacher", run)
        try:
            yield traced
        finally:
            traced.flush()


@contextmanager
def student_scorer(place: Place) -> Iterator[Callable[[Probe], StudentScorer] | None]:
    """Makes the scorer of the pool that the settings name; None: the probe scores it, and the log says why if it should not."""
    seeding = place.settings.seeding
    if seeding.scores == "probe":
        yield None
        return
    if not seeding.student_url:
        champion = registry(place).champion(into=place.settings.home / place.domain.name / "adapters")
        if reason := missing_server(place) or ("" if champion else "there is no champion yet"):
            get_run_logger().warning("the probe scores the pool: %s", reason)
            yield None
            return
    with ExitStack() as opened:
        endpoint = Endpoint(seeding.student_url, seeding.student_model)
        if not seeding.student_url and champion:
            server = opened.enter_context(running_server(place, "seeding"))
            server.load_adapter(champion.name, Path(champion.folder.path).resolve())
            endpoint = Endpoint(server.url, champion.name)
        client = opened.enter_context(chat_client(place, endpoint))
        log = place.settings.home / place.domain.name / "student_scores.jsonl"
        most = place.settings.server.max_num_seqs
        yield lambda probe: StudentScorer(client, place.catalog, probe, log, max_concurrency=most)


@lru_cache
def _limiter(_url: str, requests_per_minute: int, tokens_per_minute: int) -> RateLimiter:
    """One an endpoint: a minute does not end with a round."""
    return RateLimiter(requests_per_minute, tokens_per_minute, clock=time.monotonic, sleep=time.sleep)


@dataclass(frozen=True)
class Students:
    """Makes students of adapters and of the base: on the model server, or in this process where there is none."""

    place: Place
    server: RunningServer | None
    evaluated_with: str
    clients: ExitStack = field(default_factory=ExitStack, repr=False)

    def student(
        self,
        name: str,
        adapter: AdapterArtifact | None,
        messages_for: Callable[[str], tuple[Message, ...]] = student_messages,
        *,
        confidence: bool = False,
        json_schema: Mapping[str, Any] | None = None,
    ) -> Student:
        """A student by the name that reports use; ``adapter`` None is the untuned base.

        ``confidence`` asks for probabilities, ``json_schema`` constrains replies; in this process the first is always given and
        the second cannot be had.
        """
        catalog = self.place.catalog
        if self.server is None:
            from kickwheel.tuning.inprocess_adapter import InProcessStudent

            folder = Path(adapter.folder.path) if adapter else None
            return InProcessStudent(base_model(self.place).path, folder, catalog, name, messages_for=messages_for)
        model = self.server.base_name
        if adapter is not None:
            self.server.load_adapter(adapter.name, Path(adapter.folder.path).resolve())
            model = adapter.name
        client = self.clients.enter_context(chat_client(self.place, Endpoint(self.server.url, model)))
        at_once = self.place.settings.server.max_num_seqs
        return ServedStudent(client, messages_for, catalog, name, at_once, confidence=confidence, json_schema=json_schema)

    @property
    def teacher(self) -> Endpoint:
        """The teacher that the settings name; else the untuned base on this server; else none."""
        teacher = self.place.settings.teacher
        if teacher.base_url:
            return Endpoint(teacher.base_url, teacher.model)
        return Endpoint(self.server.url, self.server.base_name) if self.server else Endpoint(reason=missing_server(self.place))


@contextmanager
def students(place: Place, stage: Stage) -> Iterator[Students]:
    """Students for the time of the block: vLLM where it is installed, else transformers in this process."""
    if reason := missing_server(place):
        get_run_logger().warning("evaluating in this process: %s", reason)
        yield Students(place, None, "transformers in this process")
        return
    with running_server(place, stage) as server, ExitStack() as clients:
        with chat_client(place, Endpoint(server.url, server.base_name)) as client:
            warm_up(client, [ChatRequest(messages=student_messages("warm up"), max_tokens=MAX_TOKENS)])
        yield Students(place, server, server.version, clients)
