"""How users may ask for a task, as an analyst writes it: ``"resend yesterday's orders"; "把昨天的订单同步到湖里"``."""

from __future__ import annotations

import re

from kickwheel.errors import InputError
from kickwheel.intent.documents import Field

_QUOTED = re.compile(r"\"([^\"]*)\"|“([^”]*)”|「([^」]*)」|『([^』]*)』|«([^»]*)»|《([^》]*)》")
_BETWEEN = re.compile(r"(?:[\s,，;；、.。/|]|\b(?:and|or)\b|[和或及])*", re.IGNORECASE)


def read_phrasings(line: Field, document: str) -> tuple[str, ...]:
    """Phrasings of a field line, each once: what stands in quotes if all of it does, else the parts between semicolons.

    Raises:
        InputError: there is none; names document and line.
    """
    quoted = [next(filter(None, match.groups()), "") for match in _QUOTED.finditer(line.value)]
    whole = bool(quoted) and bool(_BETWEEN.fullmatch(_QUOTED.sub(" ", line.value)))
    parts = quoted if whole else re.split("[;；]", line.value)
    phrasings = tuple(dict.fromkeys(part.strip() for part in parts if re.search(r"\w", part)))
    if not phrasings:
        problem = f"{line.value!r} holds no phrasing: quote each, or put a semicolon between them"
        raise InputError(problem, file=document, line=line.line, field="examples")
    return phrasings
