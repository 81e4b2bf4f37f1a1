"""The slots of a statement, as an analyst writes them.

``date; region (name, e.g. 华东, EMEA); format (enum: csv, pdf); sku (code, pattern [A-Z]{3}-\\d+, e.g. SKU-104)``
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from kickwheel.errors import InputError
from kickwheel.intent.documents import Field
from kickwheel.intent.slot_values import told
from schemas.task import SlotSpec, SlotType

_TYPES: dict[str, SlotType] = {
    "text": "text", "date": "date", "name": "name", "code": "code", "enum": "enum",
    "文本": "text", "日期": "date", "名称": "name", "编码": "code", "枚举": "enum",
}  # fmt: skip
_SLOT = re.compile(r"`?([^\s()（）`]+)`?\s*(?:[(（](.*)[)）])?")
_EXAMPLE_WORD = r"(?:e\.g\.|for example|such as|例如|比如|如)"
_EXAMPLES = re.compile(rf"\s*{_EXAMPLE_WORD}\s*[:：]?\s*", re.IGNORECASE)
_PATTERN = re.compile(
    rf"(?:^|[,，;；])\s*(?:pattern|模式|正则表达式|正则)(?:\s*[:：=]\s*|\s+)(?P<pattern>\S.*?)\s*(?=[,，;；]\s*{_EXAMPLE_WORD}|$)",
    re.IGNORECASE,
)


def read_slots(line: Field, document: str) -> tuple[SlotSpec, ...]:
    """Slots of a field line. ``none`` and ``无`` name none.

    Raises:
        InputError: what stands there is no slot; names document and line.
    """
    if line.value.strip().lower() in ("none", "无", "-", "—"):
        return ()
    slots = [_slot(part, line, document) for part in _split(line.value)]
    names = [slot.name for slot in slots]
    if len(set(names)) < len(names):
        raise InputError("the same slot is named twice", file=document, line=line.line, field="slots")
    return tuple(slots)


def _slot(text: str, line: Field, document: str) -> SlotSpec:
    matched = _SLOT.fullmatch(text)
    if not matched:
        raise InputError(f"{text!r} is no slot: expected 'name (type, e.g. …)'", file=document, line=line.line, field="slots")
    name, details, pattern = matched[1], matched[2] or "", ""
    if stated := _PATTERN.search(details):
        pattern = stated["pattern"]
        details = f"{details[: stated.start()]}{details[stated.end() :]}".lstrip(" ,，;；")
        _check_pattern(name, pattern, line, document)
    head, *rest = _EXAMPLES.split(details, maxsplit=1)
    first, separator, remainder = _cut(head)
    kind, description = _TYPES.get(first.lower()), remainder
    if kind is None:
        kind, description = ("date" if name == "date" else "text"), f"{first}{separator}{remainder}"
    listed = rest[0] if rest else description if kind == "enum" else ""
    values = tuple(value.strip() for value in re.split("[,，、/]", listed) if value.strip())
    if kind == "enum":
        description = ""
    if kind == "enum" and not values:
        raise InputError(f"slot {name!r} is an enum without values", file=document, line=line.line, field="slots")
    try:
        slot = SlotSpec(name=name, type=kind, description=description.strip(" ,，"), values=values, pattern=pattern)
    except ValidationError as error:
        problem = f"slot {name!r}: names are lower-case letters, digits and _"
        raise InputError(problem, file=document, line=line.line, field="slots") from error
    broken = next(filter(None, (told(value, slot) for value in values)), None)
    if broken:
        raise InputError(f"its own example breaks the pattern: {broken}", file=document, line=line.line, field="slots")
    return slot


def _check_pattern(name: str, pattern: str, line: Field, document: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        problem = f"slot {name!r}: {pattern!r} is no regular expression: {error}"
        raise InputError(problem, file=document, line=line.line, field="slots") from error


def _cut(text: str) -> tuple[str, str, str]:
    """The first word, what separates it, and the rest without loose ends."""
    matched = re.match(r"([^,，:：]*)([,，:：]?\s*)(.*)", text, re.DOTALL)
    parts = matched.groups() if matched else (text, "", "")
    return parts[0].strip(), parts[1], parts[2].strip(" ,，")


def _split(text: str) -> list[str]:
    """Parts between separators that stand outside parentheses."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "(（") - (char in ")）")
        if depth == 0 and char in ",，;；、":
            parts.append(current)
            current = ""
        else:
            current += char
    return [part.strip() for part in [*parts, current] if part.strip()]
