"""Many requests at once, each with its own outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from kickwheel.errors import KickwheelError
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest

Outcome = ChatReply | KickwheelError


def complete_many(
    client: ChatClient,
    requests: Sequence[ChatRequest],
    *,
    max_concurrency: int,
    on_reply: Callable[[int, Outcome], None] | None = None,
) -> list[Outcome]:
    """Outcomes in the order of the requests. A failed request is an error in its place, the others go on.

    ``on_reply(index, outcome)`` is called in this thread as each one arrives, so that what was paid for can be written
    down before the next one comes. What it raises ends the batch: requests that are not sent yet are not sent.
    """
    outcomes: dict[int, Outcome] = {}
    pool = ThreadPoolExecutor(max_workers=max(1, min(max_concurrency, len(requests))), thread_name_prefix="chat")
    try:
        futures = {pool.submit(_attempt, client, request): index for index, request in enumerate(requests)}
        for future in as_completed(futures):
            index = futures[future]
            outcomes[index] = future.result()
            if on_reply is not None:
                on_reply(index, outcomes[index])
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [outcomes[index] for index in range(len(requests))]


def _attempt(client: ChatClient, request: ChatRequest) -> Outcome:
    try:
        return client.complete(request)
    except KickwheelError as error:
        return error
