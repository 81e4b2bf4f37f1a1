"""``fetch``: records of a service that answers HTTP, page by page, to a JSONL file."""

from __future__ import annotations

import hashlib
import json

from kickwheel.errors import TaskRefused
from kickwheel.execution.atomic_file import atomic_file
from kickwheel.execution.bindings import Binding
from kickwheel.execution.http_adapter import HttpPages
from kickwheel.execution.places import Http, Output
from kickwheel.execution.ports import Surroundings
from schemas.base import DataRef
from schemas.execution import ExecutionPlan, ExecutionResult, WrittenData
from schemas.task import TaskSchema


class FetchExecutor:
    """All pages to one file, or, where one fails for good, the file that was there before."""

    def check(self, binding: Binding) -> tuple[str, ...]:
        """Needs http, and a JSONL file as output."""
        file = binding.output.file if binding.output else None
        return tuple(
            problem
            for problem, found in (
                ("fetch needs a source with http", binding.source.http is None),
                ("fetch needs an output: a file that ends in .jsonl", not (file or "").lower().endswith(".jsonl")),
                ("fetch uses no lookup and no rules", bool(binding.lookup or binding.rules)),
            )
            if found
        )

    def plan(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionPlan:
        """Asks nothing of the service: what a service counts or bills, a dry run must not cause."""
        http, output = _parts(binding)
        how = f"page by page ({http.paging.by}, at most {http.paging.max_pages})" if http.paging else "in one request"
        HttpPages(http, surroundings).close()
        return surroundings.plan(
            task,
            reads=(binding.source.describe(),),
            writes=(output.describe(),),
            steps=(
                f"GET {http.url} {how}; each request within {http.timeout_s:g} s, up to {http.attempts} tries",
                f"write {output.describe()} under a temporary name and move it into place",
            ),
        )

    def run(self, task: TaskSchema, binding: Binding, surroundings: Surroundings) -> ExecutionResult:
        """Fetch."""
        http, output = _parts(binding)
        path, digest, rows, requests = surroundings.path(output.file or ""), hashlib.sha256(), 0, 0
        pages = HttpPages(http, surroundings)
        try:
            with atomic_file(path) as temporary, temporary.open("wb") as file:
                for records in pages:
                    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
                    file.write(text)
                    digest.update(text)
                    rows, requests = rows + len(records), requests + 1
        finally:
            pages.close()
        reference = DataRef(path=str(path), sha256=digest.hexdigest(), rows=rows)
        return surroundings.result(
            task,
            rows_read=rows,
            rows_written=rows,
            outputs=(WrittenData(place=output.describe(), rows=rows, file=reference),),
            notes=(f"{requests} pages",) if http.paging else (),
        )


def _parts(binding: Binding) -> tuple[Http, Output]:
    if binding.source.http is None or binding.output is None or binding.output.file is None:
        raise TaskRefused("fetch needs a source with http and a file as output")
    return binding.source.http, binding.output
