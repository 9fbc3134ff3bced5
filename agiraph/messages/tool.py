"""Tool: calls of tools that run in a process of their own."""

from agiraph.core.turns import JsonObject
from agiraph.mcp.catalog import ToolCatalog
from agiraph.messages.body import Body


class CallTool(Body):
    """Run a tool. Any entity to a `tools/` process; answered by `tool.result`."""

    TYPE = "tool.call"
    tool: str
    arguments: JsonObject


class ToolResult(Body):
    """What the model reads. The tool's process to the asker."""

    TYPE = "tool.result"
    content: str
    is_error: bool = False


class CancelTool(Body):
    """Drop the call with this message id. The asker to the tool's process."""

    TYPE = "tool.cancel"
    call: bytes


class ToolProgress(Body):
    """How far the call with this message id has come. The tool's process to the asker."""

    TYPE = "tool.progress"
    call: bytes
    text: str


class ListTools(Body):
    """Say what your server offers, starting it if need be. Answered by `tool.listed`.

    Any entity, or the human gateway, to a `tools/` process. `afresh`: ask the server again.
    """

    TYPE = "tool.list"
    afresh: bool = False


class ToolsListed(Body):
    """What a server offers, or (in `catalog.problem`) why that cannot be known."""

    TYPE = "tool.listed"
    catalog: ToolCatalog


class FetchResult(Body):
    """Tell what became of the call with this message id, waiting for its end if it runs.

    The asker of a call that may have been lost, or its next incarnation, to the tool's process.
    Answered by `tool.result`, or `tool.no_such_call` by a process that has never heard of it.
    """

    TYPE = "tool.fetch_result"
    call: bytes


class NoSuchCall(Body):
    """This incarnation of the tool's process has never begun that call."""

    TYPE = "tool.no_such_call"
