"""Where ``kickwheel engine`` works: the domain's texts, its model and adapters, and a folder that outlives a kill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kickwheel.errors import InputError

if TYPE_CHECKING:
    from kickwheel.settings import Settings
    from kickwheel.throughput.drift import BurstBaseline
    from kickwheel.throughput.engine_bench_adapter import EngineBench
    from kickwheel.throughput.engine_reports import AnyReport
    from schemas.engine import ArmName


@dataclass(frozen=True)
class EnginePlace:
    """What is measured, and where its logs and records lie."""

    domain: str
    settings: Settings
    bench: EngineBench
    folder: Path
    of: str
    """Fingerprint of everything that the figures depend on, the machine excepted."""

    def arms(self, wanted: Sequence[ArmName]) -> tuple[tuple[ArmName, ...], dict[str, str]]:
        """Arms that can be measured, and why the others can't."""
        without: dict[str, str] = {}
        if not self.bench.adapters:
            why = "no adapter was named, and the domain has no champion"
            without = {name: why for name in wanted if name != "base"}
        elif len(self.bench.adapters) < 2 and "mixed" in wanted:
            without = {"mixed": "one adapter was named; mixing takes two"}
        return tuple(name for name in wanted if name not in without), without

    def merged(self) -> Path:
        """Folder of the first adapter merged into the base; made if need be."""
        from kickwheel.inference.served_target import merged_folder
        from kickwheel.tuning.merge_adapter import merge

        out = merged_folder(self.bench.base_path, self.bench.adapters[0][1], self.settings.home)
        merge(self.bench.base_path, self.bench.adapters[0][1], out)
        return out

    def record(self, kind: str, report: AnyReport, lines: Sequence[str], *files: Path) -> None:
        """Where people look: a run of the domain's MLflow experiment, with plots; the lap's page. What is finished is measured
        anew the next time.
        """
        from kickwheel.reporting.engine_plots import engine_plots
        from kickwheel.throughput.engine_reports import keep_report, only
        from kickwheel.tracking.engine_run_adapter import record_engine_run

        plots = engine_plots(only(report))
        record_engine_run(
            self.settings, self.domain, kind, report, "\n".join(lines), [path for path in files if path.is_file()], plots
        )
        keep_report(self.settings.home, self.domain, report)
        for log in self.folder.glob(f"*-{self.of[:16]}.jsonl"):
            log.unlink()

    def last_burst(self, server: str, requests: int) -> BurstBaseline | None:
        """The newest burst of as many requests on the same kind of server that MLflow knows; None where there is none."""
        from kickwheel.tracking.burst_baseline_adapter import last_burst
        from kickwheel.tracking.store_adapter import open_store

        client, experiment = open_store(self.settings, self.domain)
        return last_burst(client, experiment, server=server, requests=requests, cold=True)


def engine_place(
    domain: Path, adapters: list[str], *, at_once: int, rate: float, requests: int, tokens: int, champion: bool = True
) -> EnginePlace:
    """Resolve what the arguments name; the base model is unpacked if need be.

    Raises:
        InputError: no domain, no utterances, adapters that are none, or a server that is not ours to start.
        ModelUnavailable: the base model cannot be had.
    """
    from kickwheel.cli.serve_model_target import wanted_of
    from kickwheel.domain import load_domain
    from kickwheel.inference.base_model_adapter import ensure_base_model
    from kickwheel.lineage import server_inputs
    from kickwheel.throughput.engine_bench_adapter import EngineBench, Load
    from kickwheel.workspace import fingerprint

    found = load_domain(domain)
    settings = found.resolved_settings()
    if settings.server.url:
        raise InputError("a running server is set; this starts servers of its own: unset it", field="KICKWHEEL_SERVER__URL")
    wanted = wanted_of(str(domain), adapters, merged=False, resolved=(settings, found.name), champion=champion)
    rows = found.rows("pool") or found.rows("valid")
    if not rows:
        raise InputError("the domain has no utterances to send", file=found.pool)
    base = ensure_base_model(settings.model.base, settings.home)
    folder = settings.home / found.name / "engine"
    named = tuple((item.name, item.folder) for item in wanted.adapters)
    load = Load(at_once=at_once, rate=rate, requests=requests, tokens=tokens)
    bench = EngineBench(settings.server, base.path, rows, load, folder / "logs", named, settings.seed)
    sizes = sorted((path.name, path.stat().st_size) for path in base.path.glob("*.safetensors"))
    weights = [folder / "adapter_model.safetensors" for _, folder in named]
    of = fingerprint(*server_inputs(settings.server), base.name, sizes, load.__dict__, [row.text for row in rows], *weights)
    return EnginePlace(found.name, settings, bench, folder, of)
