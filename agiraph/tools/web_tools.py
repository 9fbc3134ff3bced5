"""Web tools: search the web, read a page. The work is done by the process `tools/web`."""

from pydantic import Field

from agiraph.core.ids import WEB
from agiraph.tools.base import Tool, ToolParams
from agiraph.tools.ports import ToolContext


class WebSearchParams(ToolParams):
    """Parameters of `web_search`."""

    query: str = Field(min_length=1, max_length=1000, description="what to search for")


class WebFetchParams(ToolParams):
    """Parameters of `web_fetch`."""

    url: str = Field(min_length=1, description="the page's address")
    offset: int = Field(default=0, ge=0, description="read on from this character")


async def web_search(context: ToolContext, params: WebSearchParams) -> str:
    """Return titles, urls and snippets; Refused with the reason if no service can be asked."""
    return await context.elsewhere.call(
        context.call_id, WEB, WEB_SEARCH.name, {"query": params.query}
    )


async def web_fetch(context: ToolContext, params: WebFetchParams) -> str:
    """Return a page as markdown; Refused with the reason if it cannot be had."""
    arguments = {"url": params.url, "offset": params.offset}
    return await context.elsewhere.call(context.call_id, WEB, WEB_FETCH.name, arguments)


WEB_SEARCH = Tool(
    name="web_search",
    description="Search the web. Returns a list of results with titles, URLs, and snippets.",
    params=WebSearchParams,
    run=web_search,
    idempotent=True,
)
WEB_FETCH = Tool(
    name="web_fetch",
    description="Fetch a webpage and return its content as markdown.",
    params=WebFetchParams,
    run=web_fetch,
    idempotent=True,
)
