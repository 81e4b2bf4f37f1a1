"""What one GPU serves: the packaged 0.5 B model in full, and an 8 B shape with random weights.

``python -m benchmarks.h200_throughput --work FOLDER --gguf MODEL.gguf --tokenizer FOLDER`` on a machine with a GPU, vLLM on the
PYTHONPATH, and no network. Steps are kept in ``FOLDER/results.jsonl``: called again, the script goes on where it was (a killed
step is done anew). It ends by itself after ``--limit`` seconds and says what is left; the table is printed last.

=============  =========================================================================================================
prepare        the GGUF as bf16 safetensors; two random LoRA adapters (r = 8, q and v); one merged; the 8 B folder
start_cold     the small model's server with empty compile caches, alone on the machine: start-up by phase, first requests
arms           base, adapter, two adapters mixed, merged: the same load in alternating order, three blocks
search         the largest rate that holds the SLO, base, twice; then adapter and merged
large          8 B: base and adapter at five rates and all at once, 256 prompt tokens, 32 written
start_filled   the small model's server again, compile caches filled
=============  =========================================================================================================

Task accuracy is not measured: the adapters and the 8 B weights are random. Prompts are the example's utterances.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.h200_lab import Lab, is_gpu, long_texts, machine, say, short, utterances
from benchmarks.h200_models import large_model, small_model
from benchmarks.h200_table import table
from kickwheel.inference.held_server_adapter import warm_up_requests
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.server_profile import save_profile
from kickwheel.inference.startup_phases import compiles_from_cache, startup_phases
from kickwheel.inference.startup_watch_adapter import StartupWatch
from kickwheel.inference.switch_adapter import load_adapter_on_running, warm_server
from kickwheel.inference.vllm_adapter import RunningServer, start_server
from kickwheel.settings import ServerSettings, ThroughputSettings
from kickwheel.throughput.arms import Block, arm_figures, measure_blocks, ratios, recommend
from kickwheel.throughput.bench import Arm, Bench
from kickwheel.throughput.cores_adapter import only_on, own_cores
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.search import largest_rate
from schemas.engine import ArmName, EngineSettings, ServerProfile
from schemas.throughput import LoadPoint, Slo
from schemas.utterance import Utterance, language_of

SMALL_TOKENS = 24
"""Written by every reply of the small model: about a frame."""

LARGE_TOKENS = 32
GRAPHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
BLOCKS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="keeps models, logs and results between calls")
    parser.add_argument("--gguf", type=Path, help="the packaged model's GGUF file")
    parser.add_argument("--model", type=Path, help="or a checkpoint folder in its place")
    parser.add_argument("--tokenizer", type=Path, required=True, help="folder of a tokenizer with at most 128,256 tokens")
    parser.add_argument("--limit", type=float, default=530, help="seconds that this call may take")
    parser.add_argument("--device", choices=["gpu", "cpu"], default="gpu", help="cpu: to try the script out, tiny")
    parser.add_argument("--command", default="", help="starts vLLM; empty: as the device needs it")
    parser.add_argument("--only", default="", help="prepare: make the models and end")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    lab = Lab(options.work.resolve(), options, time.monotonic(), utterances())
    ended = ""
    try:
        run(lab)
    except TimeoutError as error:
        ended = str(error)
    done = lab.done()
    (lab.work / "summary.json").write_text(json.dumps(done, indent=1), encoding="utf-8")
    sys.stdout.write(table(done) + "\n")
    say(ended or "all steps are done")


def run(lab: Lab) -> None:
    gpu = lab.options.device == "gpu"
    models = lab.step("prepare", 30, lambda: prepare(lab))
    if lab.options.only == "prepare":
        return
    lab.step("machine", 1, machine)
    with ExitStack() as stack:
        small: RunningServer | None = None
        if "start_cold" not in lab.done():
            small = stack.enter_context(measured_start(lab, models, "start_cold", "empty"))
        if any(
            step not in lab.done() for step in ("arms", "search_base_1", "search_base_2", "search_adapter", "search_merged")
        ):
            small, merged = both(lab, models, small, stack)
            for name in ("adapter", "second"):
                load_adapter_on_running(small.url, name, Path(models[name]))
            lab.step("arms", 60, lambda: arms(lab, small, merged))
            for name, server, served in (
                ("base_1", small, small.base_name),
                ("base_2", small, small.base_name),
                ("adapter", small, "adapter"),
                ("merged", merged, merged.base_name),
            ):
                lab.step(f"search_{name}", 35, lambda s=server, m=served, n=name: search(lab, s, m, n))
        for arm in ("base", "adapter"):
            if f"large_{arm}" not in lab.done():
                server = large_server(lab, models, stack)
                lab.step(f"large_{arm}", 45 if gpu else 5, lambda a=arm, s=server: large(lab, s, a))
        stack.close()
    if "start_filled" not in lab.done():
        with measured_start(lab, models, "start_filled", "filled"):
            pass


def prepare(lab: Lab) -> dict[str, str]:
    base = lab.options.model or small_model(lab.options.gguf, lab.work / "small")
    found = {"small": str(base)}
    found |= {name: str(path) for name, path in small_adapters(lab, base).items()}
    found |= {name: str(path) for name, path in large_model(lab.options.tokenizer, lab.work, tiny=not is_gpu(lab)).items()}
    return found


def small_adapters(lab: Lab, base: Path) -> dict[str, Path]:
    from benchmarks.h200_models import random_adapter
    from kickwheel.tuning.merge_adapter import merge

    first, second = (random_adapter(base, lab.work / name, seed) for seed, name in enumerate(("adapter", "second")))
    merged = lab.work / "merged"
    merge(base, first, merged)
    return {"adapter": first, "second": second, "merged": merged}


@contextmanager
def measured_start(lab: Lab, models: dict[str, str], step: str, caches: str) -> Iterator[RunningServer]:
    """A start of the small model's server with its phases, the first requests of each kind, and the same when warm."""
    needs = 170 if caches == "empty" else 60
    if is_gpu(lab) and lab.left() < needs:
        raise TimeoutError(f"{step} needs about {needs} s, {lab.left():.0f} are left: call again")
    log = lab.work / f"{step}.log"
    with StartupWatch(log) as watch:
        begin = time.monotonic()
        server = serve(lab, Path(models["small"]), log, lora=True, share=0.25)
        ready = time.monotonic() - begin
    try:
        kinds = warm_up_requests("full")
        first = [server.endpoint.first_token(server.base_name)]
        first += [one(server, request) for request in kinds]
        warm = [one(server, request) for _ in range(5) for request in kinds]
        phases = startup_phases(watch.lines, ready_s=ready, first_token_s=first[0])
        result = {
            "caches": caches,
            "from_cache": compiles_from_cache(watch.lines),
            "ready_s": ready,
            "first_s": first,
            "warm_s": warm,
            "phases": [phase.model_dump() for phase in phases],
        }
        lab.step(step, 0, lambda: result)
        yield server
    finally:
        server.stop()


