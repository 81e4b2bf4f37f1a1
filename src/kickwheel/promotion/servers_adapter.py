"""Model servers that promotions start: each held by a ``kickwheel serve-model`` process that says for which domain.

A holder writes its record itself, once its server is warm. So a server whose promotion was killed meanwhile is found, and
ended, by the next move.
"""

from __future__ import annotations

import os
from pathlib import Path

from kickwheel.inference.detached_adapter import DetachedServer, running_servers, start_detached
from kickwheel.inference.switch_adapter import Stoppable
from kickwheel.inference.vllm_command import find_server_command
from kickwheel.settings import ServerSettings
from schemas.promotion import PromotableVersion

NOT_INHERITED = {"KICKWHEEL_SERVER__URL", "KICKWHEEL_SERVER__PORT"}
"""They say where the *first* server is."""


class DetachedServers:
    """A :class:`~kickwheel.promotion.ports.ServerKeeper` of one domain."""

    def __init__(self, folder: Path, domain: str, home: Path, settings: ServerSettings):
        self._folder, self._domain, self._home, self._settings = folder, domain, home, settings

    def start(self, version: PromotableVersion) -> Stoppable:
        """See the port. Merged weights are served under the version's name; an adapter beside its base."""
        for server in self._servers():
            record = server.record
            if version.name in ((record.model,) if version.kind == "merged" else record.adapters):
                return server
        find_server_command(self._settings)
        adapter = ["--adapter", f"{version.name}={Path(version.folder.path).resolve()}"]
        arguments = [str(self._folder.resolve()), *adapter, *(["--merged"] if version.kind == "merged" else [])]
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        return start_detached([*arguments, "--held-for", self._domain], home=self._home, environment=environment)

    def running(self) -> dict[str, Stoppable]:
        """See the port."""
        return {server.url: server for server in self._servers()}

    def _servers(self) -> list[DetachedServer]:
        return [DetachedServer(record) for record in running_servers(self._home) if record.held_for == self._domain]
