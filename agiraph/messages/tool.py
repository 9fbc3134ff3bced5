"""Tool: calls of tools that have their own process."""

from agiraph.core.turns import JsonObject
from agiraph.mcp.catalog import ToolCatalog
from agiraph.messages.body import MessageBody


class CallTool(MessageBody):
    """Run a tool. Any entity to a `tools/` process; answered by `tool.result`.

    The process of an MCP server refuses a worker that does not have the tool.
    """

    TYPE = "tool.call"
    tool: str
    arguments: JsonObject


class ToolResult(MessageBody):
    """The result for the model. The tool's process to the requester."""

    TYPE = "tool.result"
    content: str
    is_error: bool = False


class CancelTool(MessageBody):
    """Cancel the call with this message id. Requester to the tool's process."""

    TYPE = "tool.cancel"
    call: bytes


class ToolProgress(MessageBody):
    """Progress of the call with this message id. The tool's process to the requester."""

    TYPE = "tool.progress"
    call: bytes
    text: str


class ListTools(MessageBody):
    """Request the tools of the server, starting it if necessary. Answered by `tool.listed`.

    Any entity, or the human gateway, to a `tools/` process; a worker that has none of the server's
    tools and may grant none is refused. `afresh`: request the list from the server again. Sent
    before a call that must not happen twice, to wake the process.
    """

    TYPE = "tool.list"
    afresh: bool = False


class ToolsListed(MessageBody):
    """The tools of a server, or (in `catalog.problem`) why its tools are not known."""

    TYPE = "tool.listed"
    catalog: ToolCatalog


class FetchResult(MessageBody):
    """Request the outcome of the call with this message id, waiting if it is running.

    The requester of a call whose answer may have been lost, or its next incarnation, to the
    tool's process. Answered by `tool.result`, or by `tool.no_such_call` if the process does not
    know it.
    """

    TYPE = "tool.fetch_result"
    call: bytes


class NoSuchCall(MessageBody):
    """This incarnation of the tool's process has never begun that call."""

    TYPE = "tool.no_such_call"
