"""What each stage's result depends on: the fingerprint under which it is finished, or done again.

Whatever can change a result belongs in here; what cannot (a log path, a port, a concurrency) must stay out, or a resumed
lap would pay twice.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from kickwheel import __version__
from kickwheel.distillation.token_teacher_adapter import teacher_contents
from kickwheel.domain import Domain
from kickwheel.feedback.bad_case_rows import targets_file
from kickwheel.feedback.lap_feedback import window_of
from kickwheel.inference.server_profile import load_profile
from kickwheel.registry import published_versions
from kickwheel.review.reviewed_rows import answers_copy
from kickwheel.settings import DistillationSettings, ServerSettings, Settings
from kickwheel.workspace import Lap, fingerprint, previous_lap
from schemas.base import DataRef
from schemas.lap import Stage
from schemas.seeding import SeedSet
from schemas.task import TaskCatalog
from schemas.tuning import TuningReport


def starting_rows(settings: Settings, domain: Domain, lap: Lap) -> DataRef | None:
    """Labelled rows of the last complete lap; None in the first lap, which starts from the domain's seeds."""
    before = previous_lap(settings.home, domain.name, lap)
    return before.load("seeding", SeedSet).train if before and before.has("seeding") else None


def stage_inputs(stage: Stage, domain: Domain, settings: Settings, lap: Lap) -> str:
    """Fingerprint of everything that the stage's result depends on.

    Raises:
        StageInputMissing: the stage before it is not finished in this lap.
    """
    common = (__version__, stage, domain.name, settings.seed)
    match stage:
        case "intent":
            versions = sorted((str(task), version) for task, version in published_versions(domain.folder).items())
            words = (*domain.requirement_files, domain.glossary_file)
            return fingerprint(*common, settings.intent, domain.zone, versions, *words, *_reader(settings, domain))
        case "seeding":
            catalog, rows = lap.load("intent", TaskCatalog), starting_rows(settings, domain, lap)
            files = (
                domain.seeds,
                domain.pool,
                domain.valid,
                domain.eval,
                domain.review,
                domain.knowledge,
                domain.glossary_file,
            )
            reviewed = answers_copy(lap)
            people = (reviewed,) if reviewed.is_file() else ()
            asked = (*_teacher(settings), *_budget(settings))
            bad = targets_file(settings.home, domain.name)
            served = (bad,) if bad.is_file() else ()
            return fingerprint(*common, catalog, settings.seeding, *asked, rows, *files, *people, *served)
        case "tuning":
            seeds = lap.load("seeding", SeedSet)
            how = (settings.tuning, settings.evaluation, settings.robust, settings.guard)
            return fingerprint(*common, seeds.train, *how, settings.model, domain.valid, domain.eval)
        case "throughput":
            adapter = lap.load("tuning", TuningReport).adapter
            return fingerprint(*common, adapter, settings.throughput, *server_inputs(settings.server), domain.eval)
        case "distillation":
            adapter = lap.load("tuning", TuningReport).adapter
            behaviour = (domain.feedback, domain.valid, domain.eval)
            window = window_of(lap)
            live = (window,) if window else ()
            asked = (*_teacher(settings), *_token_teacher(settings.distillation))
            return fingerprint(*common, adapter, settings.distillation, *asked, *behaviour, *live)


def server_inputs(server: ServerSettings) -> tuple[object, ...]:
    """What the figures of a model server depend on: its settings, and what its profile holds, wherever that lies. Not its key.

    Raises:
        InputError: the profile is not there or does not hold; the server would not start either.
    """
    engine = load_profile(Path(server.profile)).engine if server.profile and not server.url else None
    return server.model_copy(update={"api_key": SecretStr(""), "profile": ""}), engine


def _reader(settings: Settings, domain: Domain) -> tuple[object, ...]:
    """The model that reads statements, and what it is told; nothing where none is asked."""
    teacher = settings.teacher
    asked = settings.intent.recogniser != "rules" and teacher.base_url
    return (teacher.base_url, teacher.model, domain.knowledge) if asked else ()


def _budget(settings: Settings) -> tuple[float, ...]:
    """What ends the asking: a stage that stopped at it is done again with a larger one, at no cost for what was answered."""
    teacher = settings.teacher
    prices = (teacher.prompt_price_per_1m, teacher.completion_price_per_1m) if teacher.max_cost else ()
    return (teacher.max_calls, teacher.max_tokens, teacher.max_cost, *prices)


def _token_teacher(settings: DistillationSettings) -> tuple[str, ...]:
    """What lies in the folder of the token-level teacher now; packages and hub ids are known by their names."""
    folder = Path(settings.token_teacher).expanduser()
    return (teacher_contents(folder),) if settings.token_kl and folder.is_dir() else ()


def _teacher(settings: Settings) -> tuple[str, str, str]:
    """Who labels: without an endpoint it is the base model."""
    return settings.teacher.base_url, settings.teacher.model, settings.model.base
