"""The third set of checked statements: committed before its author had read a line of the rules."""

from __future__ import annotations

import hashlib
from pathlib import Path

STATEMENTS = Path(__file__).parent / "statements"
FROZEN = "e2dcbe1dc7d093c60717a4d15c7de84db691c52d3e93730a3c9d564e7c5a5614"


def test_the_third_frozen_set_is_the_one_that_was_written_before_its_author_read_the_rules() -> None:
    assert hashlib.sha256((STATEMENTS / "frozen3.jsonl").read_bytes()).hexdigest() == FROZEN
