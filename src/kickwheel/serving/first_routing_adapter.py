"""What `kickwheel serve` puts in service where nothing is, or what is can't be asked any more; and the model server for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kickwheel.domain import Domain
from kickwheel.errors import InputError, ServerNotInstalled, ServiceError
from kickwheel.inference.base_model_adapter import ensure_base_model
from kickwheel.inference.vllm_adapter import RunningServer, find_server_command, model_server
from kickwheel.inference.vllm_http_adapter import VllmEndpoint
from kickwheel.serving.first_routing import Choice, replaced
from kickwheel.serving.routing_adapter import read_routing, routing_path, write_routing
from kickwheel.settings import Settings
from schemas.serving import Routing, ServedVersion
from schemas.tuning import AdapterArtifact


def registered_champion(domain: Domain, settings: Settings) -> AdapterArtifact | None:
    """The adapter under the registry's alias ``champion``, its folder on this machine; None: nothing was promoted yet."""
    from kickwheel.tracking.registry_adapter import AdapterRegistry
    from kickwheel.tracking.store_adapter import open_store, tracking_uri

    kept_in = tracking_uri(settings)
    if kept_in.startswith("sqlite:///") and not Path(kept_in.removeprefix("sqlite:///")).is_file():
        return None  # a look must not make a store
    client, _ = open_store(settings, domain.name)
    folder = settings.home / domain.name
    return AdapterRegistry(client, domain.name, folder / "promotions.jsonl").champion(into=folder / "adapters")


Champion = Callable[[Domain, Settings], AdapterArtifact | None]


def choose(
    domain: Domain,
    settings: Settings,
    *,
    model_url: str = "",
    model: str = "",
    probe: bool = False,
    champion_of: Champion = registered_champion,
) -> Choice:
    """What to serve, decided and not yet done.

    Args:
        model_url: a model server that runs, with ``/v1``.
        model: name at that server; empty: the registry's champion, which is loaded there.
        probe: the probe in this process, whatever else there is.

    Raises:
        InputError: options that do not go together, or no champion to load.
        ServiceError: the server at ``model_url`` does not answer.
    """
    standing = read_routing(routing_path(settings.home, domain.name))
    if probe:
        return Choice(standing, _probe_of(domain), "the probe, in this process, as asked for")
    if model_url and model:
        version = ServedVersion(name=model, kind="vllm", url=model_url.rstrip("/"), model=model)
        return Choice(standing, version, f"{model} at {model_url}, as asked for")
    if standing and not model_url:
        lost = [version for version in _versions(standing) if version.kind == "vllm" and not _answers(version.url)]
        if not lost:
            return Choice(standing, standing.champion, f"revision {standing.revision} of the routing")
        return _on_own_server(settings, standing, lost)
    champion = champion_of(domain, settings)
    if champion is None and model_url:
        raise InputError("nothing was promoted yet, so name what to serve there with --model", field="--model-url")
    if champion is None:
        return Choice(standing, _probe_of(domain), "the probe, in this process: nothing was promoted yet (kickwheel run)")
    url = model_url or settings.server.url
    try:
        if not url:
            find_server_command(settings.server)
    except ServerNotInstalled as error:
        told = f"the probe, in this process, and not the registry's champion {champion.name}: {error}"
        return Choice(standing, _probe_of(domain), told)
    return _champion_on_a_server(standing, champion, url)


@contextmanager
def in_service(domain: Domain, settings: Settings, choice: Choice) -> Iterator[Routing]:
    """Do what was chosen: start the server if one is to be started, load the adapters, write the routing if it changed.

    The server lives as long as the block.

    Raises:
        ServerFailed, ServiceError, StaleRouting
    """
    path = routing_path(settings.home, domain.name)
    if not choice.adapters:
        yield _written(path, choice.standing, replaced(choice.standing, {}, choice.champion))
        return
    # A server that runs has its base model already; only one that we start needs it here.
    base = Path() if choice.url else ensure_base_model(choice.base, settings.home).path
    server_settings = settings.server.model_copy(update={"url": choice.url})
    with model_server(server_settings, base_path=base, log=path.with_name("vllm.log"), enable_lora=True) as server:
        moved = {version.name: _loaded(server, version) for version in choice.adapters}
        champion = moved.get(choice.champion.name, choice.champion)
        yield _written(path, choice.standing, replaced(choice.standing, moved, champion))


def _probe_of(domain: Domain) -> ServedVersion:
    return ServedVersion(name=f"{domain.name}-probe", kind="probe")


def _versions(routing: Routing) -> tuple[ServedVersion, ...]:
    return (routing.champion,) if routing.challenger is None else (routing.champion, routing.challenger)


def _answers(url: str) -> bool:
    endpoint = VllmEndpoint(url, timeout_s=5.0)
    try:
        return endpoint.is_healthy()
    finally:
        endpoint.close()


def _on_own_server(settings: Settings, standing: Routing, lost: list[ServedVersion]) -> Choice:
    """The versions of a routing whose server is gone, on one that we start."""
    for version in lost:
        if not Path(version.folder or "-").is_dir():
            raise ServiceError(
                f"the model server of {version.name} at {version.url} does not answer, and its routing names no folder of an "
                "adapter to start it from: start that server, or name another with --model-url"
            )
    find_server_command(settings.server)
    told = f"revision {standing.revision} of the routing, its adapters on a vLLM that is started here"
    return Choice(standing, standing.champion, told, adapters=tuple(lost), base=settings.model.base, url="")


def _champion_on_a_server(standing: Routing | None, champion: AdapterArtifact, url: str) -> Choice:
    folder = str(Path(champion.folder.path).resolve())
    version = ServedVersion(name=champion.name, kind="vllm", url=url or "to be started", model=champion.name, folder=folder)
    where = f"at {url}" if url else "on a vLLM that is started here"
    told = f"the registry's champion {champion.name} {where}"
    return Choice(standing, version, told, adapters=(version,), base=champion.base_model, url=url)


def _loaded(server: RunningServer, version: ServedVersion) -> ServedVersion:
    server.load_adapter(version.model, Path(version.folder))
    return version.model_copy(update={"url": server.url})


def _written(path: Path, standing: Routing | None, wanted: Routing) -> Routing:
    if wanted != standing:
        write_routing(path, wanted)
    return wanted
