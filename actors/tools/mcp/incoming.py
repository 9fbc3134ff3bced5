"""IncomingMessages: the messages of a server, in a form that the SDK can read.

Each answer is repaired (`agiraph.mcp.mending`) before the SDK sees it. A line that cannot be read
as a message is logged; if it is the answer to a request, that request fails at once, instead of
waiting for its timeout.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio

from actors.tools.mcp.pipes import message_of
from agiraph.foreign.lines import Line
from agiraph.mcp.mending import mended

JsonObject = dict[str, Any]
PARSE_ERROR: Final = -32700
LOGGED: Final = 300


class OutgoingMessages:
    """The stream to a server; records the method of each open request, by its id."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.requests: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def send(self, item: Any) -> None:
        from mcp.types import JSONRPCNotification, JSONRPCRequest

        match item.message:
            case JSONRPCRequest(id=id, method=method):
                self.requests[str(id)] = method
            case JSONRPCNotification(method="notifications/cancelled", params=dict(about)):
                self.requests.pop(str(about.get("requestId")), "")
        await self._stream.send(item)

    async def __aenter__(self) -> "OutgoingMessages":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> Any:
        return await self._stream.__aexit__(*why)


class IncomingMessages:
    """The stream of messages from a server; `on_end` is called when the stream ends.

    `on_odd` is called with each line that is no message, `on_left_out` with the parts that are left
    out of an answer.
    """

    def __init__(
        self,
        stream: Any,
        outgoing: OutgoingMessages,
        *,
        on_end: Callable[[], None],
        on_odd: Callable[[str], None],
        on_left_out: Callable[..., None],
    ) -> None:
        self._stream = stream
        self._open = outgoing.requests
        self._on_end = on_end
        self._on_odd = on_odd
        self._on_left_out = on_left_out
        self._read = deque[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> "IncomingMessages":
        return self

    async def __anext__(self) -> Any:
        while not self._read:
            try:
                item = await self._stream.__anext__()
            except StopAsyncIteration:
                self._on_end()
                raise
            self._read.extend(self._messages_of(item))
        return self._read.popleft()

    async def receive(self) -> Any:
        """Return the next message. Raises anyio.EndOfStream at the end."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def __aenter__(self) -> "IncomingMessages":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> Any:
        return await self._stream.__aexit__(*why)

    # --- one item --------------------------------------------------------------------------------

    def _messages_of(self, item: Any) -> Iterator[Any]:
        from mcp.types import JSONRPCError, JSONRPCResponse

        if isinstance(item, Exception):
            yield from self._unreadable(item)
            return
        match item.message:
            case JSONRPCResponse(id=id) as answer:
                method = self._open.pop(str(id), "")
                yield replace(item, message=answer.model_copy(update={
                    "result": self._mended(method, answer.result)}))  # fmt: skip
            case JSONRPCError(id=None) as error if len(self._open) == 1:
                [id] = self._open
                yield replace(item, message=error.model_copy(update={"id": self._closed(id)}))
            case JSONRPCError(id=id):
                self._open.pop(str(id), "")
                yield item
            case _:
                yield item

    def _mended(self, method: str, result: Any) -> JsonObject:
        answer = mended(method, result)
        self._on_left_out(*answer.left_out)
        return answer.result

    def _unreadable(self, error: Exception) -> Iterator[Any]:
        said = _said_in(error)
        for one in said if isinstance(said, list) else [said]:
            if self._is_answer(one):
                yield self._answer(one)
                continue
            data = (one if isinstance(one, str) else json.dumps(one, default=str)).encode()
            found = message_of(Line(data, len(data)), self._on_odd)
            if isinstance(found, Exception):
                self._on_odd(f"(this is no message of the protocol) {str(one)[:LOGGED]}")
            elif found is not None:
                yield from self._messages_of(found)

    def _is_answer(self, said: Any) -> bool:
        """Whether a value has the form of an answer to an open request."""
        if not isinstance(said, Mapping) or "method" in said:
            return False
        return bool({"result", "error"} & set(said)) and str(said.get("id")) in self._open

    def _answer(self, said: Mapping[str, Any]) -> Any:
        """Return an object that breaks the protocol's form as an answer of the SDK."""
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCResponse

        id = str(said["id"])
        if "result" not in said:
            return self._failed(id, _error_in(said.get("error")))
        method = self._open[id]
        result = self._mended(method, said["result"])
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=self._closed(id), result=result))

    def _failed(self, id: str, text: str) -> Any:
        from mcp.shared.message import SessionMessage
        from mcp.types import ErrorData, JSONRPCError

        error = ErrorData(code=PARSE_ERROR, message=text)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=self._closed(id), error=error))

    def _closed(self, id: str) -> int | str:
        """Record that a request is answered; return its id as it was sent."""
        self._open.pop(id, "")
        return int(id) if id.isdigit() else id


def _said_in(error: Exception) -> Any:
    """Return the value that the server sent instead of a message: an object, a list, a text."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    inputs = [one["input"] for one in error.errors(include_url=False)]
    return next((one for one in inputs if isinstance(one, Mapping | list)), inputs[0])


def _error_in(said: Any) -> str:
    if isinstance(said, Mapping):
        return str(said.get("message") or json.dumps(said, ensure_ascii=False, default=str))
    return str(said) if said else "an error without a message"
