"""The real vLLM on this machine's CPU with the real base model: started, asked, given an adapter, loaded, ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kickwheel.domain import load_domain
from kickwheel.errors import RequestRefused, ServerNotInstalled
from kickwheel.inference.base_model_adapter import BaseModelFolder, ensure_base_model
from kickwheel.inference.openai_adapter import OpenAIChatClient
from kickwheel.inference.ports import ChatRequest
from kickwheel.inference.served_student import ServedStudent
from kickwheel.inference.student_prompt import student_messages
from kickwheel.inference.vllm_adapter import RunningServer, find_server_command, model_server
from kickwheel.inference.warmup import warm_up
from kickwheel.intent.mapping import map_requirements
from kickwheel.settings import ServerSettings
from kickwheel.throughput.generator_adapter import ProcessGenerator
from kickwheel.throughput.ports import LoadPlan
from kickwheel.throughput.request_body import request_body
from kickwheel.throughput.schedule import constant_schedule
from kickwheel.throughput.server_metrics import server_figures
from kickwheel.throughput.watch_adapter import MetricsWatch
from kickwheel.tuning.inprocess_adapter import InProcessStudent
from kickwheel.tuning.installed_loader_adapter import installed_rules
from kickwheel.tuning.merge_adapter import merge
from kickwheel.tuning.parity import check_parity, parity_texts
from kickwheel.tuning.preflight import check_adapter
from kickwheel.tuning.trainer_adapter import PeftTrainer
from schemas.tuning import LoraPlan

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

SCHEMA = {
    "type": "object",
    "properties": {"intent": {"enum": ["sync_orders", "out_of_scope"]}},
    "required": ["intent"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> BaseModelFolder:
    return ensure_base_model("package:smollm2-135m-instruct", tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def adapter(base: BaseModelFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter of random weights, large enough to change what the model says."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base.path, dtype=torch.bfloat16),
        LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], init_lora_weights=False),
    )
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora_B" in name:
                weights.mul_(20)
    folder = tmp_path_factory.mktemp("adapter")
    model.save_pretrained(folder, save_embedding_layers=False)
    return folder


@pytest.fixture(scope="module")
def server(base: BaseModelFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    settings = ServerSettings()
    try:
        find_server_command(settings)
    except ServerNotInstalled as error:
        pytest.skip(str(error))
    log = tmp_path_factory.mktemp("server") / "vllm.log"
    with model_server(settings, base_path=base.path, log=log, enable_lora=True) as running:
        assert running.process is not None
        leader = running.process.pid
        yield running
    assert [process.pid for process in psutil.process_iter() if _group(process.pid) == leader] == []


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def ask(server: RunningServer, request: ChatRequest, model: str = "") -> str:
    client = OpenAIChatClient(server.url, model or server.base_name, "", 120.0, configured_by="KICKWHEEL_SERVER__URL")
    try:
        return client.complete(request).text
    finally:
        client.close()


def test_the_unpacked_base_ends_its_messages_where_it_should(base: BaseModelFolder) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base.path)
    text = "order 12345 , now . 拉一下"
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.apply_chat_template(
        [{"role": "user", "content": "x"}], tokenize=False, add_generation_prompt=True
    ).endswith("<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n")
    assert base.licence == "Apache-2.0"


def test_the_base_answers_and_is_warmed(server: RunningServer) -> None:
    assert server.version.startswith("vLLM ")
    assert server.startup_s is not None
    client = OpenAIChatClient(server.url, server.base_name, "", 120.0)
    request = ChatRequest(student_messages("What is the capital of France?"), max_tokens=24, top_logprobs=1)
    assert warm_up(client, [request]) > 0
    reply = client.complete(request)
    client.close()
    assert reply.model == server.base_name
    assert 0 < reply.completion_tokens <= 24
    assert reply.mean_logprob is not None
    assert reply.mean_logprob < 0


def test_a_json_schema_binds_the_reply(server: RunningServer) -> None:
    text = ask(server, ChatRequest(student_messages("copy the orders"), max_tokens=32, json_schema=SCHEMA))
    assert json.loads(text)["intent"] in ("sync_orders", "out_of_scope")


def test_an_adapter_is_loaded_at_run_time_and_answers_differently(server: RunningServer, adapter: Path) -> None:
    """vllm-project/vllm#10798: an adapter that has no effect must not go unseen."""
    request = ChatRequest(student_messages("What is the capital of France?"), max_tokens=24)
    with pytest.raises(RequestRefused, match="does not exist"):
        ask(server, request, "random")
    server.load_adapter("random", adapter)
    server.load_adapter("random", adapter)
    assert ask(server, request, "random") != ask(server, request)
    server.unload_adapter("random")
    with pytest.raises(RequestRefused, match="does not exist"):
        ask(server, request, "random")


def test_the_generator_reads_the_real_servers_stream(server: RunningServer) -> None:
    schedule = constant_schedule(2.0, 2.0)
    generator = ProcessGenerator(server.url)
    watch = MetricsWatch(server.url, every_s=0.5, pid=server.process.pid if server.process else None)
    watch.start()
    body = request_body(server.base_name, "hello", max_tokens=64, fixed_tokens=8)
    record = generator.run(LoadPlan((body,) * len(schedule), schedule))
    figures = server_figures(watch.stop())
    generator.drain()
    assert [sample.error for sample in record.samples] == [None] * 4
    assert [sample.completion_tokens for sample in record.samples] == [8] * 4
    assert all(sample.first_token is not None and sample.first_token < sample.finished for sample in record.samples)
    assert generator.is_alive()
    assert figures is not None
    assert (figures.running_max or 0) >= 1
    assert (figures.decode_ms or 0) > 0
    assert (figures.process_memory_mib or 0) > 300
    assert figures.kv_used_max is not None


@pytest.mark.manual
def test_a_trained_adapter_gives_the_same_frames_wherever_it_runs(
    server: RunningServer, base: BaseModelFolder, root: Path, tmp_path: Path
) -> None:
    """PEFT, merged weights and the served adapter; and an adapter that the server ignores is caught (vllm 22884)."""
    domain = load_domain(root / "examples" / "dataops")
    catalog = map_requirements(
        domain.requirement_files,
        domain=domain.name,
        zone=domain.zone,
        glossary=domain.glossary(),
        min_interval_minutes=5,
    )
    trained = (
        PeftTrainer()
        .train(domain.rows("seeds"), LoraPlan(max_tokens=8_000), base_path=base.path, out=tmp_path / "adapter")
        .folder
    )
    check_adapter(
        trained, max_lora_rank=server.settings.max_lora_rank, rules=installed_rules(server.settings), base_path=base.path
    )
    server.load_adapter("trained", trained)
    clients = [OpenAIChatClient(server.url, model, "", 120.0) for model in ("trained", server.base_name)]
    served, ignored = (ServedStudent(client, student_messages, catalog, "served", 8) for client in clients)
    merged = InProcessStudent(merge(base.path, trained, tmp_path / "merged"), None, catalog, "merged")
    report = check_parity(
        parity_texts([row.text for row in domain.rows("valid")], 8, seed=0),
        InProcessStudent(base.path, trained, catalog, "peft"),
        [("merged", merged, "transformers"), ("served", served, server.version), ("ignored", ignored, server.version)],
        tolerance=0.25,
    )
    for client in clients:
        client.close()
    server.unload_adapter("trained")
    print(report.sentence())  # noqa: T201 (the figure itself, with -s)
    assert report.readable >= 4, "parity of unreadable replies would say nothing"
    assert len(report.failures) == 1, report
    assert report.failures[0].startswith("ignored")
