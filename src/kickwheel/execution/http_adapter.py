"""Pages of a service that answers GET with JSON: tried again where that may help, and never without end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kickwheel.errors import ExecutionFailed, RateLimited, RequestRefused, ServiceUnavailable, is_transient
from kickwheel.execution.places import Http
from kickwheel.execution.ports import Surroundings
from kickwheel.inference.openai_adapter import is_local, retry_after

if TYPE_CHECKING:
    import httpx2
    from tenacity import RetryCallState

FIRST_WAIT_S = 1.0
"""Wait after the first try that failed; each later one is twice as long, up to the binding's ``longest_wait_s``."""
_TRANSIENT_4XX = (408, 409, 425)


class _SecretsFilter(logging.Filter):
    """Takes secrets out of log records."""

    def __init__(self, hide: Callable[[str], str]):
        super().__init__()
        self._hide = hide

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._hide(record.getMessage()), ()
        return True


class HttpPages:
    """Iterates over pages, each a list of records. Placeholders are filled in here and hidden in every error."""

    def __init__(self, http: Http, surroundings: Surroundings):
        """
        Raises:
            TaskRefused: a variable is not set.
        """
        import httpx2

        fill, hide = surroundings.placeholders.fill, surroundings.placeholders.hide
        self._http, self._surroundings = http, surroundings
        self._url = fill(http.url)
        self._params = {name: fill(value) if isinstance(value, str) else value for name, value in http.params.items()}
        self._client = httpx2.Client(
            headers={"Accept": "application/json", **{name: fill(value) for name, value in http.headers.items()}},
            timeout=http.timeout_s,
            follow_redirects=False,  # headers may hold credentials: they go to the address of the binding and nowhere else
            trust_env=not is_local(self._url),
        )

        self._filter = _SecretsFilter(hide)
        logging.getLogger("httpx2").addFilter(self._filter)  # it logs every address, with the query

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()
        logging.getLogger("httpx2").removeFilter(self._filter)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        """All pages.

        Raises:
            ServiceUnavailable, RateLimited: every try of a page failed.
            RequestRefused: an answer that asking again does not change.
            ExecutionFailed: what is answered is not what the binding says, or the pages do not end.
        """
        paging = self._http.paging
        if paging is None:
            yield self._records(self._get(self._url, self._params))
            return
        name = paging.parameter or ("cursor" if paging.by == "cursor" else "page")
        url, params = self._url, dict(self._params)
        seen: set[str] = set()
        before: list[dict[str, Any]] | None = None
        for number in range(paging.max_pages + 1):
            if paging.by == "page":
                params[name] = paging.first + number
            elif number == paging.max_pages:
                break
            reply = self._get(url, params)
            records = self._records(reply)
            following = ""
            if paging.by == "page":
                if not records:
                    return
                if number == paging.max_pages:
                    break
                if records == before:
                    raise self._failed(f"page {params[name]} is the page before again: is {name!r} its page parameter?")
                before, following = records, str(number)
            elif paging.by == "cursor":
                params[name] = following = str(_at(reply.json(), paging.next) or "")
            else:
                url = following = self._linked(reply)
                params = {}  # the address of the next page carries its own
            yield records
            if not following:
                return
            if following in seen:
                raise self._failed("the service names a next page that was fetched already")
            seen.add(following)
        raise self._failed(f"there are more than {paging.max_pages} pages: raise paging.max_pages if that is right")

    def _get(self, url: str, params: dict[str, Any]) -> httpx2.Response:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(self._http.attempts),
            retry=retry_if_exception(self._worth_another_try),
            wait=self._wait,
            sleep=self._surroundings.sleep,
            reraise=True,
        )
        reply: httpx2.Response = retrying(self._get_once, url, params)
        return reply

    def _get_once(self, url: str, params: dict[str, Any]) -> httpx2.Response:
        import httpx2

        try:
            # An address that a service named carries its own query; an empty mapping would wipe it.
            reply = self._client.get(url, params=params or None)
        except httpx2.TimeoutException:
            raise ServiceUnavailable(self._say(f"no answer within {self._http.timeout_s:g} s")) from None
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise RequestRefused(self._say(str(error))) from None
        except httpx2.HTTPError as error:
            raise ServiceUnavailable(self._say(f"cannot be reached ({error})")) from None
        if reply.status_code == 200:
            return reply
        what = self._say(f"answered {reply.status_code} {reply.reason_phrase}: {reply.text[:200]}")
        wait = retry_after(reply.headers.get("retry-after"), self._surroundings.now().astimezone(UTC))
        if reply.status_code == 429 or (reply.status_code >= 500 and wait is not None):
            raise RateLimited(what, wait)
        if reply.status_code >= 500 or reply.status_code in _TRANSIENT_4XX:
            raise ServiceUnavailable(what)
        if reply.is_redirect:
            what = self._say(
                f"redirects to {urlsplit(reply.headers.get('location', '')).netloc}: put that address in the binding"
            )
        raise RequestRefused(what)

    def _worth_another_try(self, error: BaseException) -> bool:
        return is_transient(error) and (_asked_wait(error) or 0) <= self._http.longest_wait_s

    def _wait(self, state: RetryCallState) -> float:
        """The wait that the service asks for, else one twice as long as the last."""
        error = state.outcome.exception() if state.outcome else None
        asked = _asked_wait(error)
        backed_off: float = FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1)
        return min(backed_off, self._http.longest_wait_s) if asked is None else asked

    def _records(self, reply: httpx2.Response) -> list[dict[str, Any]]:
        try:
            body = reply.json()
        except ValueError:
            raise self._failed(f"the answer is no JSON: {reply.text[:80]!r}") from None
        records = _at(body, self._http.records)
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            where = f"{self._http.records!r} of the answer" if self._http.records else "the answer"
            raise self._failed(f"expected {where} to be a list of objects ('records' says where the list stands)")
        return records

    def _linked(self, reply: httpx2.Response) -> str:
        """Address of the next page; empty: there is none."""
        address = reply.links.get("next", {}).get("url", "")
        if not address:
            return ""
        joined = reply.url.join(address)
        if joined.host != reply.url.host or joined.scheme != reply.url.scheme or joined.port != reply.url.port:
            raise self._failed(f"the next page is said to be on another host, {joined.host}: credentials are not sent there")
        return str(joined)

    def _failed(self, what: str) -> ExecutionFailed:
        return ExecutionFailed(self._say(what))

    def _say(self, what: str) -> str:
        return f"GET {self._http.url}: {self._surroundings.placeholders.hide(what)}"


def _at(body: Any, path: str) -> Any:
    """What stands at a dotted path; None: nothing."""
    for name in filter(None, path.split(".")):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _asked_wait(error: BaseException | None) -> float | None:
    """Seconds that the service asks to wait; None: it does not say."""
    return error.retry_after if isinstance(error, RateLimited) else None
