"""Everything that is wrong with a domain, each with file, line and field: not just the first thing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kickwheel.domain_folder import SPLITS, Domain, Split, missing_files, read_document, resolve
from kickwheel.errors import DomainError, InputError
from kickwheel.execution.binding_check import binding_problems
from kickwheel.intent.expectations import Expectation
from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.mapping import map_requirements
from kickwheel.intent.normal_text import comparable
from kickwheel.intent.slot_values import told
from kickwheel.registry.journal import refuse_pending
from kickwheel.registry.published import published_versions
from kickwheel.text_file import read_text
from kickwheel.yaml_document import YamlProblems
from schemas.feedback import FeedbackCase
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.task import TaskCatalog
from schemas.utterance import Utterance, language_of

Row = TypeVar("Row", bound=BaseModel)
Numbered = list[tuple[int, Row]]
_IDS_SHOWN = 10


def check_domain(folder: Path) -> list[InputError]:
    """All problems of a domain folder; empty: it holds. An empty pool and a domain of one intent are legal."""
    try:
        document = read_document(folder)
    except YamlProblems as error:
        return error.problems
    except DomainError as error:
        return [error]
    domain = resolve(folder, document)
    problems: list[InputError] = [*missing_files(folder, document)]
    glossary = _read_glossary(domain, problems)
    catalog = _catalog(domain, glossary, problems) if glossary else None
    rows: dict[Split, Numbered[Utterance]] = {}
    for split in SPLITS:
        path = domain.file_of(split)
        if path and path.is_file():
            rows[split] = _rows(path, Utterance, problems)
            problems += _row_problems(split, path, rows[split], catalog)
    problems += _twice(domain, rows)
    feedback = _rows(domain.feedback, FeedbackCase, problems) if domain.feedback and domain.feedback.is_file() else []
    if domain.feedback:
        problems += _feedback_problems(domain.feedback, feedback, catalog)
    problems += _leaks(domain, rows, feedback)
    problems += _leaked_phrasings(catalog, domain, rows)
    problems += _registry_problems(domain)
    problems += _review_problems(domain, rows)
    if domain.expected and domain.expected.is_file():
        _rows(domain.expected, Expectation, problems)
    if domain.knowledge and domain.knowledge.is_file():
        problems += _knowledge_problems(domain.knowledge)
    if catalog and domain.bindings_file and domain.bindings_file.is_file():
        try:
            problems += binding_problems(domain, catalog)
        except YamlProblems as error:
            problems += error.problems
    return problems


def notes_of(domain: Domain) -> list[str]:
    """What is legal and worth knowing. The domain must hold."""
    notes = []
    if not domain.rows("pool"):
        notes.append("the pool is empty: seeding has nothing to choose from, so the seed rows are all that is trained on")
    if domain.review is None:
        notes.append("there is no review file: rows that the teacher does not settle wait in the review queue")
    if domain.feedback is None:
        notes.append("there is no feedback file: distillation has nothing to replay")
    labelled = {row.frame.intent for row in domain.rows("seeds") if row.frame}
    catalog = _catalog(domain, domain.glossary(), [])
    missing = [intent for intent in catalog.intents if intent not in labelled] if catalog else []
    if missing:
        notes.append(f"no seed row for {', '.join(missing)}")
    return [*notes, *_row_notes(domain)]


def _row_notes(domain: Domain) -> Iterator[str]:
    """What the seeding stage will find in the rows."""
    from kickwheel.seeding.leakage import leaked_rows, told_all
    from kickwheel.seeding.personal_data import personal_data

    settings = domain.resolved_settings().seeding
    rows = [*domain.rows("seeds"), *domain.rows("pool")]
    leaks = leaked_rows(
        rows,
        {"valid": domain.rows("valid"), "eval": domain.rows("eval")},
        threshold=settings.near_duplicate,
        templates=settings.template_leaks,
    )
    if leaks:
        yield f"to be kept out of training, {len(leaks)} of the rows: {told_all(leaks)}"
    holders = [row.id for row in rows if personal_data(row.text)]
    if holders and not settings.mask_personal_data:
        more = ", …" if len(holders) > _IDS_SHOWN else ""
        ids = ", ".join(holders[:_IDS_SHOWN])
        yield f"personal data (seeding.mask_personal_data masks them) in {len(holders)} of the rows: {ids}{more}"


def _read_glossary(domain: Domain, problems: list[InputError]) -> Glossary | None:
    if domain.glossary_file and not domain.glossary_file.is_file():
        return load_glossary()
    try:
        return domain.glossary()
    except YamlProblems as error:
        problems += error.problems
        return None


def _catalog(domain: Domain, glossary: Glossary, problems: list[InputError]) -> TaskCatalog | None:
    try:
        catalog = map_requirements(domain.requirement_files, domain=domain.name, zone=domain.zone, glossary=glossary)
    except YamlProblems as error:
        problems += error.problems
        return None
    except InputError as error:
        problems.append(error)
        return None
    if domain.requirement_files and not catalog.tasks:
        problems.append(
            DomainError("no statement maps to a task (kickwheel intent map says why)", file=domain.requirement_files[0])
        )
        return None
    return catalog


def _rows(path: Path, kind: type[Row], problems: list[InputError]) -> Numbered[Row]:
    """Rows with line numbers; what does not hold goes to ``problems``, every field of it."""
    rows: Numbered[Row] = []
    try:
        text = read_text(path)
    except InputError as error:
        problems.append(error)
        return rows
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append((number, kind.model_validate_json(line)))
        except ValidationError as error:
            for found in error.errors():
                field = ".".join(map(str, found["loc"])) or None
                problems.append(DomainError(found["msg"], file=path, line=number, field=field))
    return rows


def _row_problems(split: Split, path: Path, rows: Numbered[Utterance], catalog: TaskCatalog | None) -> Iterator[InputError]:
    if not rows and split in ("seeds", "valid", "eval"):
        yield DomainError("has no rows", file=path)
    for line, row in rows:
        if row.language != language_of(row.text):
            problem = (
                f"expected {language_of(row.text)!r} (zh where any Han character stands in the text), got {row.language!r}"
            )
            yield DomainError(problem, file=path, line=line, field="language")
        if split == "pool":
            if row.frame:
                yield DomainError("pool rows carry no label", file=path, line=line, field="frame")
        elif row.frame is None:
            yield DomainError(f"{split} rows need a label", file=path, line=line, field="frame")
        else:
            yield from _frame_problems(row.frame, path, line, "frame", catalog)


def _frame_problems(frame: Frame, path: Path, line: int, field: str, catalog: TaskCatalog | None) -> Iterator[InputError]:
    if catalog is None or frame.intent == OUT_OF_SCOPE:
        return
    if frame.intent not in catalog.intents:
        known = ", ".join(catalog.intents)
        yield DomainError(
            f"unknown intent {frame.intent!r}; the requirements name: {known}", file=path, line=line, field=f"{field}.intent"
        )
        return
    specs = {slot.name: slot for slot in catalog.slots_of(frame.intent)}
    for number, slot in enumerate(frame.slots):
        if slot.name not in specs:
            problem = f"{frame.intent} has no slot {slot.name!r}; it has: {', '.join(specs) or 'none'}"
            yield DomainError(problem, file=path, line=line, field=f"{field}.slots.{number}.name")
        elif broken := told(slot.value, specs[slot.name]):
            yield DomainError(f"{frame.intent}: {broken}", file=path, line=line, field=f"{field}.slots.{number}.value")


def _feedback_problems(path: Path, cases: Numbered[FeedbackCase], catalog: TaskCatalog | None) -> Iterator[InputError]:
    seen: dict[str, int] = {}
    for line, case in cases:
        first = seen.setdefault(case.id, line)
        if first != line:
            yield DomainError(f"{case.id!r} stands in line {first} already", file=path, line=line, field="id")
        for slot in case.wanted.slots:
            if case.text[slot.start : slot.end] != slot.value:
                seen_text = case.text[slot.start : slot.end]
                problem = f"slot {slot.name!r}: text[{slot.start}:{slot.end}] is {seen_text!r}, not {slot.value!r}"
                yield DomainError(problem, file=path, line=line, field="wanted.slots")
        yield from _frame_problems(case.wanted, path, line, "wanted", catalog)


def _twice(domain: Domain, rows: dict[Split, Numbered[Utterance]]) -> Iterator[InputError]:
    """Ids within and across splits. Review rows share theirs with the pool, on purpose."""
    seen: dict[str, str] = {}
    for split in SPLITS:
        path = domain.file_of(split)
        own: dict[str, str] = {} if split == "review" else seen
        for line, row in rows.get(split, []):
            first = own.setdefault(row.id, f"{path}:{line}")
            if first != f"{path}:{line}":
                yield DomainError(f"{row.id!r} is the id of {first} already", file=path, line=line, field="id")


def _leaks(domain: Domain, rows: dict[Split, Numbered[Utterance]], feedback: Numbered[FeedbackCase]) -> Iterator[InputError]:
    """Texts that stand in two splits, whatever their case, width, spaces and punctuation."""
    groups: list[tuple[str, Path | None, Iterable[tuple[int, str]]]] = [
        (split, domain.file_of(split), [(line, row.text) for line, row in rows.get(split, [])])
        for split in SPLITS
        if split != "review"
    ]
    groups.append(("feedback", domain.feedback, [(line, case.text) for line, case in feedback]))
    seen: dict[str, tuple[str, str]] = {}
    for split, path, texts in groups:
        for line, text in texts:
            first, place = seen.setdefault(comparable(text) or text, (split, f"{path}:{line}"))
            if first != split:
                problem = f"this text stands in {place} ({first}) already: rows must not leak between splits"
                yield DomainError(problem, file=path, line=line, field="text")


def _leaked_phrasings(
    catalog: TaskCatalog | None, domain: Domain, rows: dict[Split, Numbered[Utterance]]
) -> Iterator[InputError]:
    """Phrasings stand in the teacher's prompt: what is measured on must not be among them."""
    said = {comparable(text): task for task in (catalog.tasks if catalog else ()) for text in task.phrasings}
    for split in ("valid", "eval"):
        for line, row in rows.get(split, []):
            if task := said.get(comparable(row.text)):
                place = f"{task.provenance[0].document}:{task.provenance[0].line}"
                problem = f"this text is an example phrasing of {task.intent} ({place}): the teacher would be shown it"
                yield DomainError(problem, file=domain.file_of(split), line=line, field="text")


