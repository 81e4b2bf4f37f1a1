"""The seeding flow with a teacher that does everything wrong: it completes, and says what was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from mlflow import MlflowClient

from kickwheel.seeding.review_queue import ReviewItem
from kickwheel.testing.model_server import Answer, Failure, FakeModelServer, Messages
from kickwheel.workspace import open_lap, read_jsonl
from schemas.seeding import SeedSet

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("default"),  # Prefect's and MLflow's own dependencies warn
]

RIGHT = '{"intent": "fetch_api_logs", "slots": {}}'
FAULTS: tuple[Answer, ...] = (
    f"```json\n{RIGHT}\n```",
    '{"intent": "fetch_api_logs", "sl',
    '{"intent": "drop_tables", "slots": {}}',
    '{"intent": "fetch_api_logs", "slots": {"service": "Atlantis"}}',
    "",
    Failure(status=400, body={"error": {"message": "This model's maximum context length is 2048 tokens"}}),
    Failure(status=422),
    RIGHT,
)


@pytest.fixture
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    """Gives each text one of the faults, the same one whenever it is asked about it."""
    numbers, seen = count(), dict[str, int]()

    def reply(messages: Messages, _model: str) -> Answer:
        text = next(
            m["content"] for m in reversed(messages) if m["role"] == "user" and "That reply is wrong" not in m["content"]
        )
        if text not in seen:
            seen[text] = next(numbers)
        return FAULTS[seen[text] % len(FAULTS)]

    with FakeModelServer(reply=reply) as server:
        for name, value in {
            "HOME": str(tmp_path / "home"),
            "SERVER__COMMAND": "no-such-vllm",
            "TEACHER__BASE_URL": server.url,
            "TEACHER__MODEL": server.base_name,
            "TEACHER__MAX_CONCURRENCY": "1",
            "TEACHER__PROMPT_PRICE_PER_1M": "1",
            "INTENT__RECOGNISER": "rules",
            "SEEDING__PER_ROUND": "8",
            "SEEDING__ROUNDS": "1",
        }.items():
            monkeypatch.setenv(f"KICKWHEEL_{name}", value)
        yield server


def seeded(domain: Path) -> SeedSet:
    from flows.iteration import iteration

    report = iteration(domain=str(domain), stages=["intent", "seeding"])
    assert report.seeding is not None
    return report.seeding


def test_every_fault_is_a_typed_count_of_a_flow_that_completes(example: Path, teacher: FakeModelServer, tmp_path: Path) -> None:
    (example / "review.jsonl").unlink()
    seeds = seeded(example)
    assert seeds.rounds[0].teacher_errors == {
        "context_too_long": 1,
        "empty": 1,
        "malformed": 1,
        "refused": 1,
        "span_not_in_text": 1,
        "unknown_intent": 1,
    }
    queue = read_jsonl(Path(seeds.review_queue.path), ReviewItem)
    train = Path(seeds.train.path).read_text(encoding="utf-8")
    accepted = sum(seeds.labels_by_source.values()) - seeds.labels_by_source["seed"]
    assert accepted + sum(item.reasons != ("audit",) for item in queue) == 8
    assert seeds.spend is not None
    assert seeds.spend.calls == len(teacher.chats) - 2  # two were refused
    assert seeds.spend.cost == pytest.approx(seeds.spend.prompt_tokens / 1e6)

    kept = tmp_path / "home" / "dataops" / "seed_sets" / f"{seeds.train.sha256}.jsonl"
    assert kept.read_text(encoding="utf-8") == train
    client = MlflowClient(f"sqlite:///{tmp_path / 'home' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("dataops")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id], "tags.`kickwheel.stage` = 'seeding'")
    assert [item.dataset.digest for item in run.inputs.dataset_inputs] == [seeds.train.sha256[:36]]
    assert run.data.tags["mlflow.linkedPrompts"] == '[{"name": "dataops-teacher", "version": "1"}]'
    assert run.data.metrics["teacher_paid_calls"] == seeds.spend.calls


def test_a_spent_budget_ends_the_asking_and_a_larger_one_goes_on(
    example: Path, teacher: FakeModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher.reply = lambda _messages, _model: RIGHT
    monkeypatch.setenv("KICKWHEEL_TEACHER__MAX_CALLS", "3")
    poor = seeded(example)
    assert len(teacher.chats) == 3
    assert poor.rounds[0].teacher_errors == {"budget_spent": 5}
    assert "5 rows were not put to it" in poor.notes[0]
    (open_lap(tmp_path / "home", "dataops", 1).folder / "report.json").unlink(missing_ok=True)
    monkeypatch.setenv("KICKWHEEL_TEACHER__MAX_CALLS", "30")
    rich = seeded(example)
    assert len(teacher.chats) == 8
    assert rich.rounds[0].teacher_errors == {}
    assert rich.notes == ()
