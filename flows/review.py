"""Review: wait for people, then grow the lap's labelled rows with what they say."""

from __future__ import annotations

from prefect import flow
from prefect.client.schemas.objects import State

from flows.seeding import seeding
from schemas.review import ReviewStatus
from tasks import policies
from tasks.review import review_status, unreviewed, wait_for_people
from tasks.wiring import place_of


@flow(name="review", flow_run_name="review-{domain}", **policies.STAGE)
def review(domain: str = "examples/dataops", lap: int = 0) -> ReviewStatus | State[None]:
    """Wait until the domain's review is done. lap: 0 is the unfinished one; a later lap takes the answers by itself."""
    place = place_of(domain, lap)
    if wait_for_people(place) is None:
        return unreviewed(place)
    if place.lap.has("intent"):
        seeding(domain, place.lap.number)  # what is settled becomes labelled rows
    return review_status(place)
