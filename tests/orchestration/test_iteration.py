"""Whole laps through the real flows on a real Prefect server and a real MLflow store; models are tiny or fake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from kickwheel.testing.model_server import FakeModelServer
from kickwheel.workspace import open_lap
from schemas.lap import STAGES, LapReport

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]

RIGHT = '{"intent": "fetch_api_logs", "slots": {}}'


@pytest.fixture
def home(tmp_path: Path, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a quick lap."""
    for name, value in {
        "HOME": str(tmp_path / "home"),
        "MODEL__BASE": str(tiny_base),
        "SEEDING__PER_ROUND": "6",
        "TUNING__MAX_TOKENS": "2000",
        "DISTILLATION__MAX_TOKENS": "2000",
        "THROUGHPUT__START_RATE": "4",
        "THROUGHPUT__MAX_POINTS": "2",
        "THROUGHPUT__MIN_REQUESTS": "8",
        "THROUGHPUT__STEP_S": "1",
        "THROUGHPUT__UNLOADED_REQUESTS": "4",
        "THROUGHPUT__BURST": "8",
    }.items():
        monkeypatch.setenv(f"KICKWHEEL_{name}", value)
    return tmp_path / "home"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> FakeModelServer:
    """A fake model server instead of vLLM, and a trainer that trains nothing."""
    with FakeModelServer(reply=lambda messages, model: RIGHT) as server:
        monkeypatch.setenv("KICKWHEEL_SERVER__URL", server.url)
        monkeypatch.setenv("KICKWHEEL_TEACHER__BASE_URL", server.url)
        monkeypatch.setenv("KICKWHEEL_TEACHER__MODEL", server.base_name)
        monkeypatch.setenv("KICKWHEEL_TRAINER", "instant")
        monkeypatch.setenv("KICKWHEEL_EVALUATION__CONSTRAINED", "true")
        yield server


def run(domain: Path, **parameters: object) -> LapReport:
    from flows.iteration import iteration

    return iteration(domain=str(domain), **parameters)  # type: ignore[arg-type]


