"""Robots: what a site's robots.txt (RFC 9309) lets us fetch. Pure."""

from typing import Literal

from agiraph.tools.web.charset import decoded

ROBOTS_BYTES = 512 * 1024
PRODUCT = "Agiraph"

Verdict = Literal["all", "none", "rules"]


def verdict_of(status: int) -> Verdict:
    """Return what an answer to GET /robots.txt means: all is allowed, nothing, or as it says."""
    if 200 <= status < 300:
        return "rules"
    return "all" if 400 <= status < 500 and status != 429 else "none"


def allows(body: bytes, url: str) -> bool:
    """Whether the rules of a robots.txt let us fetch a page.

    Patterns of strangers may take very long to match: call it where it can be killed.
    """
    from protego import Protego

    rules = Protego.parse(decoded(body[:ROBOTS_BYTES]))
    return bool(rules.can_fetch(url, PRODUCT))
