"""A migration map made ready: for each old intent what its rows become, and whether the map holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kickwheel.errors import InputError
from kickwheel.intent.slot_values import plain
from kickwheel.yaml_document import YamlProblems, read_yaml
from schemas.frame import OUT_OF_SCOPE, Frame
from schemas.registry import MigrationMap, SplitCondition, SplitPart
from schemas.task import TaskCatalog


@dataclass(frozen=True)
class IntentRule:
    """What rows of one old intent become."""

    parts: tuple[SplitPart, ...]
    """One part without a condition: a renamed or merged intent."""
    renamed_slots: Mapping[str, str]
    dropped_slots: tuple[str, ...]

    @property
    def candidates(self) -> tuple[str, ...]:
        """Intents that a row may get."""
        return tuple(dict.fromkeys(part.into for part in self.parts))

    def decide(self, identifier: str, frame: Frame) -> str | None:
        """The row's new intent; None: nothing decides, or two parts claim it."""
        named = {part.into for part in self.parts if identifier in part.rows}
        claimed = named or {part.into for part in self.parts if part.when and _holds(part.when, frame)}
        claimed = claimed or {part.into for part in self.parts if not part.when and not part.rows}
        return claimed.pop() if len(claimed) == 1 else None


def read_migration_map(path: Path, catalog: TaskCatalog) -> dict[str, IntentRule]:
    """Rules by old intent.

    Raises:
        YamlProblems: everything that is wrong with the map: no YAML, unknown fields, an intent with two fates, a result
            that the documents do not name, or a map that would do something else when it is run for the second time.
    """
    read = read_yaml(path, MigrationMap)
    problems = [InputError(message, file=path, field=field) for field, message in _problems(read, catalog)]
    if problems:
        raise YamlProblems(problems)
    return {old: IntentRule(parts, read.rename_slots.get(old, {}), read.drop_slots.get(old, ())) for old, parts in _parts(read)}


def _parts(read: MigrationMap) -> Iterator[tuple[str, tuple[SplitPart, ...]]]:
    """Every old intent, once for each fate that the map gives it; one whose slots alone change keeps its name."""
    yield from ((old, (SplitPart(into=new),)) for old, new in read.rename.items())
    yield from ((old, (SplitPart(into=new),)) for new, merged in read.merge.items() for old in merged)
    yield from read.split.items()
    moved = {*read.rename, *read.split, *(old for merged in read.merge.values() for old in merged)}
    slots_only = dict.fromkeys(intent for intent in (*read.rename_slots, *read.drop_slots) if intent not in moved)
    yield from ((intent, (SplitPart(into=intent),)) for intent in slots_only)


def _problems(read: MigrationMap, catalog: TaskCatalog) -> Iterator[tuple[str, str]]:
    """Field and message of everything that does not hold."""
    fates = list(_parts(read))
    if not fates:
        yield "rename", "the map moves nothing: expected rename, merge, split, rename_slots or drop_slots"
    sources = [old for old, _ in fates]
    resting = {old for old, parts in fates if {part.into for part in parts} == {old}}
    resting -= {*read.rename_slots, *read.drop_slots}
    for old in dict.fromkeys(old for old in sources if sources.count(old) > 1):
        yield old, "has two fates: name each old intent in one of rename, merge, split"
    for old, parts in fates:
        if old == OUT_OF_SCOPE:
            yield old, "is no task: which of its rows are one now is for people to say"
        for into in dict.fromkeys(part.into for part in parts):
            if into not in (*catalog.intents, OUT_OF_SCOPE):
                yield old, f"the documents name no intent {into!r}; they name: {', '.join(catalog.intents)}"
            if into != old and into in sources and into not in resting:
                yield (
                    old,
                    f"goes to {into!r}, which goes on to another: a second run would move rows twice. Name its last place",
                )
        yield from _split_problems(old, parts, read)
    for old, renamed in read.rename_slots.items():
        if set(renamed) & set(renamed.values()):
            yield f"rename_slots.{old}", "a slot is renamed to one that is renamed itself: a second run would do it twice"


def _split_problems(old: str, parts: tuple[SplitPart, ...], read: MigrationMap) -> Iterator[tuple[str, str]]:
    if len({part.into for part in parts if not part.when and not part.rows}) > 1:
        yield f"split.{old}", "two parts take the rest: give one of them a condition or rows"
    named = [row for part in parts for row in part.rows]
    for row in dict.fromkeys(row for row in named if named.count(row) > 1):
        yield f"split.{old}", f"row {row!r} stands in two parts"
    if len(parts) > 1 and old in {part.into for part in parts}:
        changed = {*read.rename_slots.get(old, {}), *read.drop_slots.get(old, ())}
        for name in sorted({part.when.slot for part in parts if part.when} & changed):
            yield (
                f"split.{old}",
                f"decides by slot {name!r}, which it renames or drops in rows that stay: a second run would decide anew. "
                "Do it in two maps, one after the other",
            )


def _holds(condition: SplitCondition, frame: Frame) -> bool:
    value = frame.values.get(condition.slot)
    if not condition.present:
        return value is None
    if value is None:
        return False
    return not condition.values or plain(value) in {plain(wanted) for wanted in condition.values}
