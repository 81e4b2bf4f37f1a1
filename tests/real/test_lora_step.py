"""A real LoRA step: the packaged base model learns to write frames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kickwheel.errors import ModelUnavailable
from kickwheel.inference.base_model_adapter import ensure_base_model
from kickwheel.tuning.inprocess_adapter import InProcessStudent
from kickwheel.tuning.preflight import check_adapter
from kickwheel.tuning.trainer_adapter import PeftTrainer
from kickwheel.workspace import read_jsonl
from schemas.task import TaskCatalog
from schemas.tuning import LoraPlan
from schemas.utterance import Utterance

pytestmark = pytest.mark.real

CATALOG = TaskCatalog(domain="dataops", tasks=())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return ensure_base_model("package:smollm2-135m-instruct", tmp_path_factory.mktemp("home")).path
    except ModelUnavailable as error:
        pytest.skip(str(error))


def test_a_few_steps_teach_the_written_form(base: Path, tmp_path: Path, root: Path) -> None:
    rows = read_jsonl(root / "examples" / "dataops" / "seeds.jsonl", Utterance)
    plan = LoraPlan(max_tokens=4_000)
    trained = PeftTrainer().train(rows, plan, base_path=base, out=tmp_path / "adapter")
    assert plan.max_tokens * 0.95 < trained.trained_tokens <= plan.max_tokens
    assert trained.losses[-1].loss < trained.losses[0].loss / 2
    check_adapter(trained.folder, max_lora_rank=16)

    text = rows[0].text
    (untuned,) = InProcessStudent(base, None, CATALOG, "base").predict([text])
    (tuned,) = InProcessStudent(base, trained.folder, CATALOG, "tuned").predict([text])
    assert not untuned.raw.startswith('{"intent"')
    assert set(json.loads(tuned.raw)) == {"intent", "slots"}
    assert tuned.error != "truncated"  # it ends its turn