def test_a_lap_reports_the_figures_that_mlflow_has(
    example: Path, home: Path, served: FakeModelServer, tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KICKWHEEL_DISTILLATION__TOKEN_KL", "0.1")
    monkeypatch.setenv("KICKWHEEL_DISTILLATION__TOKEN_TEACHER", str(tiny_base))
    report = run(example)

    assert [item.stage for item in report.stages] == list(STAGES)
    assert report.throughput is not None
    assert report.throughput.measured
    assert report.html is not None
    written = LapReport.model_validate_json((Path(report.html).parent / "report.json").read_text(encoding="utf-8"))
    assert written == report

    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    parent = client.get_run(report.mlflow_run_id or "")
    assert parent.info.status == "FINISHED"
    children = client.search_runs([parent.info.experiment_id], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
    assert {child.info.run_name: child.info.status for child in children} == dict.fromkeys(STAGES, "FINISHED")
    assert report.tuning is not None
    tuned = report.tuning.evaluation("tuned").overall
    assert parent.data.metrics["eval/joint_frame_accuracy"] == tuned.joint_frame_accuracy
    business = {name for name in parent.data.metrics if name.startswith("business/")}
    assert business >= {f"business/{name}" for name in ("task_completion", "turns", "correction_rate", "cost_per_1k_tasks")}
    assert parent.data.tags["prefect.flow_run_id"]
    tuning = next(child for child in children if child.info.run_name == "tuning")
    assert tuning.inputs.dataset_inputs
    assert tuning.data.params["r"] == "8"
    few = report.tuning.evaluation("base_few_shot")
    assert (few.overall.rows, few.sample_of) == (min(20, tuned.rows), tuned.rows if tuned.rows > 20 else None)
    assert report.tuning.evaluation("base_few_shot_json").evaluated_with.endswith("JSON schema")
    assert report.tuning.parity is not None
    assert "instant trainer" in report.tuning.parity.skipped
    assert tuning.data.metrics["probe_folds/folds"] == 5
    assert report.distillation is not None
    teacher = report.distillation.token_teacher
    assert teacher is not None
    distilled = next(child for child in children if child.info.run_name == "distillation").data.params
    told = {name: distilled[name] for name in ("token_kl", "token_teacher", "token_teacher_sha256")}
    assert told == {"token_kl": "0.1", "token_teacher": teacher.name, "token_teacher_sha256": teacher.sha256}
    assert f"{teacher.name} (sha256 {teacher.sha256[:12]}), weight 0.1" in Path(report.html).read_text(encoding="utf-8")


def test_the_next_lap_starts_from_what_the_last_one_learned(
    example: Path, home: Path, served: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(example)
    monkeypatch.setenv("KICKWHEEL_TUNING__SEED", "1")  # other weights, as a real training on more rows gives
    second = run(example)
    assert (first.lap, second.lap) == (1, 2)
    assert first.seeding is not None
    assert second.seeding is not None
    assert second.seeding.train.rows > first.seeding.train.rows
    assert second.tuning is not None
    assert second.tuning.promotion.startswith("hold")  # the same answers as the champion: nothing is gained
    assert second.distillation is not None
    assert second.distillation.champion == first.tuning.adapter.name if first.tuning else False


def test_finished_stages_are_not_done_again_and_no_teacher_call_is_repeated(
    example: Path, home: Path, served: FakeModelServer
) -> None:
    run(example, stages=["intent", "seeding"])
    calls = len(served.chats)
    assert calls >= 12
    run(example, stages=["intent", "seeding"])
    assert len(served.chats) == calls
    (home / "dataops" / "laps" / "0001" / "seeding" / "result.json").unlink()  # as a kill just before the marker leaves it
    run(example, stages=["intent", "seeding"])
    assert len(served.chats) == calls


def test_a_lap_without_vllm_goes_on_and_says_so(example: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real trainer and a student in this process, on a tiny model."""
    monkeypatch.setenv("KICKWHEEL_SERVER__COMMAND", "no-such-vllm")
    report = run(example)
    assert report.throughput is not None
    assert not report.throughput.measured
    assert "no-such-vllm" in (report.throughput.not_measured_reason or "")
    assert report.seeding is not None
    assert report.seeding.teacher.sentence().startswith("the LLM contributed 0 labels")
    assert report.seeding.teacher.unavailable_reason
    assert report.tuning is not None
    assert report.tuning.evaluation("tuned").evaluated_with == "transformers in this process"
    assert report.tuning.trained_tokens > 0


def test_a_domain_as_init_writes_it_runs_without_feedback(small_domain: Path, home: Path, served: FakeModelServer) -> None:
    report = run(small_domain)
    assert report.distillation is not None
    assert report.distillation.challenger is None
    assert open_lap(home, "claims").number == 2


def test_an_empty_pool_and_a_single_intent_do_not_fail_a_lap(example: Path, home: Path, served: FakeModelServer) -> None:
    (example / "pool.jsonl").write_text("")
    (example / "review.jsonl").write_text("")
    for name in ("seeds", "valid", "eval"):
        path = example / f"{name}.jsonl"
        rows = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if "fetch_api_logs" in line]
        path.write_text("".join(rows), encoding="utf-8")
    (example / "feedback.jsonl").unlink()
    report = run(example)
    assert report.seeding is not None
    assert all(item.scored == 0 for item in report.seeding.rounds)
    assert report.tuning is not None
    assert report.tuning.evaluation("probe").overall.intent_accuracy == 1.0


def test_a_stage_without_its_input_says_which_one_to_run(example: Path, home: Path) -> None:
    from kickwheel.errors import StageInputMissing

    with pytest.raises(StageInputMissing, match="--stages seeding"):
        run(example, stages=["intent", "tuning"])
    client = MlflowClient(f"sqlite:///{home / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("dataops")
    assert experiment is not None
    statuses = {item.info.run_name: item.info.status for item in client.search_runs([experiment.experiment_id])}
    assert statuses["lap-0001"] == "FAILED"


def test_a_near_duplicate_of_an_evaluation_row_stops_tuning(example: Path, home: Path, served: FakeModelServer) -> None:
    from kickwheel.errors import StageFailed
    from schemas.seeding import SeedSet

    run(example, stages=["intent", "seeding"])
    train = Path(open_lap(home, "dataops").load("seeding", SeedSet).train.path)
    row = json.loads((example / "eval.jsonl").read_text(encoding="utf-8").splitlines()[0])
    smuggled = row | {"id": "smuggled", "text": row["text"] + " !"}
    train.write_text(train.read_text(encoding="utf-8") + json.dumps(smuggled) + "\n", encoding="utf-8")
    with pytest.raises(StageFailed, match=rf"leak into the evaluation: smuggled is \d+ % the same as eval row {row['id']}"):
        run(example, stages=["tuning"])
    assert not (train.parent.parent / "tuning" / "result.json").exists()


def test_malformed_rows_stop_the_lap_with_file_line_and_field(example: Path, home: Path, served: FakeModelServer) -> None:
    from kickwheel.errors import InputError

    path = example / "pool.jsonl"
    rows = path.read_text(encoding="utf-8").splitlines()
    rows[2] = json.dumps({"id": "x", "text": "", "language": "en"})
    path.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(InputError, match=r"pool\.jsonl:3: field 'text'"):
        run(example)


def test_a_secret_never_reaches_mlflow_the_report_or_the_logs(
    example: Path, home: Path, served: FakeModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KICKWHEEL_TEACHER__API_KEY", "sk-do-not-tell")
    run(example, stages=["intent", "seeding"])
    assert any("sk-do-not-tell" in request.headers.get("authorization", "") for request in served.chats)
    everything = [path for path in home.rglob("*") if path.is_file()]
    assert everything
    assert not [path for path in everything if b"sk-do-not-tell" in path.read_bytes()]
    assert "sk-do-not-tell" not in caplog.text