def _registry_problems(domain: Domain) -> Iterator[InputError]:
    try:
        refuse_pending(domain.folder)
        published_versions(domain.folder)
    except YamlProblems as error:
        yield from error.problems
    except InputError as error:
        yield error


def _review_problems(domain: Domain, rows: dict[Split, Numbered[Utterance]]) -> Iterator[InputError]:
    pool = {row.id: row.text for _, row in rows.get("pool", [])}
    for line, row in rows.get("review", []):
        if row.id not in pool:
            yield DomainError(f"there is no pool row {row.id!r}", file=domain.review, line=line, field="id")
        elif row.text != pool[row.id]:
            yield DomainError(f"not the text of pool row {row.id!r}", file=domain.review, line=line, field="text")


def _knowledge_problems(path: Path) -> Iterator[InputError]:
    try:
        lines = list(csv.reader(io.StringIO(read_text(path))))
    except InputError as error:
        yield error
        return
    header = ["subject", "relation", "object"]
    if not lines or lines[0] != header:
        yield DomainError(f"expected the header {','.join(header)}", file=path, line=1)
    for number, cells in enumerate(lines[1:], start=2):
        if cells and (len(cells) != 3 or not all(cell.strip() for cell in cells)):
            yield DomainError("expected three cells that are not empty: subject,relation,object", file=path, line=number)
