"""What `kickwheel throughput` was asked, as settings, and what its figures depend on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kickwheel import __version__
from kickwheel.domain import Domain
from kickwheel.lineage import server_inputs
from kickwheel.settings import Settings
from kickwheel.workspace import fingerprint
from schemas.throughput import RateRequest
from schemas.tuning import AdapterArtifact

_OF_SETTINGS = (
    "slo",
    "start_rate",
    "tolerance",
    "min_requests",
    "max_points",
    "step_s",
    "unloaded_requests",
    "burst",
    "arrivals",
    "cores",
    "structured",
)


def asked_settings(settings: Settings, request: RateRequest) -> Settings:
    """The domain's settings with what the request says otherwise."""
    wanted = {name: value for name in _OF_SETTINGS if (value := getattr(request, name)) is not None}
    throughput = settings.throughput.model_copy(update=wanted)
    server = settings.server.model_copy(update={"url": request.url}) if request.url else settings.server
    return settings.model_copy(update={"throughput": throughput, "server": server})


@dataclass(frozen=True)
class Asked:
    """A load test by what it loads. ``fingerprint``: of everything that its figures depend on."""

    name: str
    fingerprint: str

    @classmethod
    def of(cls, domain: Domain, settings: Settings, request: RateRequest, adapter: AdapterArtifact | None) -> Asked:
        """Of a request under its settings."""
        name = request.model or (adapter.name if adapter else "the base")
        server = server_inputs(settings.server)
        parts = (__version__, name, adapter, settings.throughput, *server, settings.model, settings.seed, domain.eval)
        load = request.load
        shape = () if load is None else (load, Path(load.trace)) if load.trace else (load,)
        return cls(name, fingerprint(*parts, *shape))
