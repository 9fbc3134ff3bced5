"""The requests to a server over a session, and its answers as text.

An error of the connection is McpConnectionLost: it is not known whether the server has executed the
request. Any other error is the server's own answer, and ServerFailed.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from actors.tools.mcp.session import McpSession, ServerFailed, failure_of
from agiraph.core.errors import InvalidInput
from agiraph.mcp.catalog import GET_PROMPT, READ_RESOURCE, ServedTool
from agiraph.mcp.rendering import (
    prompt_list,
    prompt_text,
    resource_list,
    resource_text,
    result_text,
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


class McpConnectionLost(ServerFailed):
    """The connection failed during a request, which the server may have executed."""


async def call_tool(
    session: McpSession, tool: ServedTool, arguments: JsonObject, progress: "ProgressFnT"
) -> tuple[str, bool]:
    """Return the result of a tool as text, and whether it is an error of the tool.

    Raises Refused, ServerFailed, McpConnectionLost.
    """
    if tool.tool == READ_RESOURCE:
        return await _read_resource(session, tool.name, arguments), False
    if tool.tool == GET_PROMPT:
        return await _get_prompt(session, tool.name, arguments), False
    given = {tool.renamed.get(name, name): value for name, value in arguments.items()}
    result = await _ask(
        session,
        lambda client: client.call_tool(tool.tool, given, progress_callback=progress),
    )
    return result_text(_plain(result)), bool(result.is_error)


async def list_all(session: McpSession, what: str) -> list[JsonObject]:
    """Return all of a server's tools, resources, resource templates or prompts (`what`)."""
    found: list[JsonObject] = []
    cursors = set[str | None]()
    cursor: str | None = None
    while cursor not in cursors and len(cursors) < MOST_PAGES:
        cursors.add(cursor)

        async def page(client: "Client", cursor: str | None = cursor) -> Any:
            return await getattr(client, LISTS[what])(cursor=cursor, cache_mode="refresh")

        result = await _ask(session, page)
        found += [_plain(one) for one in getattr(result, what)]
        cursor = result.next_cursor
        if not cursor:
            break
    return found


async def _read_resource(session: McpSession, name: str, arguments: JsonObject) -> str:
    uri = arguments.get("uri")
    if uri is None or uri == "":
        resources = await list_all(session, "resources")
        return resource_list(resources, await _list_templates(session))
    if not isinstance(uri, str):
        raise InvalidInput(f"{name}: `uri` is text")
    result = await _ask(session, lambda client: client.read_resource(uri, cache_mode="refresh"))
    return resource_text(_plain(result))


async def _get_prompt(session: McpSession, name: str, arguments: JsonObject) -> str:
    prompt, given = arguments.get("name"), arguments.get("arguments") or {}
    if prompt is None or prompt == "":
        return prompt_list(await list_all(session, "prompts"))
    if not isinstance(prompt, str) or not isinstance(given, dict):
        raise InvalidInput(f"{name}: `name` is text, `arguments` an object")
    texts = {str(key): str(value) for key, value in given.items()}
    result = await _ask(session, lambda client: client.get_prompt(prompt, texts))
    return prompt_text(_plain(result))


async def _list_templates(session: McpSession) -> list[JsonObject]:
    """Return the resource templates, [] if the server has none."""
    try:
        return await list_all(session, "resource_templates")
    except McpConnectionLost:
        raise
    except ServerFailed:
        return []


async def _ask(session: McpSession, ask: "Callable[[Client], Awaitable[T]]") -> T:
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED
    from pydantic import ValidationError

    client = session.client
    try:
        return await ask(client)
    except MCPError as error:
        if error.code == CONNECTION_CLOSED or not session.is_up:
            session.mark_lost()
            raise McpConnectionLost("its connection was closed", str(error)) from None
        raise failure_of(error) from None
    except ValidationError as error:
        raise ServerFailed("its answer violates the protocol", str(error)) from None
    except RuntimeError as error:  # the SDK's, about an answer that it does not expect
        if session.is_up:
            raise ServerFailed("its answer is unexpected", str(error)) from None
        raise _lost(error) from None
    except (OSError, ExceptionGroup, ClosedResourceError, BrokenResourceError) as error:
        session.mark_lost()
        raise _lost(error) from None


def _lost(error: BaseException) -> McpConnectionLost:
    failure = failure_of(error)
    return McpConnectionLost(str(failure), failure.said)


def _plain(value: Any) -> JsonObject:
    plain: JsonObject = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain
