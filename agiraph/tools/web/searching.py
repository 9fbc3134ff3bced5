"""Searching: a query to a search service, retried while the service is busy."""

import asyncio
import importlib.util
from collections.abc import Mapping
from secrets import token_hex

import httpx

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.naming import error_line
from agiraph.foreign.http import ACCEPTED, MOST_REDIRECTS, AnswerRefused, guard
from agiraph.foreign.proxies import proxy_for
from agiraph.settings.config import WebConfig
from agiraph.tools.web.fetching import reason_of
from agiraph.tools.web.pages import ContentReader
from agiraph.tools.web.render import quoted
from agiraph.tools.web.services import (
    DUCKDUCKGO,
    SearchHit,
    SearchService,
    advice,
    chosen,
    request_of,
    service_named,
    why_unusable,
)

ATTEMPTS = 3
PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 5.0
BUSY = frozenset({429, 500, 502, 503, 504})
SHOWN_OF_ERROR = 200
MARK_BYTES = 4
ANSWER_BYTES = 8 << 20


class WebSearch:
    """The search service of this home.

    The service's key is in `environ`; `searcher` queries DuckDuckGo, in a process without keys.
    """

    def __init__(
        self,
        config: WebConfig,
        environ: Mapping[str, str],
        searcher: ContentReader,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._config = config
        self._environ = environ
        self._searcher = searcher
        self._pause_seconds = pause_seconds
        self.name = chosen(config.search, config.search_url, environ)
        self._client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()

    async def hits(self, query: str) -> list[SearchHit]:
        """Return the hits of the service. Raises Refused, with advice for the user."""
        if not query.strip():
            raise InvalidInput("query is empty: give words to search for")
        missing = why_unusable(
            self.name,
            self._config.search_url,
            self._environ,
            has_ddgs=importlib.util.find_spec("ddgs") is not None,
        )
        if missing is not None:
            raise Refused(f"web_search cannot be used: {missing} ({advice(self.name)})")
        if self.name == DUCKDUCKGO:
            return await self._duckduckgo(query)
        return await self._ask(service_named(self.name), query)

    async def _duckduckgo(self, query: str) -> list[SearchHit]:
        request = {
            "do": DUCKDUCKGO,
            "query": query.strip(),
            "count": self._config.results,
            "seconds": self._config.timeout_seconds,
            "url": self._config.search_url,
        }
        try:
            found = await self._searcher.ask(request, self._config.timeout_seconds)
        except Refused as error:
            raise Refused(f"{self.name} cannot be asked: {error}") from None
        return [SearchHit(**row) for row in found["hits"]]

    async def _ask(self, service: SearchService, query: str) -> list[SearchHit]:
        key = self._environ.get(service.key_env, "")
        count = self._config.results
        ask = request_of(service.name, self._config.search_url, key, query, count)
        response = await self._answer(service, ask)
        try:
            return service.read(response.json(), count)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise Refused(
                f"{service.name} gave an answer that cannot be read ({error_line(str(error))})"
            ) from None

    async def _answer(self, service: SearchService, ask: httpx.Request) -> httpx.Response:
        """Return a successful answer of the service, retried while busy. Raises Refused."""
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=None,
                proxy=proxy_for(str(ask.url), self._environ),
                trust_env=False,
                headers={"accept-encoding": ACCEPTED},
                follow_redirects=True,  # limited by the hook
                max_redirects=MOST_REDIRECTS,
                event_hooks={"response": [guard(ANSWER_BYTES)]},
            )
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = await self._client.send(ask)
            except AnswerRefused as error:
                raise Refused(f"{service.name}: {error}") from None
            except httpx.HTTPError as error:
                reason = f"cannot be reached: {reason_of(error)}"
                wait = self._pause_seconds * attempt
            else:
                if response.is_success:
                    return response
                reason = _describe_refusal(service, response)
                if response.status_code not in BUSY:
                    break
                wait = _pause(response, self._pause_seconds * attempt)
            if attempt < ATTEMPTS:
                await asyncio.sleep(wait)
        raise Refused(f"{service.name} {reason}")


def _describe_refusal(service: SearchService, response: httpx.Response) -> str:
    if response.status_code in (401, 403) and service.key_env:
        return f"refuses the key in {service.key_env} (status {response.status_code})"
    if response.status_code == 429:
        return "has been asked too often (status 429); try again later, or with fewer searches"
    shown = error_line(response.text, SHOWN_OF_ERROR)
    if not shown:
        return f"answered {response.status_code} without a text"
    return (
        f"answered {response.status_code}:\n{quoted('its own text', token_hex(MARK_BYTES), shown)}"
    )


def _pause(response: httpx.Response, otherwise: float) -> float:
    try:
        asked = float(response.headers.get("retry-after", ""))
    except ValueError:
        return otherwise
    return min(max(asked, 0.0), LONGEST_PAUSE_SECONDS)
