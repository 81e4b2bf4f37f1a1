"""The sixth set of checked statements: a town, a railway, a hotel chain, a library, a dairy co-operative, a car plant.

Written by somebody who knew the rules well, and committed with what each must become before the rules saw it.
"""

from __future__ import annotations

import hashlib

from kickwheel.intent.glossary import load_glossary
from kickwheel.intent.rules import RulesRecogniser
from tests.unit.intent.test_second_statements import STATEMENTS, is_right, rows_of, verdict_of

FROZEN = "3cbd3d28cd35c471c3826ddb92390c48262ebcc5461b7a86ffa20ac283bf1156"


def test_the_sixth_frozen_set_is_the_one_that_was_committed_before_the_rules_saw_it() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen6.jsonl").read_bytes()).hexdigest() == FROZEN


def test_nothing_of_the_sixth_frozen_set_is_accepted_wrongly() -> None:
    """Counts only: a failure must not show what stands in the frozen set."""
    recogniser = RulesRecogniser(load_glossary(STATEMENTS / "glossary6.yaml"))
    verdicts = [(rows, verdict_of(rows, recogniser)) for rows in rows_of("frozen6").values()]
    wrong = [verdict for rows, verdict in verdicts if not is_right(rows, verdict)]
    assert not any(line.status == "mapped" for verdict in wrong for line in verdict.got)
    assert len(wrong) <= 1
