"""The model server's life: found, started, waited for, and gone whatever happens. vLLM itself is in tests/real."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from kickwheel.errors import RequestRefused, ServerFailed, ServerNotInstalled, ServiceUnavailable
from kickwheel.inference import vllm_command
from kickwheel.inference.adapter_check import check_modules
from kickwheel.inference.vllm_adapter import find_server_command, model_server
from kickwheel.inference.vllm_command import MODULE, server_arguments, server_environment
from kickwheel.settings import ServerSettings
from kickwheel.testing.model_server import FakeModelServer

STAND_IN = """
import subprocess, sys, time
from kickwheel.testing.model_server import FakeModelServer
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("stand-in with child", child.pid, flush=True)
with FakeModelServer(base_name=arguments["--served-model-name"], port=int(arguments["--port"])):
    time.sleep(600)
"""
"""A server with a child process of its own, started as vLLM is."""

SLEEPER = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""


def stand_in(tmp_path: Path, text: str = STAND_IN) -> ServerSettings:
    script = tmp_path / "stand_in.py"
    script.write_text(text, encoding="utf-8")
    return ServerSettings(command=f"{sys.executable} {script}", start_timeout_s=60, device="gpu")


def has_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def becomes_true(condition: Callable[[], bool], within_s: float = 30.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def group_of(leader: int) -> list[int]:
    members = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return members


def test_the_server_answers_inside_the_block_and_is_gone_with_its_children_after_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    base = tmp_path / "some-base"
    with model_server(stand_in(tmp_path), base_path=base, log=log, enable_lora=False) as server:
        assert server.process is not None
        leader = server.process.pid
        assert server.is_healthy()
        assert server.base_name == "some-base"
        assert server.version == "vLLM fake"
        assert server.startup_s is not None
        assert len(group_of(leader)) == 2
    assert group_of(leader) == []
    assert "stand-in with child" in log.read_text(encoding="utf-8")


def test_an_error_inside_the_block_ends_the_server_too(tmp_path: Path) -> None:
    def use() -> None:
        with model_server(stand_in(tmp_path), base_path=tmp_path, log=tmp_path / "log", enable_lora=False) as server:
            assert server.process is not None
            leaders.append(server.process.pid)
            raise KeyboardInterrupt

    leaders: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        use()
    assert group_of(leaders[0]) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killing_us_leaves_no_server_behind(tmp_path: Path, number: signal.Signals) -> None:
    """No `with` block and no handler runs on kill -9: the supervisor sees its pipe end."""
    program = textwrap.dedent(f"""
        import os, sys, time
        from pathlib import Path
        from kickwheel.inference.vllm_process_adapter import SupervisedProcess
        process = SupervisedProcess([sys.executable, "-c", {SLEEPER!r}], os.environ, Path({str(tmp_path / "log")!r}))
        print(process.pid, flush=True)
        time.sleep(600)
    """)
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    leader = int(parent.stdout.readline())
    try:
        assert becomes_true(lambda: len(group_of(leader)) == 2)
        parent.send_signal(number)
        parent.wait(30)
        assert becomes_true(lambda: group_of(leader) == [])
    finally:
        parent.stdout.close()
        if group_of(leader):
            os.killpg(leader, signal.SIGKILL)


def test_a_server_that_dies_while_it_starts_shows_the_end_of_its_log(tmp_path: Path) -> None:
    settings = stand_in(tmp_path, "import sys; print('CUDA out of memory'); sys.exit(3)")
    with (
        pytest.raises(ServerFailed, match=r"(?s)ended while it started.*CUDA out of memory.*server\.log"),
        model_server(settings, base_path=tmp_path, log=tmp_path / "server.log", enable_lora=False),
    ):
        pytest.fail("it never came up")


def test_a_server_that_never_gets_ready_is_given_up_on(tmp_path: Path) -> None:
    settings = stand_in(tmp_path, "import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    log = tmp_path / "server.log"
    with (
        pytest.raises(ServerFailed, match=r"not ready after 2 s \(setting KICKWHEEL_SERVER__START_TIMEOUT_S\)"),
        model_server(settings.model_copy(update={"start_timeout_s": 2.0}), base_path=tmp_path, log=log, enable_lora=False),
    ):
        pytest.fail("it never came up")
    assert has_gone(int(log.read_text(encoding="utf-8")))


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        settings = stand_in(tmp_path).model_copy(update={"port": port})
        with (
            pytest.raises(ServerFailed, match=rf"port {port} is taken .*KICKWHEEL_SERVER__PORT"),
            model_server(settings, base_path=tmp_path, log=tmp_path / "log", enable_lora=False),
        ):
            pytest.fail("the port was taken")
    assert not (tmp_path / "log").exists()


def test_no_vllm_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_command, "ENVIRONMENT", "no-such-environment")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerNotInstalled, match=r"make setup.*KICKWHEEL_SERVER__URL"):
        find_server_command(ServerSettings())


def test_a_command_that_does_not_exist_is_named() -> None:
    with pytest.raises(ServerNotInstalled, match="no command 'no-such-vllm'"):
        find_server_command(ServerSettings(command="no-such-vllm serve"))


def test_the_environment_in_the_working_directory_is_found_only_if_vllm_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_command, "ENVIRONMENT", ".venv-made-for-this-test")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    python = tmp_path / ".venv-made-for-this-test" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    with pytest.raises(ServerNotInstalled):
        find_server_command(ServerSettings())
    (tmp_path / ".venv-made-for-this-test" / "lib" / "python3.11" / "site-packages" / "vllm" / "entrypoints").mkdir(
        parents=True
    )
    assert find_server_command(ServerSettings()) == [str(python), "-m", MODULE]


def test_arguments_fit_both_ways_of_starting_vllm() -> None:
    settings = ServerSettings(args=("--seed", "3"), max_lora_rank=8)
    module = server_arguments(settings, ["python", "-m", MODULE], base_path=Path("/m"), base_name="m", port=9, enable_lora=True)
    assert module[:5] == ["python", "-m", MODULE, "--model", "/m"]
    assert module[-2:] == ["--seed", "3"]
    assert "--enforce-eager" in module
    assert module[module.index("--max-lora-rank") + 1] == "8"
    assert module[module.index("--lora-target-modules") + 1 :][:2] == ["q_proj", "v_proj"]
    gpu = ServerSettings(device="gpu")
    serve = server_arguments(gpu, ["vllm", "serve"], base_path=Path("/m"), base_name="m", port=9, enable_lora=False)
    assert serve[:3] == ["vllm", "serve", "/m"]
    assert "--enforce-eager" not in serve
    assert "--enable-lora" not in serve


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"target_modules": ["q_proj", "o_proj"]}, r"touches o_proj, .*KICKWHEEL_SERVER__LORA_MODULES"),
        ({"target_modules": "all-linear"}, "touches all-linear"),
    ],
)
def test_an_adapter_that_would_be_served_in_part_is_refused(tmp_path: Path, config: dict[str, object], complaint: str) -> None:
    """vllm-project/vllm#10798: refuse before loading what the server would not apply."""
    (tmp_path / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(RequestRefused, match=complaint):
        check_modules(tmp_path, ("q_proj", "v_proj"))


def test_an_adapter_that_fits_is_let_through(tmp_path: Path) -> None:
    config = {"target_modules": ["v_proj", "model.layers.3.self_attn.q_proj"]}
    (tmp_path / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    check_modules(tmp_path, ("q_proj", "v_proj"))
    check_modules(tmp_path, ())


def test_a_folder_without_an_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestRefused, match="holds no LoRA adapter"):
        check_modules(tmp_path, ())


def test_free_white_space_in_structured_output_is_off() -> None:
    """vllm-project/vllm#38696: blanks up to max_tokens."""
    arguments = server_arguments(ServerSettings(), ["x"], base_path=Path("/m"), base_name="m", port=9, enable_lora=False)
    assert '"disable_any_whitespace":true' in arguments[arguments.index("--structured-outputs-config") + 1]


def test_the_server_gets_none_of_our_keys() -> None:
    inherited = {"KICKWHEEL_TEACHER__API_KEY": "sk-secret", "VLLM_API_KEY": "sk-secret", "HOME": "/root"}
    environment = server_environment(ServerSettings(), inherited, range(2))
    assert "sk-secret" not in environment.values()
    assert environment["HOME"] == "/root"
    assert environment["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True"


@pytest.mark.parametrize(
    ("device", "inherited", "cores", "bound"),
    [
        ("cpu", {}, [0, 3], "0,3"),
        ("cpu", {"VLLM_CPU_OMP_THREADS_BIND": "0"}, [0, 1], "0"),
        ("cpu", {}, range(8), None),
        ("gpu", {}, [0, 1], None),
    ],
)
def test_a_cpu_server_computes_on_all_of_few_cores(
    device: str, inherited: dict[str, str], cores: Sequence[int], bound: str | None
) -> None:
    environment = server_environment(ServerSettings(device=device), inherited, cores)
    assert environment.get("VLLM_CPU_OMP_THREADS_BIND") == bound


def test_a_running_server_is_used_and_never_stopped(tmp_path: Path) -> None:
    with FakeModelServer(base_name="served") as running:
        settings = ServerSettings(url=running.url)
        with model_server(settings, base_path=tmp_path, log=tmp_path / "log", enable_lora=True) as server:
            assert (server.base_name, server.startup_s, server.process) == ("served", None, None)
        with model_server(settings, base_path=tmp_path, log=tmp_path / "log", enable_lora=True) as server:
            assert server.is_healthy()


def test_a_running_server_that_does_not_run_is_unavailable(tmp_path: Path) -> None:
    with FakeModelServer() as running:
        running.die()
        with (
            pytest.raises(ServiceUnavailable, match="KICKWHEEL_SERVER__URL"),
            model_server(ServerSettings(url=running.url), base_path=tmp_path, log=tmp_path / "log", enable_lora=True),
        ):
            pytest.fail("nothing runs there")


def test_an_adapter_is_loaded_once_and_its_loading_again_is_harmless(tmp_path: Path) -> None:
    with (
        FakeModelServer() as running,
        model_server(ServerSettings(url=running.url), base_path=tmp_path, log=tmp_path / "log", enable_lora=True) as server,
    ):
        server.load_adapter("tuned", tmp_path / "a")
        server.load_adapter("tuned", tmp_path / "a")
        assert [request.path for request in running.requests] == ["/v1/load_lora_adapter"]
        server.load_adapter("tuned", tmp_path / "b")
        assert running.adapters == {"tuned": str(tmp_path / "b")}
        server.unload_adapter("tuned")
        server.unload_adapter("tuned")
        assert running.adapters == {}


def test_a_server_without_lora_says_how_to_start_it(tmp_path: Path) -> None:
    with (
        FakeModelServer(lora=False) as running,
        model_server(ServerSettings(url=running.url), base_path=tmp_path, log=tmp_path / "log", enable_lora=True) as server,
        pytest.raises(RequestRefused, match="VLLM_ALLOW_RUNTIME_LORA_UPDATING"),
    ):
        server.load_adapter("tuned", tmp_path)
