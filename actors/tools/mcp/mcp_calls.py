"""Mcp calls: what is said to a server over a connection, and what a model reads of its answers.

An error of the connection is McpConnectionLost: nobody knows whether what was asked has happened.
Any other error is the server's own answer, and Refused.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from actors.tools.mcp.session import McpSession, reason_of
from agiraph.core.errors import InvalidInput, Refused
from agiraph.mcp.catalog import GET_PROMPT, READ_RESOURCE
from agiraph.mcp.rendering import (
    shown_prompt,
    shown_prompts,
    shown_resource,
    shown_resources,
    shown_result,
)

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT

JsonObject = dict[str, Any]
T = TypeVar("T")
MOST_PAGES = 50
LISTS = {
    "tools": "list_tools",
    "resources": "list_resources",
    "resource_templates": "list_resource_templates",
    "prompts": "list_prompts",
}


class McpConnectionLost(Refused):
    """The connection failed with something in flight."""


class McpToolFailed(Refused):
    """The tool's own answer is that it failed."""


async def say(
    link: McpSession, tool: str, name: str, arguments: JsonObject, how: "McpCallOptions"
) -> str:
    """Return what a tool says as a model reads it; raises McpToolFailed, Refused,
    McpConnectionLost."""
    if tool == READ_RESOURCE:
        return await _read_resource(link, name, arguments, how)
    if tool == GET_PROMPT:
        return await _get_prompt(link, name, arguments, how)
    result = await _asked(
        link,
        lambda client: client.call_tool(tool, arguments, progress_callback=how.progress),
    )
    shown = shown_result(name, _plain(result), limit=how.limit, word=how.word)
    if result.is_error:
        raise McpToolFailed(shown)
    return shown


class McpCallOptions:
    """How an answer is shown, and whom its progress is told."""

    def __init__(self, limit: int, word: str, progress: "ProgressFnT") -> None:
        """Cut at `limit` characters, mark with `word`."""
        self.limit = limit
        self.word = word
        self.progress = progress


async def list_all(link: McpSession, what: str) -> list[JsonObject]:
    """Return all of a server's tools, resources, resource templates or prompts."""
    found: list[JsonObject] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):

        async def page(client: "Client", cursor: str | None = cursor) -> Any:
            return await getattr(client, LISTS[what])(cursor=cursor, cache_mode="refresh")

        result = await _asked(link, page)
        found += [_plain(one) for one in getattr(result, what)]
        cursor = result.next_cursor
        if not cursor:
            break
    return found


async def _read_resource(
    link: McpSession, name: str, arguments: JsonObject, how: McpCallOptions
) -> str:
    uri = arguments.get("uri")
    if uri is None or uri == "":
        resources = await list_all(link, "resources")
        templates = await _if_there_are("resource_templates", link)
        return shown_resources(name, resources, templates, limit=how.limit, word=how.word)
    if not isinstance(uri, str):
        raise InvalidInput(f"{name}: `uri` is text")
    result = await _asked(link, lambda client: client.read_resource(uri, cache_mode="refresh"))
    return shown_resource(name, _plain(result), limit=how.limit, word=how.word)


async def _get_prompt(
    link: McpSession, name: str, arguments: JsonObject, how: McpCallOptions
) -> str:
    wanted, given = arguments.get("name"), arguments.get("arguments") or {}
    if wanted is None or wanted == "":
        prompts = await list_all(link, "prompts")
        return shown_prompts(name, prompts, limit=how.limit, word=how.word)
    if not isinstance(wanted, str) or not isinstance(given, dict):
        raise InvalidInput(f"{name}: `name` is text, `arguments` an object")
    texts = {str(key): str(value) for key, value in given.items()}
    result = await _asked(link, lambda client: client.get_prompt(wanted, texts))
    return shown_prompt(name, _plain(result), limit=how.limit, word=how.word)


async def _if_there_are(what: str, link: McpSession) -> list[JsonObject]:
    """Return a list that a server need not have."""
    try:
        return await list_all(link, what)
    except McpConnectionLost:
        raise
    except Refused:
        return []


async def _asked(link: McpSession, ask: "Callable[[Client], Awaitable[T]]") -> T:
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED
    from pydantic import ValidationError

    client = link.client
    try:
        return await ask(client)
    except MCPError as error:
        if error.code == CONNECTION_CLOSED or not link.is_up:
            link.lose()
            raise McpConnectionLost("its server's connection was closed") from None
        raise Refused(str(error) or f"error {error.code}") from None
    except ValidationError as error:
        raise Refused(f"it answered what the protocol does not allow: {error}") from None
    except (OSError, ExceptionGroup, RuntimeError) as error:
        link.lose()
        raise McpConnectionLost(reason_of(error)) from None


def _plain(value: Any) -> JsonObject:
    plain: JsonObject = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain
