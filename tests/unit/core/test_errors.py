"""The error tree: every error knows whether to try again, and survives pickling between processes."""

from __future__ import annotations

import pickle

import pytest

from kickwheel import errors
from kickwheel.yaml_document import YamlProblems


def leaves(kind: type[errors.KickwheelError]) -> list[type[errors.KickwheelError]]:
    below = [leaf for child in kind.__subclasses__() for leaf in leaves(child)]
    return below or [kind]


def test_the_one_error_that_is_defined_elsewhere_is_a_leaf_too() -> None:
    assert YamlProblems in leaves(errors.InputError)


@pytest.mark.parametrize("kind", leaves(errors.KickwheelError), ids=lambda kind: kind.__name__)
def test_every_error_is_transient_or_permanent_and_is_drawn_in_the_tree(kind: type[errors.KickwheelError]) -> None:
    assert issubclass(kind, errors.Transient) != issubclass(kind, errors.Permanent)
    assert kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize(
    "error",
    [errors.DomainError("expected a slug", file="pool.jsonl", line=3, field="intent"), errors.RateLimited("slow down", 2.5)],
)
def test_errors_survive_pickling(error: errors.KickwheelError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert str(again) == str(error)
    assert vars(again) == vars(error)