def one(server: RunningServer, request: ChatRequest) -> float:
    """Seconds that a request takes."""
    client = OpenAIChatClient(server.url, server.base_name, "", 120.0)
    try:
        begin = time.perf_counter()
        client.complete(request)
        return time.perf_counter() - begin
    finally:
        client.close()


def both(
    lab: Lab, models: dict[str, str], small: RunningServer | None, stack: ExitStack
) -> tuple[RunningServer, RunningServer]:
    """The servers that the small model's arms need; the 8 B one starts beside them, since a start is mostly compilation."""
    begin = {} if small else {"small": ("small", True, 0.25)}
    begin["merged"] = ("merged", False, 0.15)
    if is_gpu(lab):
        begin["large"] = ("large", True, 0.45)
    if lab.left() < 150 and is_gpu(lab):
        raise TimeoutError(f"starting servers needs about 150 s, {lab.left():.0f} are left: call again")
    with ThreadPoolExecutor(len(begin)) as pool:
        started = {
            name: pool.submit(serve, lab, Path(models[model]), lab.work / f"{name}.log", lora=lora, share=share)
            for name, (model, lora, share) in begin.items()
        }
        for job in started.values():
            if job.exception() is None:
                stack.callback(job.result().stop)
    servers = {name: job.result() for name, job in started.items()}
    for server in servers.values():
        warm_server(server.url, server.base_name, warm_up_requests("full")[:1])
    lab.servers.update(servers)
    return small or servers["small"], servers["merged"]


def large_server(lab: Lab, models: dict[str, str], stack: ExitStack) -> RunningServer:
    """The 8 B server, with its adapter loaded: the one that was started beside the others, or a new one."""
    running = lab.servers
    if "large" not in running:
        if lab.left() < 130 and is_gpu(lab):
            raise TimeoutError(f"starting the 8 B server needs about 130 s, {lab.left():.0f} are left: call again")
        server = serve(lab, Path(models["large"]), lab.work / "large.log", lora=True, share=0.45)
        stack.callback(server.stop)
        warm_server(server.url, server.base_name, warm_up_requests("full")[:1])
        running["large"] = server
    load_adapter_on_running(running["large"].url, "adapter", Path(models["large_adapter"]))
    return running["large"]


