"""The process of a program's functions: a server of the Model Context Protocol on stdin and stdout.

Run it: `python -m agiraph.sdk.tool_server FILE`, with the functions in FILE (`functions.served`).
"""

import asyncio
import inspect
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agiraph.storage.files import read_bytes

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

MOST_BYTES = 100_000_000


def make_server(functions: Sequence[Callable[..., Any]]) -> "MCPServer":
    """Return a server that offers these functions."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("functions")
    for function in functions:
        server.add_tool(function, name=function.__name__, description=inspect.getdoc(function))
    return server


def main() -> None:
    """Serve the functions in the file that the command line names, until stdin is closed."""
    functions = pickle.loads(read_bytes(Path(sys.argv[1]), MOST_BYTES))
    asyncio.run(make_server(functions).run_stdio_async())


if __name__ == "__main__":
    main()
