"""Urls: which places a page may be fetched from, by their form alone. Pure."""

import httpx

from agiraph.core.errors import InvalidInput

LONGEST_URL = 4000
HIGHEST_PORT = 65535
SCHEMES = ("http", "https")
LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "test", "invalid")


def parsed(text: str) -> httpx.URL:
    """Return the url that `text` names, without its fragment; InvalidInput if there is none.

    A bare `example.com/page` is taken for https.
    """
    shown = text.strip()
    if not shown or len(shown) > LONGEST_URL or any(mark.isspace() for mark in shown):
        raise InvalidInput(f"'{shown[:80]}' is no url (possible: https://example.com/page)")
    try:
        url = httpx.URL(shown if "://" in shown or _names_a_scheme(shown) else f"https://{shown}")
        return _checked(url, shown).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"'{shown[:80]}' is no url ({error})") from None


def target(url: httpx.URL, location: str) -> httpx.URL:
    """Return where a redirect from `url` leads; InvalidInput if that cannot be fetched."""
    try:
        return _checked(url.join(location), location).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidInput(f"'{location[:80]}' is no url ({error})") from None


def origin(url: httpx.URL) -> str:
    """Return scheme, host and port: what a robots.txt speaks for."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def is_local_name(host: str) -> bool:
    """Whether a host's name is one that no public name server answers."""
    return host.lower().rstrip(".").rpartition(".")[2] in LOCAL_NAMES or host in ("home.arpa",)


def _names_a_scheme(text: str) -> bool:
    """Whether `text` begins as `mailto:x` does, not as `example.com:8080/x`."""
    scheme, colon, rest = text.partition(":")
    return bool(colon) and "." not in scheme and not rest[:1].isdigit() and "/" not in scheme


def _checked(url: httpx.URL, shown: str) -> httpx.URL:
    if url.scheme not in SCHEMES:
        raise InvalidInput(
            f"'{shown[:80]}' cannot be fetched: scheme '{url.scheme}' (possible: http, https)"
        )
    if not url.host:
        raise InvalidInput(f"'{shown[:80]}' names no host (possible: https://example.com/page)")
    if url.port is not None and not 0 < url.port <= HIGHEST_PORT:
        raise InvalidInput(f"'{shown[:80]}' is no url (port {url.port})")
    if url.userinfo:
        raise InvalidInput(f"the url of {url.host} holds a name or password; leave them out")
    return url
