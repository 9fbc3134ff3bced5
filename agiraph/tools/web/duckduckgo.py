"""DuckDuckGo without a key, by the library `ddgs`, which reads its result pages.

Runs only in the reader process: it parses HTML, and may hang where it cannot be cancelled.
"""

import os

from agiraph.tools.web.hits import SearchHit

NAME = "duckduckgo"


def search(query: str, count: int, seconds: float, url: str = "") -> list[SearchHit]:
    """Return what DuckDuckGo finds, nothing if it finds nothing; raises what `ddgs` raises.

    `url`: where to ask instead of the public service.
    """
    from ddgs import DDGS
    from ddgs.engines import ENGINES
    from ddgs.exceptions import DDGSException

    if url:
        ENGINES["text"][NAME].search_url = url
    proxy = next((os.environ[n] for n in ("HTTPS_PROXY", "https_proxy") if os.environ.get(n)), None)
    engine = DDGS(proxy=proxy, timeout=max(1, int(seconds)))
    try:
        rows = engine.text(query, max_results=count, backend=NAME)
    except DDGSException as error:
        if type(error) is DDGSException and "No results" in str(error):
            return []
        raise
    return [
        SearchHit(row.get("title", ""), row.get("href", ""), row.get("body", "")) for row in rows
    ]
