"""YAML that people write, read into contracts: every problem names file, line and field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from kickwheel.errors import InputError
from kickwheel.text_file import read_text

Model = TypeVar("Model", bound=BaseModel)


class YamlProblems(InputError):
    """Everything that is wrong with one document; the message is the first problem's."""

    def __init__(self, problems: list[InputError]):
        self.problems = problems
        first = problems[0]
        super().__init__(first.message, file=first.file, line=first.line, field=first.field)

    def __reduce__(self) -> tuple[object, ...]:
        return (YamlProblems, (self.problems,))


def read_yaml(path: Path, kind: type[Model]) -> Model:
    """Read a file.

    Raises:
        YamlProblems: missing, not UTF-8, no YAML, keys twice, or values that the contract refuses.
    """
    if not path.is_file():
        raise YamlProblems([InputError("there is no such file", file=path)])
    try:
        text = read_text(path)
    except InputError as error:
        raise YamlProblems([error]) from error
    return parse_yaml(text, kind, file=path)


def parse_yaml(text: str, kind: type[Model], *, file: Path | str, first_line: int = 1) -> Model:
    """Read YAML text that starts at ``first_line`` of ``file``. An empty text is an empty mapping.

    Raises:
        YamlProblems: as :func:`read_yaml`.
    """
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark else None
        raise YamlProblems([InputError(f"not YAML: {error.problem or error.context}", file=file, line=line)]) from error
    except (yaml.YAMLError, ValueError) as error:
        raise YamlProblems([InputError(f"not YAML: {error}", file=file)]) from error
    if data is None:
        data, tree = {}, None
    if not isinstance(data, dict):
        raise YamlProblems([InputError(f"expected 'key: value' lines, got {type(data).__name__}", file=file, line=first_line)])
    lines = {path: line + first_line for path, line in _key_lines(tree, ())}
    problems = [
        InputError("key stands here for the second time", file=file, line=line + first_line, field=".".join(path))
        for path, line in _repeated(tree, ())
    ]
    try:
        model = kind.model_validate(data)
    except ValidationError as error:
        for found in error.errors():
            place = tuple(str(part) for part in found["loc"])
            problems.append(InputError(found["msg"], file=file, line=_nearest(lines, place), field=".".join(place) or None))
        raise YamlProblems(problems) from error
    if problems:
        raise YamlProblems(problems)
    return model


def line_of(file: Path, place: tuple[str, ...]) -> int | None:
    """Line of a key of a YAML file that holds, or of the innermost part of its place that stands there."""
    tree = yaml.compose(read_text(file), Loader=yaml.SafeLoader)
    return _nearest({path: line + 1 for path, line in _key_lines(tree, ())}, place)


def _key_lines(node: yaml.Node | None, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Lines (from 0) of every key and list item."""
    for name, key, value in _children(node):
        yield (*path, name), key.start_mark.line
        yield from _key_lines(value, (*path, name))


def _repeated(node: yaml.Node | None, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Keys that YAML would silently overwrite."""
    seen: set[str] = set()
    for name, key, value in _children(node):
        if name in seen:
            yield (*path, name), key.start_mark.line
        seen.add(name)
        yield from _repeated(value, (*path, name))


def _children(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key, value
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield str(number), item, item


def _nearest(lines: dict[tuple[str, ...], int], place: tuple[str, ...]) -> int | None:
    """Line of the field, or of the innermost part of it that stands in the text."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)
