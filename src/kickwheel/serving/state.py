"""What is in service, as operators read it."""

from __future__ import annotations

from kickwheel.serving.service import UnderstandingService
from schemas.understanding import ServiceState, VersionInService


def state_of(service: UnderstandingService) -> ServiceState:
    """The service's state now."""
    state, recorder = service.fleet.state, service.recorder
    roles = () if state is None else zip(("champion", "challenger"), state.all, strict=False)
    return ServiceState(
        revision=state.routing.revision if state else 0,
        experiment=state.routing.experiment if state else "",
        challenger_share=state.routing.challenger_share if state else 0.0,
        shadow=state.routing.shadow if state else False,
        versions=tuple(
            VersionInService(
                name=serving.version.name,
                kind=serving.version.kind,
                role="champion" if role == "champion" else "challenger",
                calibrated=serving.calibration is not None,
                warm_s=serving.warm_s,
                in_flight=serving.in_flight,
            )
            for role, serving in roles
        ),
        problem=service.fleet.problem,
        cache_hit_rate=service.cache.hit_rate,
        unwritten=recorder.unwritten,
        lost=recorder.lost,
    )
