"""Where a sentence ends."""

from __future__ import annotations

import re

_ENDS = re.compile(
    r"[。！？；!?;]+|(?<!\bno)(?<!\be\.g)(?<!\bi\.e)(?<!\b[ap]\.m)(?<![\w:,] [a-z])(?<!\bapprox)\.(?=\s|$)", re.IGNORECASE
)
COURTESY = re.compile(
    r"(?:(?:many|with)\s+)?(?:thanks|thank\s+you|thx|cheers|regards|(?:kind|best|warm)\s+(?:regards|wishes)|best|yours|sincerely)"
    r"(?:\s+(?:a\s+lot|so\s+much|very\s+much|in\s+advance|for\s+your\s+help|again|all|everyone|team))?(?:\s*,\s*[a-z]+(?:\s[a-z]+)?)?"
    r"|(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening|day))(?:\s+(?:all|team|everyone|everybody|folks|both|there))?"
    r"|(?:非常|十分|万分)?(?:感谢|谢谢|多谢|拜托)(?:了|大家|各位|配合|支持|您|你|啦|哈)*|(?:辛苦|麻烦|拜托|有劳)(?:了|大家|各位|您|你|啦)*|(?:大家|各位|您|你)好|此致敬?礼?",
    re.IGNORECASE,
)
"""A sentence that greets or thanks: nothing is asked for, so nothing is refused either."""
_TRIM = " \t\n　,，、。;；."


def split_sentences(text: str) -> list[tuple[int, str]]:
    """Offset and text of each sentence as it stands there; question marks kept, other ends and surrounding space cut off."""
    found: list[tuple[int, str]] = []
    start = 0
    for match in [*_ENDS.finditer(text), None]:
        end = match.start() if match else len(text)
        sentence = text[start:end].strip(_TRIM)
        if sentence and not COURTESY.fullmatch(sentence.strip(" ,!~！～")):
            offset = text.index(sentence, start)
            asks = match is not None and match.group()[0] in "?？"
            found.append((offset, text[offset : offset + len(sentence) + asks]))
        start = match.end() if match else end
    return found
