"""The search services, one entry each in `SERVICES`.

An entry has a service's request and answer according to its documentation: Brave
(api.search.brave.com), Serper (serper.dev), Tavily (docs.tavily.com), SearXNG (docs.searxng.org,
with `json` among the formats of its settings). DuckDuckGo needs no key; the library `ddgs` reads
its result pages.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from agiraph.core.errors import InvalidInput, unknown
from agiraph.tools.web.key_names import KEY_NAMES

JsonObject = dict[str, Any]
AUTO = "auto"
DUCKDUCKGO = "duckduckgo"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchService:
    """One search service: its address, the variable of its key, its request and its answer."""

    name: str
    key_env: str
    url: str
    ask: Callable[[str, str, str, int], httpx.Request]
    hits: Callable[[JsonObject], list[JsonObject]]
    fields: tuple[str, str, str]
    """The names of title, url and snippet in a row of its answer."""

    def read(self, answer: JsonObject, count: int) -> list[SearchHit]:
        """Return the first `count` hits of an answer. Raises ValueError for another format."""
        rows = self.hits(answer)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("its answer holds no list of results")
        title, url, snippet = self.fields
        return [
            SearchHit(_text(row.get(title)), _text(row.get(url)), _text(row.get(snippet)))
            for row in rows[:count]
        ]


def _brave(url: str, key: str, query: str, count: int) -> httpx.Request:
    headers = {"X-Subscription-Token": key, "Accept": "application/json"}
    params = {"q": query, "count": str(min(count, 20)), "text_decorations": "false"}
    return httpx.Request("GET", url, headers=headers, params=params)


def _serper(url: str, key: str, query: str, count: int) -> httpx.Request:
    return httpx.Request("POST", url, headers={"X-API-KEY": key}, json={"q": query, "num": count})


def _tavily(url: str, key: str, query: str, count: int) -> httpx.Request:
    headers = {"Authorization": f"Bearer {key}"}
    wanted = {"query": query, "max_results": min(count, 20)}
    return httpx.Request("POST", url, headers=headers, json=wanted)


def _searxng(url: str, key: str, query: str, count: int) -> httpx.Request:
    where = url.rstrip("/")
    where = where if where.endswith("/search") else f"{where}/search"
    return httpx.Request("GET", where, params={"q": query, "format": "json"})


SERVICES: tuple[SearchService, ...] = (
    SearchService(
        name="brave",
        key_env="BRAVE_API_KEY",
        url="https://api.search.brave.com/res/v1/web/search",
        ask=_brave,
        hits=lambda answer: answer.get("web", {}).get("results", []),
        fields=("title", "url", "description"),
    ),
    SearchService(
        name="serper",
        key_env="SERPER_API_KEY",
        url="https://google.serper.dev/search",
        ask=_serper,
        hits=lambda answer: answer.get("organic", []),
        fields=("title", "link", "snippet"),
    ),
    SearchService(
        name="tavily",
        key_env="TAVILY_API_KEY",
        url="https://api.tavily.com/search",
        ask=_tavily,
        hits=lambda answer: answer["results"],
        fields=("title", "url", "content"),
    ),
    SearchService(
        name="searxng",
        key_env="",
        url="",
        ask=_searxng,
        hits=lambda answer: answer["results"],
        fields=("title", "url", "content"),
    ),
)
NAMES = (*(service.name for service in SERVICES), DUCKDUCKGO)


def chosen(search: str, search_url: str, environ: Mapping[str, str]) -> str:
    """Return the name of the service that `web.search` selects here.

    `auto`: the first service whose key is set, SearXNG if its address is set, else DuckDuckGo.
    """
    if search != AUTO:
        return search
    keyed = (service.name for service in SERVICES if environ.get(service.key_env))
    return next(keyed, "searxng" if search_url else DUCKDUCKGO)


def service_named(name: str) -> SearchService:
    """Return a service that answers in JSON. InvalidInput lists the known services."""
    for service in SERVICES:
        if service.name == name:
            return service
    raise unknown("search service", name, list(NAMES))


def why_unusable(
    name: str, search_url: str, environ: Mapping[str, str], *, has_ddgs: bool
) -> str | None:
    """Return why a service is unusable here, None if it is usable."""
    if name == DUCKDUCKGO:
        if has_ddgs:
            return None
        return "no key of a search service is set, and `ddgs` is not installed"
    service = service_named(name)
    if service.key_env and not environ.get(service.key_env):
        return f"{service.key_env} is not set"
    if not (service.url or search_url):
        return "web.search_url is not set: the address of a SearXNG"
    return None


def advice(name: str) -> str:
    """Return advice to make `web_search` usable."""
    if name == DUCKDUCKGO:
        keys = ", ".join(sorted(KEY_NAMES))
        return f"pip install 'agiraph[web]', or set one of {keys}, or web.search_url"
    service = service_named(name)
    what = f"export {service.key_env}=..." if service.key_env else "set web.search_url"
    return f"{what}, or choose another web.search (possible: {AUTO}, {', '.join(NAMES)})"


def request_of(name: str, search_url: str, key: str, query: str, count: int) -> httpx.Request:
    """Return the request for a service. Raises InvalidInput for an empty query."""
    if not query.strip():
        raise InvalidInput("query is empty: give words to search for")
    service = service_named(name)
    return service.ask(search_url or service.url, key, query.strip(), count)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def search_duckduckgo(query: str, count: int, seconds: float, url: str = "") -> list[SearchHit]:
    """Return the hits of DuckDuckGo. Raises the errors of `ddgs`.

    Call this only in the reader process: it parses HTML, and may block without being cancellable.
    `url` replaces the address of the public service.
    """
    from ddgs import DDGS
    from ddgs.engines import ENGINES
    from ddgs.exceptions import DDGSException

    if url:
        ENGINES["text"][DUCKDUCKGO].search_url = url
    proxy = next((os.environ[n] for n in ("HTTPS_PROXY", "https_proxy") if os.environ.get(n)), None)
    engine = DDGS(proxy=proxy, timeout=max(1, int(seconds)))
    try:
        rows = engine.text(query, max_results=count, backend=DUCKDUCKGO)
    except DDGSException as error:
        if type(error) is DDGSException and "No results" in str(error):
            return []
        raise
    return [
        SearchHit(row.get("title", ""), row.get("href", ""), row.get("body", "")) for row in rows
    ]
