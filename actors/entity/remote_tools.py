"""Remote tools: the calls of an entity to tools that run in processes of their own.

A call that may be repeated is sent again until it is answered. Any other call is sent once: the
process is woken first, and its incarnation noted. If the call may have been lost, the same
incarnation reports whether it ever began; a later incarnation cannot, and then the outcome of the
call is unknown.
"""

import asyncio

from actors.runtime.ask_again import ask_until_answered
from actors.runtime.runtime import Runtime
from agiraph.core.errors import Refused
from agiraph.core.ids import Address, derived_message_id
from agiraph.core.turns import JsonObject
from agiraph.messages.tool import (
    CallTool,
    CancelTool,
    FetchResult,
    ListTools,
    NoSuchCall,
    ToolResult,
    ToolsListed,
)
from agiraph.tools.ports import RemoteTools
from transport.endpoint import Received
from transport.errors import Nacked, PeerLost

LOST = (
    "[interrupted] {server} died while this call ran; its outcome is unknown. "
    "Check its effects before you repeat it."
)


class RemoteToolProcesses(RemoteTools):
    """Calls tools in other processes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def call(
        self,
        call_id: str,
        server: Address,
        tool: str,
        arguments: JsonObject,
        *,
        is_repeatable: bool = True,
    ) -> str:
        """Return a tool's result; raises Refused with its reason. Cancelling drops the call."""
        call = derived_message_id(self._runtime.address, call_id)
        body = CallTool(tool=tool, arguments=arguments)
        try:
            if is_repeatable:
                answer = await ask_until_answered(self._runtime, server, body, id=call)
            else:
                answer = await self._ask_once(server, body, call)
        except Nacked as error:
            raise Refused(f"{tool} cannot be used here: {error}") from None
        except asyncio.CancelledError:
            self._runtime.post(server, CancelTool(call=call))
            raise
        return _content(answer, server)

    async def recover(self, call_id: str, server: Address) -> str | None:
        """Return the result of a call of an earlier incarnation, None if it is not known."""
        call = derived_message_id(self._runtime.address, call_id)
        try:
            answer = await ask_until_answered(self._runtime, server, FetchResult(call=call))
        except Nacked:
            return None
        except asyncio.CancelledError:
            self._runtime.post(server, CancelTool(call=call))
            raise
        return None if isinstance(answer.body, NoSuchCall) else _content(answer, server)

    async def _ask_once(self, server: Address, body: CallTool, call: bytes) -> Received:
        """Return the reply to a call that must not be executed twice.

        Repeats the call only if it never began.
        """
        while True:
            host = await ask_until_answered(self._runtime, server, ListTools())
            if isinstance(host.body, ToolsListed) and host.body.catalog.problem:
                raise Refused(host.body.catalog.problem)
            try:
                return await self._runtime.ask(server, body, id=call)
            except PeerLost:
                found = await ask_until_answered(self._runtime, server, FetchResult(call=call))
            if not isinstance(found.body, NoSuchCall):
                return found
            if found.header.incarnation != host.header.incarnation:
                raise Refused(LOST.format(server=server))


def _content(answer: Received, server: Address) -> str:
    match answer.body:
        case ToolResult(content=content, is_error=False):
            return content
        case ToolResult(content=content):
            raise Refused(content)
        case other:
            raise Refused(f"{server} answered with {type(other).__name__}")
