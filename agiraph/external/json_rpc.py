"""JsonRpcPeer: one side of a JSON-RPC 2.0 connection as bytes, one message a line."""

import json

from agiraph.core.turns import JsonObject
from agiraph.external.text import json_line, unquoted

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


class JsonRpcPeer:
    """Numbers the requests of this side, and knows which response belongs to which."""

    def __init__(self) -> None:
        self._number = 0
        self._open: dict[int, str] = {}

    def request(self, method: str, params: JsonObject) -> bytes:
        """Return a request, whose response `method_answered` recognizes."""
        self._number += 1
        self._open[self._number] = method
        return _encode({"id": self._number, "method": method, "params": params})

    def method_answered(self, message: JsonObject) -> str | None:
        """Return the method of the request that a message answers, None if it answers none."""
        id = message.get("id")
        if "method" in message or not isinstance(id, int):
            return None
        return self._open.pop(id, None)

    def notify(self, method: str, params: JsonObject) -> bytes:
        """Return a notification."""
        return _encode({"method": method, "params": params})

    def respond(self, request: object, result: JsonObject) -> bytes:
        """Return the response to a request of the other side."""
        return _encode({"id": request, "result": result})

    def refuse(self, request: object, code: int, text: str) -> bytes:
        """Return an error as the response to a request of the other side."""
        return _encode({"id": request, "error": {"code": code, "message": text}})


def error_text(error: object) -> str:
    """Return an error's message with its details."""
    if not isinstance(error, dict):
        return str(error)
    text, data = str(error.get("message", "an error without a message")), error.get("data")
    text = unquoted(text)
    if isinstance(data, dict):
        data = data.get("details") or data.get("message") or json.dumps(data, ensure_ascii=False)
    return f"{text}: {data}" if data and str(data) not in text else text


def _encode(message: JsonObject) -> bytes:
    return json_line({"jsonrpc": "2.0", **message})
