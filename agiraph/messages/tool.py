"""Tool: calls of tools that run in a process of their own."""

from agiraph.messages.body import Body
from agiraph.turns import JsonObject


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