def serve(lab: Lab, model: Path, log: Path, *, lora: bool, share: float) -> RunningServer:
    """A server on all cores but the generator's."""
    gpu = is_gpu(lab)
    engine = EngineSettings(
        max_num_seqs=256 if gpu else 16,
        block_size=16 if gpu else None,
        graph_sizes=GRAPHS if gpu else (),
        gpu_memory_share=share if gpu else None,
        prefix_caching=False,  # utterances come again and again here: cached, the figures would be of no prompt at all
        kv_space_gib=None if gpu else 1,
    )
    profile = lab.work / f"{log.stem}.profile.yaml"
    save_profile(ServerProfile(name=log.stem, device=lab.options.device, engine=engine), profile)
    args = ("--load-format", "dummy") if model.name == "large" else ()
    if gpu:
        # Told, not measured: vLLM's memory profile takes what a server beside it allocates for its own.
        args += ("--kv-cache-memory-bytes", str((24 if model.name == "large" else 8) * 2**30))
    settings = ServerSettings(
        command=lab.options.command or (f"{sys.executable} -m vllm.entrypoints.openai.api_server" if gpu else ""),
        device=lab.options.device,
        profile=str(profile),
        max_model_len=2048,
        args=args,
        start_timeout_s=400,
    )
    cores = own_cores()
    with only_on(cores[:-2] if len(cores) > 4 else ()):
        return start_server(
            settings,
            base_path=model,
            log=log,
            enable_lora=lora,
            environment={"VLLM_CACHE_ROOT": str(lab.work / "vllm-cache"), "VLLM_USE_FLASHINFER_SAMPLER": "0"},
        )


def bench(
    lab: Lab, server: RunningServer, *, step_s: float, requests: int, burst: int, seed: int, slo: Slo, long: bool
) -> Bench:
    cores = own_cores()
    texts = long_texts(lab.texts) if long else lab.texts
    rows = [Utterance(id=f"row-{number}", text=text, language=language_of(text)) for number, text in enumerate(texts)]
    settings = ThroughputSettings(step_s=step_s, min_requests=requests, burst=burst, slo=slo)
    generator = ProcessGenerator(server.url, cores=cores[-1:] if len(cores) > 4 else (), drain_limit_s=5.0)
    return Bench(generator, rows, settings, seed)


def arms(lab: Lab, small: RunningServer, merged: RunningServer) -> dict[str, Any]:
    gpu = is_gpu(lab)
    names: tuple[ArmName, ...] = ("base", "adapter", "merged", "mixed")
    served: dict[ArmName, tuple[RunningServer, tuple[str, ...]]] = {
        "base": (small, (small.base_name,)),
        "adapter": (small, ("adapter",)),
        "merged": (merged, (merged.base_name,)),
        "mixed": (small, ("adapter", "second")),
    }
    rate = 100.0 if gpu else 1.0

    def measure(arm: ArmName, block: int) -> Block:
        server, models = served[arm]
        stand = bench(
            lab, server, step_s=3, requests=300 if gpu else 4, burst=1024 if gpu else 8, seed=block, slo=SMALL_SLO, long=False
        )
        what = Arm(arm, models, fixed_tokens=SMALL_TOKENS if gpu else 4)
        return Block(arm, block, stand.burst(what), stand.at_rate(what, rate))

    measure("base", 99)  # connections, allocator, clocks: not counted
    blocks = measure_blocks(names, BLOCKS if gpu else 2, measure)
    found = ratios(blocks, names)
    word, why = recommend(found, 1)
    return {
        "rate": rate,
        "arms": [arm_figures(blocks, name).model_dump() for name in names],
        "ratios": [item.model_dump() for item in found],
        "points": [{"arm": b.arm, "block": b.block, "at_once": short(b.at_once), "at_rate": short(b.at_rate)} for b in blocks],
        "recommendation": word,
        "why": why,
    }


SMALL_SLO = Slo(p99_ms=500.0, error_rate=0.01)


def search(lab: Lab, server: RunningServer, model: str, name: str) -> dict[str, Any]:
    gpu = is_gpu(lab)
    stand = bench(lab, server, step_s=3 if gpu else 2, requests=300 if gpu else 4, burst=8, seed=0, slo=SMALL_SLO, long=False)
    arm = Arm(name.rstrip("_12"), (model,), fixed_tokens=SMALL_TOKENS if gpu else 4)
    points: list[LoadPoint] = []

    def at(rate: float) -> LoadPoint:
        points.append(stand.at_rate(arm, rate))
        return points[-1]

    found = largest_rate(at, SMALL_SLO, start=128.0 if gpu else 1.0, max_points=24 if gpu else 3, arm=arm.name)
    return {**found.model_dump(), "steps": [short(point) for point in points]}


def large(lab: Lab, server: RunningServer, arm: str) -> dict[str, Any]:
    gpu = is_gpu(lab)
    slo = Slo(p99_ms=2500.0, error_rate=0.01)
    stand = bench(
        lab, server, step_s=4 if gpu else 1, requests=128 if gpu else 2, burst=512 if gpu else 4, seed=0, slo=slo, long=gpu
    )
    what = Arm(arm, (server.base_name if arm == "base" else "adapter",), fixed_tokens=LARGE_TOKENS if gpu else 2)
    stand.burst(what)  # not counted
    rates = (16.0, 32.0, 64.0, 96.0, 128.0) if gpu else (1.0, 2.0)
    return {"rates": [short(stand.at_rate(what, rate)) for rate in rates], "at_once": short(stand.burst(what))}


if __name__ == "__main__":
    main()
