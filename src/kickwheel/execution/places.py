"""Places that data comes from and goes to: files, tables of a database, services that answer HTTP.

Credentials never stand in them: only ``${NAME}`` of the environment. ``${domain}`` is the domain's folder and ``${home}`` the
domain's data under the workspace.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from kickwheel.execution.placeholders import PLACEHOLDER

READABLE = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz")
WRITABLE = (".csv", ".parquet", ".jsonl")
_SECRET_NAME = re.compile(
    r"^(proxy-)?authorization$|token|secret|passw|pwd|cookie|credential|signature|api.?key|access.?key|(^|[-_])key$",
    re.IGNORECASE,
)
_NOT_IN_A_FILE = "credentials do not belong in a file: write ${NAME} and set NAME in the environment"


def _without_credentials(url: str) -> str:
    parts = urlsplit(PLACEHOLDER.sub("", url))
    if parts.password or any(_SECRET_NAME.search(name) for name, value in parse_qsl(parts.query) if value):
        raise ValueError(_NOT_IN_A_FILE)
    return url


def _database(url: str) -> str:
    if not re.match(r"[a-z][a-z0-9_+]*://|\$\{", url):
        raise ValueError("expected a SQLAlchemy URL, e.g. sqlite:///${domain}/shop.db or ${NAME} of the environment")
    return _without_credentials(url)


def _web(url: str) -> str:
    if not re.match(r"https?://|\$\{", url):
        raise ValueError("expected an address that begins with http:// or https://, or with ${NAME} of the environment")
    return _without_credentials(url)


def _suffixed(name: str | None, suffixes: tuple[str, ...]) -> None:
    if name is not None and not name.lower().endswith(suffixes):
        raise ValueError(f"expected a file that ends in {', '.join(suffixes)}, got {name!r}")


class Part(BaseModel):
    """A part of a binding: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Paging(Part):
    """How a service hands out more than one page.

    ``page``: a query parameter counts; the end is a page without records. ``cursor``: each reply names the next one; the
    end is a reply that names none. ``link``: each reply has a ``Link`` header with ``rel="next"``, but the last.
    """

    by: Literal["page", "cursor", "link"]
    parameter: str = Field(default="", description="Query parameter; empty: page, or cursor")
    first: int = Field(default=1, description="page: number of the first one")
    next: str = Field(default="", description="cursor: where in a reply the next one stands, e.g. meta.next")
    max_pages: int = Field(default=1000, ge=1, description="More pages than this are an error, never a shorter file")

    @model_validator(mode="after")
    def _cursor_has_a_place(self) -> Self:
        if (self.by == "cursor") != bool(self.next):
            raise ValueError("'next' says where the next cursor stands: paging by cursor needs it, no other paging has it")
        return self


class Http(Part):
    """A service that answers GET with JSON."""

    url: Annotated[str, AfterValidator(_web)]
    params: dict[str, str | int | float | bool] = Field(default={}, description="Query parameters")
    headers: dict[str, str] = Field(default={}, description="Headers, e.g. Authorization: Bearer ${API_TOKEN}")
    records: str = Field(
        default="", description="Where in a reply the list of records stands, e.g. data.items; empty: it is one"
    )
    paging: Paging | None = None
    timeout_s: float = Field(default=30, gt=0, description="Seconds that one request may take")
    attempts: int = Field(default=5, ge=1, description="Tries of one request: for refused, timed out, 429 and 5xx only")
    longest_wait_s: float = Field(default=120, ge=0, description="A Retry-After of more seconds than this ends the run instead")

    @model_validator(mode="after")
    def _without_literal_secrets(self) -> Self:
        for name, value in [*self.headers.items(), *self.params.items()]:
            if _SECRET_NAME.search(name) and value and not PLACEHOLDER.search(str(value)):
                raise ValueError(f"{name}: {_NOT_IN_A_FILE}")
        return self


class Place(Part):
    """A file, or a table of a database."""

    file: str | None = Field(default=None, description="Path, relative to the domain's folder, or ${home}/…")
    url: Annotated[str, AfterValidator(_database)] | None = Field(default=None, description="SQLAlchemy URL of a database")
    table: str | None = Field(default=None, description="Table, or schema.table")

    @model_validator(mode="after")
    def _file_or_table(self) -> Self:
        self._check_kind()
        return self

    def _check_kind(self) -> None:
        if (self.url is None) != (self.table is None):
            raise ValueError("a table needs both: url, of the database, and table")
        if (self.file is None) == (self.table is None):
            raise ValueError("expected either a file, or a table with its url")

    def describe(self) -> str:
        """The place as the file writes it, so that no secret is in it."""
        return self.file if self.file is not None else f"{self.url} table {self.table}"


class Source(Place):
    """Where rows come from."""

    http: Http | None = None
    types: dict[str, str] = Field(
        default={}, description="CSV: DuckDB types of columns, e.g. {sku: VARCHAR}; others are told from all rows"
    )

    def _check_kind(self) -> None:
        if self.http is None:
            super()._check_kind()
            _suffixed(self.file, READABLE)
        elif self.file or self.url or self.table:
            raise ValueError("expected one of: a file, a table with its url, http")
        if self.types and not (self.file or "").lower().endswith((".csv", ".csv.gz")):
            raise ValueError("types are for CSV files: everything else carries its own")

    def describe(self) -> str:
        """As for every place."""
        return f"GET {self.http.url}" if self.http else super().describe()


class Output(Place):
    """Where rows go. What was there is replaced as a whole, or, with ``key``, row by row."""

    key: tuple[str, ...] = Field(
        default=(), description="Table: columns that tell rows apart; rows with other keys stay. Empty: all rows are replaced"
    )

    def _check_kind(self) -> None:
        super()._check_kind()
        _suffixed(self.file, WRITABLE)
        if self.key and self.file:
            raise ValueError("key is for tables: a file is always written as a whole")
