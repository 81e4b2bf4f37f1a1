"""What vLLM offers over HTTP beside the OpenAI API: health, version, and LoRA adapters that come and go at run time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr

from kickwheel.errors import AccessRefused, RequestRefused, ServiceUnavailable
from kickwheel.inference.openai_adapter import is_local
from kickwheel.inference.server_load import requests_left

_ONE_TOKEN: dict[str, Any] = {"messages": [{"role": "user", "content": "ready?"}], "max_tokens": 1, "temperature": 0.0}


class VllmEndpoint:
    """A vLLM server by its base URL (with ``/v1``). ``api_key``: empty where it wants none; never part of a message."""

    def __init__(self, url: str, *, timeout_s: float = 60.0, api_key: SecretStr = SecretStr("")):  # noqa: B008
        self.url = url.rstrip("/")
        self._root = self.url.removesuffix("/v1")
        # A proxy of the environment must not stand between us and a server on this machine.
        self._secret = api_key.get_secret_value()
        headers = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        self._client = httpx2.Client(timeout=timeout_s, headers=headers, trust_env=not is_local(url))

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def is_healthy(self) -> bool:
        """Whether it answers and says that it is well."""
        try:
            return self._client.get(f"{self._root}/health", timeout=5.0).status_code == 200
        except httpx2.HTTPError:
            return False

    def version(self) -> str:
        """Engine and version; ``unknown`` where the server is no vLLM."""
        try:
            answer = self._client.get(f"{self._root}/version")
            return f"vLLM {answer.json()['version']}" if answer.status_code == 200 else "unknown"
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):
            return "unknown"

    def models(self) -> list[dict[str, Any]]:
        """Cards of the served models: the base first, then the adapters, each with its ``parent`` and ``root`` folder.

        Raises:
            ServiceUnavailable, RequestRefused
        """
        cards = self._call("GET", "/models")
        data = cards.get("data") if isinstance(cards, dict) else None
        return list(data or [])

    def base_name(self) -> str:
        """Served name of the base model.

        Raises:
            ServiceUnavailable, RequestRefused
        """
        names = [str(card["id"]) for card in self.models() if not card.get("parent")]
        if not names:
            raise RequestRefused(f"the server at {self.url} serves no model")
        return names[0]

    def load_adapter(self, name: str, path: Path) -> None:
        """Serve the adapter in ``path`` as ``name``. Loading what is loaded already is harmless.

        Weights that changed need a new path: the server keys its prefix cache by name and path, not by content.

        Raises:
            RequestRefused: the server does not take it (rank too high, no LoRA enabled …).
            ServiceUnavailable: the server does not answer.
        """
        folder = str(path.resolve())
        loaded = {card["id"]: card.get("root") for card in self.models()}
        if loaded.get(name) == folder:
            return
        self._call("POST", "/load_lora_adapter", {"lora_name": name, "lora_path": folder, "load_inplace": name in loaded})

    def unload_adapter(self, name: str) -> None:
        """Stop serving an adapter; harmless if it is not served."""
        if any(card["id"] == name for card in self.models()):
            self._call("POST", "/unload_lora_adapter", {"lora_name": name})

    def requests_left(self) -> int | None:
        """Requests running or waiting there; None where the server does not say.

        Raises:
            ServiceUnavailable: it does not answer.
        """
        try:
            answer = self._client.get(f"{self._root}/metrics", timeout=5.0)
        except httpx2.HTTPError as error:
            raise ServiceUnavailable(f"the model server at {self.url} does not answer: {error}") from error
        return requests_left(answer.text) if answer.status_code == 200 else None

    def first_token(self, model: str) -> float:
        """Ask ``model`` for one token; returns the seconds that it took.

        Raises:
            ServiceUnavailable, RequestRefused: it does not answer.
        """
        begin = time.perf_counter()
        self._call("POST", "/chat/completions", {**_ONE_TOKEN, "model": model})
        return time.perf_counter() - begin

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        try:
            answer = self._client.request(method, f"{self.url}{path}", json=body)
        except httpx2.HTTPError as error:
            raise ServiceUnavailable(
                f"the model server at {self.url} does not answer: {error or type(error).__name__}"
            ) from error
        if answer.status_code == 404 and "lora_adapter" in path and "cannot be found" not in answer.text:
            raise RequestRefused(
                f"the server at {self.url} takes no adapters at run time: start it with --enable-lora and "
                f"VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
            )
        if answer.status_code in (401, 403):
            what = "does not take the key of" if self._secret else "wants a key: set"
            raise AccessRefused(f"the model server at {self.url} {what} KICKWHEEL_SERVER__API_KEY ({answer.status_code})")
        if answer.status_code >= 400:
            said = answer.text[:500].replace(self._secret, "***") if self._secret else answer.text[:500]
            raise RequestRefused(f"the model server refused {path} ({answer.status_code}): {said}")
        try:
            return answer.json()
        except ValueError:
            return answer.text
