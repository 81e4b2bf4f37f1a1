"""Three laps of simulated users' feedback on drifted traffic: does what they do make the student better, and nothing worse?

    python -m benchmarks.feedback_laps --data $DATA/SNIPS --json

Each lap: the champion answers the lap's requests; simulated users (15 % noise) act on the answers; their acts become signals,
fused targets and a challenger by the code of the distillation stage; the gate compares it with the champion on the drifted
``valid``. ``eval`` is read for the report alone. The student is the linear probe (logistic regression and the slot tagger),
refitted on old rows and weighted candidates: it needs seconds where a LoRA student needs an hour on two cores.

The texts and their frames are real (SNIPS); the users and the drift are simulated.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.drifted_data import Drifted, drifted, read_slot_rows
from kickwheel.distillation.candidates import closed_set
from kickwheel.distillation.compare import compare
from kickwheel.distillation.fusion import fuse
from kickwheel.distillation.mixing import weighted_rows
from kickwheel.distillation.signals import signals_of
from kickwheel.distillation.targets import distillation_row, has_support
from kickwheel.evaluation import evaluate
from kickwheel.evaluation.intent_change import intent_changes
from kickwheel.probe import Probe
from kickwheel.settings import DistillationSettings
from kickwheel.testing.simulated_users import Habits, SimulatedUsers
from schemas.feedback import DistillationRow, FeedbackEvent
from schemas.frame import Prediction
from schemas.quality import Evaluation
from schemas.utterance import Utterance

LAPS = 3


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the laps for each seed and print what became of ``eval``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of SNIPS: SPLIT/seq.in, seq.out, label")
    parser.add_argument("--seeds", type=int, default=3, help="repetitions, each with rows, users and drift of its own")
    parser.add_argument("--noise", type=float, default=0.15, help="share of reactions and labels of the other kind")
    parser.add_argument("--drift", type=float, default=0.8, help="share of traffic, valid and eval in the new wording")
    parser.add_argument("--seed-rows", type=int, default=50, help="labelled rows an intent to start from")
    parser.add_argument("--requests", type=int, default=630, help="requests a lap")
    parser.add_argument("--checked", type=int, default=150, help="rows an intent in valid, and in eval")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(arguments)
    rows = read_slot_rows(options.data, "train")
    repetitions = []
    for seed in range(options.seeds):
        data = drifted(
            rows,
            seed=seed,
            laps=LAPS,
            seeds_an_intent=options.seed_rows,
            requests_a_lap=options.requests,
            checked_an_intent=options.checked,
            drift=options.drift,
        )
        repetitions.append(repetition(data, seed, Habits(noise=options.noise)))
        print(f"seed {seed}: {repetitions[-1]['joint']} gain {repetitions[-1]['gain']:.3f}", file=sys.stderr)
    gains = [item["gain"] for item in repetitions]
    result = {
        "benchmark": "feedback_laps",
        "data": "SNIPS train rows; drift and users simulated",
        "student": "linear probe and slot tagger",
        "options": {name: value for name, value in vars(options).items() if name not in ("data", "json")},
        "gain_mean": statistics.fmean(gains),
        "gain_least": min(gains),
        "intents_significantly_worse": sum(len(item["significantly_worse"]) for item in repetitions),
        "largest_fall_of_an_intent": max(item["largest_fall"] for item in repetitions),
        "repetitions": repetitions,
    }
    sys.stdout.write(json.dumps(result, indent=None if options.json else 1) + "\n")
    return result


def repetition(data: Drifted, seed: int, habits: Habits) -> dict[str, Any]:
    """The laps of one seed."""
    started = time.monotonic()
    settings = DistillationSettings(max_cases=10_000)
    users = SimulatedUsers([row.frame for row in data.valid if row.frame], random.Random(seed), habits)
    texts = [row.text for row in data.evaluation]
    learnt: list[DistillationRow] = []
    champion = Probe.fit(data.seeds, seed=seed)
    first = champion.predict(texts)
    now, last = first, _score(data, first)
    joint, laps = [last.overall.joint_frame_accuracy], []
    for number, traffic in enumerate(data.traffic, start=1):
        asked = [row.text for row in traffic]
        answers = champion.predict(asked)
        events = [
            users.meet(f"{number}-{row.id}", row.text, row.frame, answer, model=f"lap-{number}")
            for row, answer in zip(traffic, answers, strict=True)
            if row.frame
        ]
        learnt += _batch(events, answers, champion, settings)
        challenger = _challenger(data, learnt, asked, seed)
        verdict = compare(champion, challenger, data.valid, settings, evaluated_with="scikit-learn")
        if verdict.decision == "promote":
            champion = challenger
            now = champion.predict(texts)
            last = _score(data, now)
        joint.append(last.overall.joint_frame_accuracy)
        laps.append(
            {
                "lap": number,
                "gate": verdict.decision,
                "reasons": verdict.reasons,
                "task_completion": statistics.fmean(event.completed for event in events),
                "joint_on_traffic": statistics.fmean(
                    answer.frame == row.frame for row, answer in zip(traffic, answers, strict=True)
                ),
                "rows_learnt": len(learnt),
                "labels_right": _labels_right(learnt[-len(events) :], traffic),
            }
        )
    changes = intent_changes(data.evaluation, first, now)
    return {
        "seed": seed,
        "joint": [round(value, 4) for value in joint],
        "gain": joint[-1] - joint[0],
        "laps": laps,
        "intents": [change.__dict__ for change in changes],
        "significantly_worse": [change.intent for change in changes if change.significantly_worse],
        "largest_fall": max(0.0, *(change.before - change.after for change in changes)),
        "seconds": round(time.monotonic() - started, 1),
    }


def _batch(
    events: Sequence[FeedbackEvent], answers: Sequence[Prediction], champion: Probe, settings: DistillationSettings
) -> list[DistillationRow]:
    """Signals, fusion, closed sets and targets as in the stage, without a teacher and without a second model."""
    fused = fuse([signal for event in events for signal in signals_of(event, settings)], settings)
    ranked = champion.probabilities([event.text for event in events]).argsort(axis=1)[:, ::-1]
    rows = []
    for event, answer, ranking in zip(events, answers, ranked, strict=True):
        if not has_support(fused.get(event.case)):
            continue
        found = closed_set(event, answer, Prediction(), [champion.classes[k] for k in ranking])
        rows.append(distillation_row(found, fused[event.case], None, teacher_mix=0.0))
    return rows


def _challenger(data: Drifted, learnt: Sequence[DistillationRow], asked: Sequence[str], seed: int) -> Probe:
    pairs = [(row, 1.0) for row in data.seeds] + [pair for row in learnt for pair in weighted_rows(row)]
    rows, weights = zip(*pairs, strict=True)
    return Probe.fit(rows, seed=seed, weights=weights)


def _labels_right(learnt: Sequence[DistillationRow], traffic: Sequence[Utterance]) -> float:
    """Share of this lap's rows whose likeliest candidate is what the user wanted."""
    wanted = {row.text: row.frame for row in traffic}
    best = [(row.text, max(row.candidates, key=lambda item: item.target).frame) for row in learnt if row.text in wanted]
    return sum(wanted[text] == frame for text, frame in best) / max(len(best), 1)


def _score(data: Drifted, answers: Sequence[Prediction]) -> Evaluation:
    return evaluate(data.evaluation, answers, student="champion", split="eval", evaluated_with="scikit-learn")


if __name__ == "__main__":
    main()
