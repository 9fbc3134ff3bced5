"""Web tools: search the web, read a page. The process `tools/web` does the work."""

from pydantic import Field

from agiraph.core.ids import WEB
from agiraph.tools.base import ToolParams, tool
from agiraph.tools.ports import ToolContext


class WebSearchParams(ToolParams):
    query: str = Field(min_length=1, max_length=1000, description="the words to search for")


class WebFetchParams(ToolParams):
    url: str = Field(min_length=1, description="the address (URL) of the page")
    offset: int = Field(default=0, ge=0, description="the first character to show")
    fresh: bool = Field(default=False, description="fetch the page again, not from the cache")


class PageRequest(WebFetchParams):
    """A request to the process `tools/web`; a page that it fetched before `since` is too old.

    `since` is wall time in seconds since the epoch.
    """

    since: float = 0.0


@tool("Search the web.", idempotent=True)
async def web_search(context: ToolContext, params: WebSearchParams) -> str:
    """Return titles, URLs and snippets. Raises Refused if no service is usable."""
    return await context.remote_tools.call(
        context.call_id, WEB, web_search.name, {"query": params.query}
    )


@tool("Read a web page as markdown.", idempotent=True)
async def web_fetch(context: ToolContext, params: WebFetchParams) -> str:
    """Return a page as Markdown. Raises Refused if the page cannot be fetched."""
    asked = PageRequest(**dict(params), since=context.cycle_began_at)
    arguments = asked.model_dump(mode="json")
    return await context.remote_tools.call(context.call_id, WEB, web_fetch.name, arguments)
