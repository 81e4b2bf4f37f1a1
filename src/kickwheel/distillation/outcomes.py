"""Whether a task was done, from the events about one answer."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.events import AbandonEvent, Event, OutcomeEvent, RephraseEvent, SlotEditEvent, ThumbsEvent


def completed(events: Sequence[Event]) -> bool | None:
    """Whether the task was done as wanted; None: nobody said anything.

    What the business saw decides (the latest report), else an edit, a rephrasing or giving up says no, else a thumb says it.
    """
    outcomes = [event for event in events if isinstance(event, OutcomeEvent) and event.completed is not None]
    if outcomes:
        return max(outcomes, key=lambda event: event.at).completed
    if any(isinstance(event, SlotEditEvent | AbandonEvent | RephraseEvent) for event in events):
        return False
    thumbs = [event for event in events if isinstance(event, ThumbsEvent)]
    return max(thumbs, key=lambda event: event.at).up if thumbs else None
