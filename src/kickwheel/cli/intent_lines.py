"""What ``kickwheel intent map`` prints: one mapping a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from kickwheel.domain_folder import DOMAIN_FILE, Domain, load_domain, resolve
from kickwheel.domain_folder import read_document as read_domain
from kickwheel.errors import InputError
from kickwheel.intent.cron_text import with_seconds_first
from kickwheel.intent.documents import parse_document, read_document
from kickwheel.intent.expectations import lines_of
from kickwheel.intent.fire_times import fire_times
from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.mapping import map_documents
from kickwheel.intent.recogniser_adapter import open_recogniser
from kickwheel.intent.zones import zone_problem
from kickwheel.settings import RecogniserChoice, get_settings
from schemas.task import TaskCatalog

STDIN = Path("-")


@dataclass(frozen=True)
class MapOptions:
    """Options of the command."""

    zone: str | None
    glossary: Path | None
    now: datetime
    seconds_first: bool
    preview: int
    recogniser: RecogniserChoice | None = None
    """None: the one that the settings name."""
    progress: Callable[[int, int], None] | None = None
    """(done, total) of the statements that a model is asked about."""


def map_lines(files: Sequence[Path], options: MapOptions, *, stdin: TextIO) -> list[dict[str, Any]]:
    """Map files, domain folders or standard input, each domain's files with its own name, glossary and zone.

    Raises:
        InputError: a file, its domain, or the zone does not hold, or a model is wanted and none is configured.
        ServiceError: the model does not answer.
    """
    if options.zone and (problem := zone_problem(options.zone)):
        raise InputError(problem, field="zone")
    return [line for file in files for line in _lines(_catalog(file, options, stdin), options)]


def _catalog(file: Path, options: MapOptions, stdin: TextIO) -> TaskCatalog:
    """Tasks of a file by the name, zone, glossary and settings of the domain that it is or lies in, else by none's."""
    domain = _domain_around(file)
    if file == STDIN:
        documents = [parse_document(_piped(stdin), "-", markdown=False)]
    elif domain and file.is_dir():
        documents = [read_document(path) for path in domain.requirement_files]
    else:
        documents = [read_document(file)]
    words = options.glossary or (domain.glossary_file if domain else None)
    settings = get_settings(domain.settings if domain else None)
    with open_recogniser(
        settings,
        load_glossary(words),
        domain=domain.name if domain else "",
        knowledge=domain.knowledge if domain else None,
        choice=options.recogniser,
        seconds_first=options.seconds_first,
        progress=options.progress,
    ) as recogniser:
        return map_documents(
            documents,
            domain=domain.name if domain else "none",
            zone=options.zone or (domain.zone if domain else None),
            recogniser=recogniser,
            min_interval_minutes=settings.intent.min_interval_minutes,
        )


def _piped(stdin: TextIO) -> str:
    """Text from a pipe.

    Raises:
        InputError: it is not UTF-8: Python hands undecodable bytes on as lone surrogates, or refuses, as the locale says.
    """
    try:
        text = stdin.read().removeprefix("\ufeff")
        text.encode()
    except UnicodeError as error:
        raise InputError("not UTF-8: pipe it through iconv first", file=STDIN) from error
    return text


def _domain_around(file: Path) -> Domain | None:
    if file.is_dir():
        return load_domain(file)
    if file == STDIN:
        return None
    folder = next((parent for parent in file.resolve().parents if (parent / DOMAIN_FILE).is_file()), None)
    return resolve(folder, read_domain(folder)) if folder else None


def _lines(catalog: TaskCatalog, options: MapOptions) -> list[dict[str, Any]]:
    schedules = {task.intent: task.schedule for task in catalog.tasks}
    lines = []
    for mapping in lines_of(catalog):
        line = mapping.model_dump(mode="json")
        schedule = schedules.get(mapping.intent or "")
        if schedule and options.preview:
            fires = fire_times(schedule, options.now, options.preview)
            line["next"] = [{"at": fire.at.isoformat(), "note": fire.note} for fire in fires]
        if mapping.cron and options.seconds_first:
            line["cron"] = with_seconds_first(mapping.cron)
        lines.append(line)
    return lines
