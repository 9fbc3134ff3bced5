"""The process of a program's functions: a server of the Model Context Protocol on stdin and stdout.

Run it: `python -m agiraph.sdk.tool_server FILE`, with the functions in FILE (`functions.served`).
"""

import asyncio
import inspect
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agiraph.storage.files import read_bytes

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

MOST_BYTES = 100_000_000
SHOWN_FRAMES = 3


def make_server(functions: Sequence[Callable[..., Any]]) -> "MCPServer":
    """Return a server that offers these functions."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("functions")
    for function in functions:
        server.add_tool(
            _telling(function), name=function.__name__, description=inspect.getdoc(function)
        )
    return server


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function like this whose exceptions reach the caller with their traceback."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*given: Any, **named: Any) -> Any:
            with _told():
                return await function(*given, **named)

        return call_async

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with _told():
            return function(*given, **named)

    return call


@contextmanager
def _told() -> Iterator[None]:
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[2:]  # the frames of the function itself
        where = "".join(traceback.format_list(frames[-SHOWN_FRAMES:]))
        said = "".join(traceback.format_exception_only(error))
        raise ToolError(f"{said}{where}".rstrip()) from error


def main() -> None:
    """Serve the functions in the file named on the command line, until stdin is closed."""
    functions = pickle.loads(read_bytes(Path(sys.argv[1]), MOST_BYTES))
    asyncio.run(make_server(functions).run_stdio_async())


if __name__ == "__main__":
    main()
