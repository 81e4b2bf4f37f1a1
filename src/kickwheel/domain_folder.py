"""A domain is a folder: where its files are, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from kickwheel.errors import DomainError
from kickwheel.execution.bindings import Binding, load_bindings
from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.zones import zone
from kickwheel.settings import Settings, get_settings
from kickwheel.workspace import hash_file, read_jsonl
from kickwheel.yaml_document import read_yaml
from schemas.base import DataRef, Slug
from schemas.feedback import FeedbackCase
from schemas.utterance import Utterance

Split = Literal["seeds", "pool", "valid", "eval", "review"]
SPLITS: tuple[Split, ...] = get_args(Split)
DOMAIN_FILE = "domain.yaml"

_GROUPS: dict[str, Any] = {
    name: (field.annotation, field.annotation())
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}


class _Overrides(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _without_credentials(self) -> Self:
        if "api_key" in self.model_dump(exclude_unset=True).get("teacher", {}):
            raise ValueError("teacher.api_key does not belong in a file: set KICKWHEEL_TEACHER__API_KEY")
        if "api_key" in self.model_dump(exclude_unset=True).get("server", {}):
            raise ValueError("server.api_key does not belong in a file: set KICKWHEEL_SERVER__API_KEY")
        if "tokens" in self.model_dump(exclude_unset=True).get("serving", {}):
            raise ValueError("serving.tokens do not belong in a file: set KICKWHEEL_SERVING__TOKENS, or serving.tokens_file")
        return self


SettingsOverrides: Any = create_model("SettingsOverrides", __base__=_Overrides, **_GROUPS)
"""``settings:`` of a domain: the groups of :class:`kickwheel.settings.Settings`, and nothing else of it."""


def _known_zone(name: str) -> str:
    return zone(name).key


class DomainFiles(BaseModel):
    """``files:`` of ``domain.yaml``, relative to the folder. Optional ones count only where they exist."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requirements: tuple[str, ...] = Field(default=("requirements/*.md",), min_length=1, description="Paths or globs")
    seeds: str = "seeds.jsonl"
    valid: str = "valid.jsonl"
    eval: str = "eval.jsonl"
    pool: str = "pool.jsonl"
    review: str | None = None
    feedback: str | None = None
    expected: str | None = None
    glossary: str | None = None
    knowledge: str | None = None
    bindings: str | None = None


class DomainDocument(BaseModel):
    """``domain.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Slug
    title: str = ""
    zone: Annotated[str, AfterValidator(_known_zone)] | None = Field(
        default=None, description="IANA zone of statements and documents that name none"
    )
    files: DomainFiles = DomainFiles()
    settings: SettingsOverrides = SettingsOverrides()


@dataclass(frozen=True)
class Domain:
    """A domain whose ``domain.yaml`` holds and whose required files exist; rows are read when asked for."""

    name: str
    folder: Path
    title: str
    zone: str | None
    settings: Mapping[str, Any]
    """Overrides for :func:`kickwheel.settings.get_settings`."""
    requirement_files: tuple[Path, ...]
    seeds: Path
    valid: Path
    eval: Path
    pool: Path
    review: Path | None = None
    feedback: Path | None = None
    expected: Path | None = None
    glossary_file: Path | None = None
    knowledge: Path | None = None
    bindings_file: Path | None = None

    def file_of(self, split: Split) -> Path | None:
        """The split's JSONL file; None: the domain has none (``review`` only)."""
        path: Path | None = getattr(self, split)
        return path

    def rows(self, split: Split) -> list[Utterance]:
        """Rows of a split; none where the domain has no such file.

        Raises:
            InputError: a row does not hold.
        """
        path = self.file_of(split)
        return read_jsonl(path, Utterance) if path else []

    def ref(self, split: Split) -> DataRef:
        """Reference to a split's file.

        Raises:
            DomainError: the domain has no such file.
        """
        path = self.file_of(split)
        if path is None:
            raise DomainError(f"the domain has no {split} file", file=self.folder)
        return DataRef(path=str(path), sha256=hash_file(path), rows=len(self.rows(split)))

    def feedback_cases(self) -> list[FeedbackCase]:
        """Bundled feedback; none where the domain has no such file."""
        return read_jsonl(self.feedback, FeedbackCase) if self.feedback else []

    def resolved_settings(self) -> Settings:
        """Settings of this process with the domain's overrides."""
        return get_settings(self.settings)

    def glossary(self) -> Glossary:
        """The domain's business words on top of the ones that everybody uses."""
        return load_glossary(self.glossary_file)

    def bindings(self) -> Mapping[str, Binding]:
        """Where the data of the domain's tasks lies; none where the domain has no such file."""
        return load_bindings(self.bindings_file)


def load_domain(folder: Path) -> Domain:
    """Read ``domain.yaml`` and find the files.

    Raises:
        DomainError: the first thing that does not hold; :func:`kickwheel.domain.check_domain` finds them all.
        YamlProblems: ``domain.yaml`` does not hold.
    """
    document = read_document(folder)
    domain = resolve(folder, document)
    missing = missing_files(folder, document)
    if missing:
        raise missing[0]
    return domain


def read_document(folder: Path) -> DomainDocument:
    """``domain.yaml`` of a folder.

    Raises:
        DomainError: there is none.
        YamlProblems: it does not hold.
    """
    if not folder.is_dir():
        raise DomainError("there is no such folder (kickwheel init NAME makes a domain)", file=folder)
    if not (folder / DOMAIN_FILE).is_file():
        raise DomainError(f"no domain: there is no {DOMAIN_FILE} in it (kickwheel init NAME makes a domain)", file=folder)
    return read_yaml(folder / DOMAIN_FILE, DomainDocument)


def resolve(folder: Path, document: DomainDocument) -> Domain:
    """The domain with its paths, whether they exist or not."""
    files = document.files
    requirements = sorted({path for pattern in files.requirements for path in folder.glob(pattern) if path.is_file()})
    return Domain(
        name=document.name,
        folder=folder,
        title=document.title or document.name,
        zone=document.zone,
        settings=document.settings.model_dump(exclude_unset=True),
        requirement_files=tuple(requirements),
        seeds=folder / files.seeds,
        valid=folder / files.valid,
        eval=folder / files.eval,
        pool=folder / files.pool,
        review=_optional(folder, files.review, "review.jsonl"),
        feedback=_optional(folder, files.feedback, "feedback.jsonl"),
        expected=_optional(folder, files.expected, "expected.jsonl"),
        glossary_file=_optional(folder, files.glossary, "glossary.yaml"),
        knowledge=_optional(folder, files.knowledge, "knowledge.csv"),
        bindings_file=_optional(folder, files.bindings, "bindings.yaml"),
    )


def missing_files(folder: Path, document: DomainDocument) -> list[DomainError]:
    """Files that the domain needs or names and that are not there."""
    files, problems = document.files, []
    for field in ("seeds", "valid", "eval", "pool", "review", "feedback", "expected", "glossary", "knowledge", "bindings"):
        name = getattr(files, field)
        if name is not None and not (folder / name).is_file():
            problems.append(DomainError(f"there is no file {name}", file=folder / DOMAIN_FILE, field=f"files.{field}"))
    for number, pattern in enumerate(files.requirements):
        if not any(path.is_file() for path in folder.glob(pattern)):
            where = f"files.requirements.{number}"
            problems.append(DomainError(f"no document matches {pattern}", file=folder / DOMAIN_FILE, field=where))
    return problems


def _optional(folder: Path, name: str | None, usual: str) -> Path | None:
    """A file named in ``domain.yaml``, or the usual one if it exists."""
    if name is not None:
        return folder / name
    return folder / usual if (folder / usual).is_file() else None
