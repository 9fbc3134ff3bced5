"""JsonRpcPeer: JSON-RPC 2.0 as bytes, a message a line; what was asked, and which answer belongs to
it."""

import json

from agiraph.core.turns import JsonObject
from agiraph.external.text import JsonLinesReader, unquoted

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


class JsonRpcPeer:
    """One side of a connection, without input or output."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self._lines = JsonLinesReader()
        self._number = 0
        self._asked: dict[int, str] = {}

    @property
    def noise(self) -> str:
        """The end of what the other side wrote that was no message."""
        return self._lines.noise

    def messages(self, data: bytes) -> list[JsonObject]:
        """Return the messages that these bytes complete; b"" ends the last one."""
        return self._lines.objects(data)

    def ask(self, method: str, params: JsonObject) -> bytes:
        """Return a request; `answered` will know what its answer answers."""
        self._number += 1
        self._asked[self._number] = method
        return _line({"id": self._number, "method": method, "params": params})

    def answered(self, message: JsonObject) -> str | None:
        """Return the method that a message answers, None if it answers nothing that was asked."""
        number = message.get("id")
        if "method" in message or not isinstance(number, int):
            return None
        return self._asked.pop(number, None)

    def tell(self, method: str, params: JsonObject) -> bytes:
        """Return a notification."""
        return _line({"method": method, "params": params})

    def answer(self, request: object, result: JsonObject) -> bytes:
        """Return the answer to a request of the other side."""
        return _line({"id": request, "result": result})

    def refuse(self, request: object, code: int, text: str) -> bytes:
        """Return an error as the answer to a request of the other side."""
        return _line({"id": request, "error": {"code": code, "message": text}})


def error_text(error: object) -> str:
    """Return what an error says, its details with it."""
    if not isinstance(error, dict):
        return str(error)
    text, data = str(error.get("message", "an error without a message")), error.get("data")
    text = unquoted(text)
    if isinstance(data, dict):
        data = data.get("details") or data.get("message") or json.dumps(data, ensure_ascii=False)
    return f"{text}: {data}" if data and str(data) not in text else text


def _line(message: JsonObject) -> bytes:
    whole = {"jsonrpc": "2.0", **message}
    return json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
