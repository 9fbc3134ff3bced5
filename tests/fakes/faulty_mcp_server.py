"""An MCP server over stdio, without an SDK, whose answers are in the JSON file of its argument:

    {"before": BYTES, "results": {METHOD: RESULT}, "lines": {METHOD: BYTES},
     "errors": {METHOD: ERROR}}

BYTES are text whose characters are bytes (latin-1); ID in a line is replaced by the request's id. A
method that is not named is answered according to the protocol; a method with an empty line is not
answered.
"""

import json
import sys
from pathlib import Path
from typing import Any

OBJECT = {"type": "object", "properties": {"q": {"type": "string"}}}
USUAL: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "odd", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "ask", "inputSchema": OBJECT}]},
    "tools/call": {"content": [{"type": "text", "text": "usual"}], "isError": False},
}


def serve(oddity: dict[str, Any]) -> None:
    """Answer each request of stdin on stdout."""
    out = sys.stdout.buffer
    out.write(oddity.get("before", "").encode("latin-1"))
    out.flush()
    results = USUAL | oddity.get("results", {})
    for line in sys.stdin:
        asked = json.loads(line)
        id, method = asked.get("id"), asked.get("method", "")
        if id is None or not method:
            continue
        if method in (lines := oddity.get("lines", {})):
            out.write(lines[method].replace("ID", str(id)).encode("latin-1"))
            out.write(b"\n" if lines[method] else b"")
        elif method in (errors := oddity.get("errors", {})):
            out.write(_line(id=id, error=errors[method]))
        elif method == "tools/call" and results[method] == "its arguments":
            text = json.dumps(asked["params"]["arguments"])
            out.write(_line(id=id, result={"content": [{"type": "text", "text": text}]}))
        elif method in results:
            out.write(_line(id=id, result=results[method]))
        else:
            out.write(_line(id=id, error={"code": -32601, "message": "Method not found"}))
        out.flush()


def _line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


if __name__ == "__main__":
    serve(json.loads(Path(sys.argv[1]).read_text()))
