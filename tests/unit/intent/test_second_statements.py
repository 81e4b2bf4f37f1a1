"""The second set of checked statements: its frozen half was committed before anybody who wrote it had read the rules."""

from __future__ import annotations

import hashlib
from pathlib import Path

STATEMENTS = Path(__file__).parent / "statements"
FROZEN = "015d8be06e367a90f38227c1ddbef07f5f083b7ae18edb9ed52799d02a0c8fde"


def test_the_frozen_half_is_the_one_that_was_written_before_the_rules_were_widened() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen2.jsonl").read_bytes()).hexdigest() == FROZEN
