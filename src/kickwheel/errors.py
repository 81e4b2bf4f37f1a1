"""Every error that Kickwheel raises on purpose.

::

    KickwheelError
    ├── InputError (permanent)            what a person gave us: file, line, field, expected, got
    │   ├── DomainError                   a domain folder that does not hold
    │   └── YamlProblems                  every problem of one YAML file (kickwheel.yaml_document)
    ├── StageInputMissing (permanent)     a stage was asked for before the one it needs
    ├── StageFailed (permanent)           a stage cannot do its work, and why
    ├── TaskRefused (permanent)           a task that can't run as it stands: flagged, unbound, no executor
    ├── ExecutionFailed (permanent)       a task's data is not what its binding says
    ├── ServiceError                      something that we talk to
    │   ├── ServiceUnavailable (transient)    refused, 5xx
    │   │   └── AnswerTimeout                     nothing came in time; it may be charged for
    │   ├── RateLimited (transient)           429, with retry_after
    │   ├── RequestRefused (permanent)        4xx: asking again gives the same answer
    │   │   ├── ContextTooLong                    this one request is too long for the model
    │   │   └── AccessRefused                     no request is taken: key, model name or quota
    │   └── BudgetSpent (permanent)           ours: the settings allow no further call
    ├── StoreFailed (permanent)           an event store that can't be worked with
    ├── ServerNotInstalled (permanent)    no vLLM on this machine
    ├── StaleRouting (permanent)          the routing changed while somebody decided on another one
    ├── MoveInProgress (transient)        another process is putting a version in or out of service
    ├── DistillationRuns (transient)      one distillation of a domain at a time
    ├── ServerFailed (permanent)          the model server did not come up; the end of its log is in the message
    └── ModelUnavailable (permanent)      the base model cannot be had

``Transient`` errors may be tried again, ``Permanent`` ones never: ``tasks/policies.py`` asks ``is_transient``.
"""

from __future__ import annotations

from pathlib import Path


class KickwheelError(Exception):
    """Root of the tree. The message says what was expected, what was got and what to do."""


class Transient:
    """Marker: the same call may succeed later."""


class Permanent:
    """Marker: the same call fails the same way."""


class InputError(KickwheelError, Permanent):
    """Bad input from a person.

    Attributes:
        file, line, field: where; line counts from 1, None where it does not apply.
    """

    def __init__(self, message: str, *, file: Path | str | None = None, line: int | None = None, field: str | None = None):
        self.file, self.line, self.field = file, line, field
        place = ":".join(str(part) for part in (file, line) if part is not None)
        where = f"{place}: " if place else ""
        what = f"field {field!r}: " if field else ""
        self.message = message
        super().__init__(f"{where}{what}{message}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_input_error, (type(self), self.message, self.file, self.line, self.field))


def _rebuild_input_error(
    kind: type[InputError], message: str, file: Path | str | None, line: int | None, field: str | None
) -> InputError:
    return kind(message, file=file, line=line, field=field)


class DomainError(InputError):
    """A domain folder that does not hold."""


class StageInputMissing(KickwheelError, Permanent):
    """A stage was asked for before the stage whose result it needs."""


class StageFailed(KickwheelError, Permanent):
    """A stage cannot do its work."""


class TaskRefused(KickwheelError, Permanent):
    """A task that can't run as it stands: flagged, without target, binding or executor."""


class ExecutionFailed(KickwheelError, Permanent):
    """A task's data is not what its binding says. What was there before is unchanged."""


class StoreFailed(KickwheelError, Permanent):
    """An event store that can't be worked with: of another version, or the database refuses what is asked."""


class ServiceError(KickwheelError):
    """Something that we talk to answered badly or not at all."""


class ServiceUnavailable(ServiceError, Transient):
    """Refused, timed out, or failed with 5xx."""


class RateLimited(ServiceError, Transient):
    """429, or 5xx that says when to come back. ``retry_after`` in seconds, None where the service did not say."""

    def __init__(self, message: str, retry_after: float | None = None):
        self.retry_after = retry_after
        self.message = message
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.retry_after))


class AnswerTimeout(ServiceUnavailable):
    """No answer within the time that a call may take. A service may charge for it all the same."""


class RequestRefused(ServiceError, Permanent):
    """4xx: asking again gives the same answer."""


class ContextTooLong(RequestRefused):
    """Prompt and reply together are longer than the model's context."""


class AccessRefused(RequestRefused):
    """Not this request but every one is refused: the key, the model's name, a used-up quota."""


class BudgetSpent(ServiceError, Permanent):
    """A budget of the settings allows no further call; nothing was sent."""


class StaleRouting(KickwheelError, Permanent):
    """A routing was to be written over one that its writer had not seen. Nothing was written."""


class MoveInProgress(KickwheelError, Transient):
    """Another process is putting a version in or out of service."""


class DistillationRuns(KickwheelError, Transient):
    """A distillation of the domain is running already."""


class ServerNotInstalled(KickwheelError, Permanent):
    """There is no vLLM on this machine."""


class ServerFailed(KickwheelError, Permanent):
    """The model server did not come up or died."""


class ModelUnavailable(KickwheelError, Permanent):
    """The base model cannot be had."""


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, Transient)
