"""Fetching: one page over HTTP, hop by hop, with a limit on everything.

For each hop, the first and every redirect, the URL is checked, the host's name is resolved here,
the addresses are checked, and the connection is made to a checked address, so that a name server
that answers differently the second time (DNS rebinding) has no effect. No cookie or key is ever
sent, and no connection is kept alive.

Behind a proxy, which environment variables name (`agiraph.foreign.proxies`), the proxy resolves
names and must then protect private networks; only hosts whose name shows that they are local are
refused here.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from types import MappingProxyType

import httpx

from agiraph.core.errors import Refused
from agiraph.core.naming import error_line
from agiraph.foreign.http import ACCEPTED, AnswerRefused, bound
from agiraph.foreign.proxies import proxy_for
from agiraph.settings.config import WebConfig
from agiraph.tools.web.addresses import is_local_name, parsed, target, why_host_refused, why_refused

REDIRECTS = frozenset({301, 302, 303, 307, 308})
CONNECT_SECONDS = 10.0
PRIVATE_ADVICE = "web.allow_private is off"

Resolve = Callable[[str, int], Awaitable[list[str]]]
Permit = Callable[[httpx.URL], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The page at the end of a URL's redirects. `is_whole` is false for a truncated body."""

    url: str
    status: int
    mime: str
    charset: str
    body: bytes
    is_whole: bool


async def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host, in the order to try them. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def permit_all(url: httpx.URL) -> None:
    """Allow every URL."""


class PageFetcher:
    """Fetches pages; host names are resolved by `resolve`, or by the proxy that `environ` names.

    The settings limit a fetch, except its duration, which the caller must limit.
    """

    def __init__(
        self,
        config: WebConfig,
        resolve: Resolve = resolve,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._config = config
        self._resolve = resolve
        self._environ = environ
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}

    async def close(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    def _transport(self, proxy: str | None) -> httpx.AsyncHTTPTransport:
        if proxy not in self._transports:
            limits = httpx.Limits(max_keepalive_connections=0)
            self._transports[proxy] = httpx.AsyncHTTPTransport(proxy=proxy, limits=limits)
        return self._transports[proxy]

    async def fetch(self, text: str, permit: Permit = permit_all) -> FetchedPage:
        """Return the page of a URL; `permit` is awaited before each hop and raises Refused.

        Raises Refused with a reason for a person if the page cannot be fetched.
        """
        url, visited = parsed(text), set[str]()
        while True:
            visited.add(str(url))
            await permit(url)
            fetched, location = await self._hop(url)
            if location is None:
                return fetched
            url = target(url, location)
            if str(url) in visited:
                raise Refused(f"{text} redirects in a circle: {url} was already visited")
            if len(visited) > self._config.max_redirects:
                raise Refused(f"{text} redirects more than {self._config.max_redirects} times")

    async def _hop(self, url: httpx.URL) -> tuple[FetchedPage, str | None]:
        """Request one URL; return the answer, and the target if it is a redirect."""
        try:
            async with self._answered(url) as response:
                location = response.headers.get("location")
                if response.status_code in REDIRECTS and location:
                    return _fetched(url, response, b"", is_whole=True), location
                body, is_whole = await self._body(url, response)
                return _fetched(url, response, body, is_whole=is_whole), None
        except httpx.TimeoutException:
            raise Refused(f"{url.host} does not answer in time") from None
        except (httpx.TransportError, OSError) as error:
            raise Refused(f"{url.host} cannot be read: {reason_of(error)}") from None

    @asynccontextmanager
    async def _answered(self, url: httpx.URL) -> AsyncIterator[httpx.Response]:
        """Request `url` from the first address of its host that accepts; yield the answer."""
        proxy = proxy_for(str(url), self._environ)
        addresses = await self._addresses(url, is_proxied=proxy is not None)
        for number, address in enumerate(addresses, start=1):
            try:
                response = await self._transport(proxy).handle_async_request(
                    self._request(url, address)
                )
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if number == len(addresses):
                    raise
                continue
            try:
                yield response
            finally:
                await response.aclose()
            return

    async def _addresses(self, url: httpx.URL, *, is_proxied: bool) -> list[str | None]:
        """Return the addresses to try; None stands for the name, which a proxy resolves."""
        if not self._config.allow_private:
            _refuse_local(url.host)
        if is_proxied:
            return [None]
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = await self._resolve(url.host, port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Refused(f"the host {url.host} cannot be resolved ({reason})") from None
        if self._config.allow_private:
            return list(found)
        reasons = {address: why_refused(address) for address in found}
        public: list[str | None] = [address for address, reason in reasons.items() if not reason]
        if not public:
            why = next(iter(reasons.values()), None) or "no address"
            raise Refused(f"{url.host} is not fetched: its address is {why} ({PRIVATE_ADVICE})")
        return public

    def _request(self, url: httpx.URL, address: str | None) -> httpx.Request:
        headers = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": self._config.user_agent,
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
            "Accept-Encoding": ACCEPTED,
            "Accept-Language": "en,*;q=0.5",
        }
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS).as_dict()
        extensions = {"timeout": timeout, "sni_hostname": url.host}
        where = url if address is None else url.copy_with(host=address)
        return httpx.Request("GET", where, headers=headers, extensions=extensions)

    async def _body(self, url: httpx.URL, response: httpx.Response) -> tuple[bytes, bool]:
        """Return the body up to the limit, and whether it is complete."""
        most = self._config.max_bytes
        bound(response, most + 1, cuts=True)
        try:
            body = await response.aread()
        except AnswerRefused as error:
            raise Refused(f"{url}: {error}") from None
        return body[:most], len(body) <= most


def _refuse_local(host: str) -> None:
    """Raise Refused for a host whose name or number shows that it is not public."""
    if is_local_name(host):
        raise Refused(f"{host} is not fetched: it is a local name ({PRIVATE_ADVICE})")
    if reason := why_host_refused(host):
        raise Refused(f"{host} is not fetched: its address is {reason} ({PRIVATE_ADVICE})")


def _fetched(
    url: httpx.URL, response: httpx.Response, body: bytes, *, is_whole: bool
) -> FetchedPage:
    kind = Message()
    kind["content-type"] = response.headers.get("content-type", "")
    named = "content-type" in response.headers
    return FetchedPage(
        url=str(url),
        status=response.status_code,
        mime=kind.get_content_type() if named else "",
        charset=kind.get_content_charset("") or "",
        body=body,
        is_whole=is_whole,
    )


def reason_of(error: Exception) -> str:
    """Return an error of a connection as one short line.

    The text of a violated protocol quotes the bytes of the other side, so only its kind is named.
    """
    if isinstance(error, httpx.RemoteProtocolError | httpx.DecodingError):
        return f"its answer violates HTTP ({type(error).__name__})"
    return error_line(str(error)) or type(error).__name__
