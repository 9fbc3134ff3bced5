"""Elsewhere: an entity's way to tools that run in processes of their own."""

import asyncio

from actors.entity.asking import ask_until_answered
from actors.runtime import Runtime
from agiraph.errors import Refused, Unavailable
from agiraph.ids import Address, derived_message_id
from agiraph.messages import CallTool, CancelTool, ToolResult
from agiraph.turns import JsonObject
from transport.errors import Nacked


class ToolProcesses:
    """Calls tools in other processes, again when one of those died meanwhile."""

    def __init__(self, runtime: Runtime) -> None:
        """Call for the entity of `runtime`."""
        self._runtime = runtime

    async def call(self, call_id: str, server: Address, tool: str, arguments: JsonObject) -> str:
        """Return what a tool says; raises Refused with its reason. Cancelling drops the call."""
        call = derived_message_id(self._runtime.address, call_id)
        body = CallTool(tool=tool, arguments=arguments)
        try:
            answer = await ask_until_answered(self._runtime, server, body, id=call)
        except Unavailable as error:
            raise Refused(f"{tool} cannot be used now: {error}") from None
        except Nacked as error:
            raise Refused(f"{tool} cannot be used here: {error}") from None
        except asyncio.CancelledError:
            self._runtime.post(server, CancelTool(call=call))
            raise
        match answer.body:
            case ToolResult(content=content, is_error=False):
                return content
            case ToolResult(content=content):
                raise Refused(content)
            case other:
                raise Refused(f"{server} answered with {type(other).__name__}")
