"""PageReader: the text of a URL: robots.txt checked, fetched, parsed, cached for a while."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Literal, Protocol

import httpx

from agiraph.core.clock import Clock
from agiraph.core.errors import Refused
from agiraph.settings.config import WebConfig
from agiraph.tools.web.addresses import origin, parsed
from agiraph.tools.web.decoding import decoded, kind_of
from agiraph.tools.web.fetching import FetchedPage, PageFetcher, Permit, permit_all
from agiraph.tools.web.render import with_links

ROBOTS_BYTES = 512 * 1024
CACHED_PAGES = 32
CACHED_ROBOTS = 256
READ_SECONDS = 15.0

JsonObject = dict[str, Any]
RobotsVerdict = Literal["all", "none", "rules"]


class ContentReader(Protocol):
    """Parses untrusted content, in a separate process."""

    async def ask(self, request: JsonObject, within_seconds: float) -> JsonObject:
        """Return the answer to a request of `agiraph.tools.web.reader`. Raises Refused."""
        ...


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page; `note` describes a missing part.

    `age` is the time since it was fetched, in seconds, if it is from the cache. `redirects` are the
    further addresses on the way to it.
    """

    url: str
    title: str
    text: str
    note: str = ""
    age: float | None = None
    redirects: tuple[str, ...] = ()


class PageCache:
    """Recently fetched values by URL: at most `most` entries, each for `seconds` (monotonic)."""

    def __init__(self, most: int, seconds: float, now: Callable[[], float]) -> None:
        self._most = most
        self._seconds = seconds
        self._now = now
        self._entries: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    def get(self, key: str) -> Any | None:
        """Return the value of `key`, None if it is missing or expired."""
        until, value = self._entries.get(key, (0.0, None))
        return value if self._now() < until else None

    def put(self, key: str, value: object) -> None:
        """Store a value, and drop the oldest beyond the limit."""
        self._entries[key] = (self._now() + self._seconds, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)


class PageReader:
    """Fetches pages and returns their text, within robots.txt and from a cache."""

    def __init__(
        self, config: WebConfig, fetcher: PageFetcher, reader: ContentReader, clock: Clock
    ) -> None:
        self._config = config
        self._fetcher = fetcher
        self._reader = reader
        self._clock = clock
        self._pages = PageCache(CACHED_PAGES, config.cache_seconds, clock.monotonic)
        self._robots = PageCache(CACHED_ROBOTS, config.cache_seconds, clock.monotonic)

    async def page(
        self,
        text: str,
        *,
        since: float = 0.0,
        fresh: bool = False,
        permit: Permit = permit_all,
    ) -> PageText:
        """Return the text of the page at a URL. Raises Refused with the reason if there is none.

        The text may be from the cache if it was fetched at `since` (Unix time) or later, unless
        `fresh` is set. `permit` is awaited for each address to which the page redirects, and raises
        Refused.
        """
        asked = parsed(text)
        key = str(asked)
        cached: tuple[float, PageText] | None = None if fresh else self._pages.get(key)
        now = self._clock.now()
        if cached is not None and cached[0] >= since:
            for url in cached[1].redirects:
                await permit(httpx.URL(url))
            return replace(cached[1], age=max(0.0, now - cached[0]))
        redirects: list[str] = []

        async def permit_hop(url: httpx.URL) -> None:
            if url != asked:
                await permit(url)
                redirects.append(str(url))
            await self._permit(url)

        fetched = await self._fetcher.fetch(text, permit_hop)
        page = replace(await self._read(fetched), redirects=tuple(redirects))
        self._pages.put(key, (now, page))
        return page

    async def _read(self, fetched: FetchedPage) -> PageText:
        if fetched.status >= 400 or fetched.status < 200:
            raise Refused(f"{fetched.url} answered {fetched.status} {_phrase(fetched.status)}")
        note = "" if fetched.is_whole else self._note_of_length()
        match kind_of(fetched.mime, fetched.body):
            case "page":
                return await self._read_page(fetched, note)
            case "text":
                text = decoded(fetched.body, fetched.charset, is_markup="xml" in fetched.mime)
                return PageText(fetched.url, "", text, note)
            case "refused":
                raise Refused(_not_text(fetched))

    async def _read_page(self, fetched: FetchedPage, note: str) -> PageText:
        request = {
            "do": "page",
            "body": fetched.body,
            "charset": fetched.charset,
            "url": fetched.url,
        }
        try:
            read = await self._reader.ask(request, READ_SECONDS)
        except Refused as error:
            raise Refused(f"{fetched.url} was fetched but cannot be read: {error}") from None
        links = [(words, where) for words, where in read["links"]]
        return PageText(fetched.url, read["title"], with_links(read["markdown"], links), note)

    async def _permit(self, url: httpx.URL) -> None:
        """Raise Refused if the site's robots.txt does not allow `url`."""
        if not self._config.robots:
            return
        site = origin(url)
        known: tuple[RobotsVerdict, int, bytes] | None = self._robots.get(site)
        if known is None:
            answer = await self._fetcher.fetch(f"{site}/robots.txt")
            known = (verdict_of(answer.status), answer.status, answer.body[:ROBOTS_BYTES])
            self._robots.put(site, known)
        verdict, status, body = known
        if verdict == "none":
            reason = f"its site's robots.txt cannot be read now (it answered {status})"
            raise Refused(f"{url} is not fetched: {reason}")
        if verdict == "rules" and body.strip():
            request = {"do": "robots", "body": body, "url": str(url)}
            if not (await self._reader.ask(request, READ_SECONDS))["allowed"]:
                raise Refused(f"{url} is not fetched: its site's robots.txt does not allow it")

    def _note_of_length(self) -> str:
        return f"[longer than {self._config.max_bytes} bytes: the rest was not read]"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(no known status)"


def _not_text(fetched: FetchedPage) -> str:
    what = fetched.mime or "data of an unknown kind"
    return (
        f"{fetched.url} is {what}, which web_fetch does not read "
        "(possible: HTML, text, JSON, XML); bash may fetch and convert it"
    )


def verdict_of(status: int) -> RobotsVerdict:
    """Return the meaning of the status of /robots.txt (RFC 9309): all, none, or its rules."""
    if 200 <= status < 300:
        return "rules"
    return "all" if 400 <= status < 500 and status != 429 else "none"
