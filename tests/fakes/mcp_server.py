"""An MCP server with the official SDK that can fail in many ways.

Run it: `python -m tests.fakes.mcp_server FOLDER [--http PORT]`. It stores its state in FOLDER:
calls of `count` and `add_note` are counted there, and its pid is in `pid`.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

HELD = "hold"
READ_ONLY = ToolAnnotations(read_only_hint=True)


class Sum(BaseModel):
    """The answer of `add`."""

    total: int


def make_server(folder: Path) -> MCPServer:
    """Return the server whose state is in `folder`."""
    server = MCPServer("fake", instructions="A fake: it counts, waits, fails and dies on order.")

    @server.tool(annotations=READ_ONLY)
    def add(a: int, b: int) -> Sum:
        """Add two numbers."""
        return Sum(total=a + b)

    @server.tool(annotations=READ_ONLY)
    def secret() -> str:
        """Return a secret."""
        return f"the token is {os.environ.get('FAKE_TOKEN', 'not set')}"

    @server.tool()
    def add_note(text: str) -> str:
        """Write a note down; twice if called twice."""
        _count(folder / "notes", text)
        return f"noted: {text}"

    @server.tool(annotations=READ_ONLY)
    async def count(ctx: Context, until: str = "") -> str:
        """Count this call, report progress, and wait until the file `until` is there."""
        calls = _count(folder / "count", "called")
        await ctx.report_progress(calls, 10, "counting")
        await _until(folder, until)
        return f"call {calls}"

    @server.tool()
    async def act_slowly(until: str, text: str = "acted") -> str:
        """Note the beginning, wait until the file `until` is there, note the end."""
        _count(folder / "acts", f"begun {text}")
        try:
            await _until(folder, until)
        except asyncio.CancelledError:
            _count(folder / "acts", f"cancelled {text}")
            raise
        _count(folder / "acts", f"done {text}")
        return f"{text} in full"

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ValueError("the fake was told to fail")

    @server.tool(annotations=READ_ONLY)
    def die(times: int) -> str:
        """End the server's process, the first so many times it is called."""
        if _count(folder / "deaths", "called") <= times:
            os._exit(3)
        return "alive"

    @server.tool()
    def long_text(characters: int) -> str:
        """Say much."""
        return "x" * characters

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Offer one tool more."""

        @server.tool(name="grown")
        def grown() -> str:
            """Be new."""
            return "new"

        await ctx.notify_tools_changed()
        return "grown"

    @server.resource("note://first", description="the first note")
    def first() -> str:
        return "the first note's text"

    @server.prompt(description="greet somebody")
    def greet(name: str) -> str:
        return f"Greet {name} kindly."

    return server


async def _until(folder: Path, name: str) -> None:
    while name and not (folder / name).exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)


def _count(file: Path, line: str) -> int:
    with open(file, "a", encoding="utf-8") as opened:
        opened.write(f"{line}\n")
    return len(file.read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Serve over stdin and stdout, or over HTTP on loopback."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    _count(folder / "pids", str(os.getpid()))
    print(f"the fake began, its token is {os.environ.get('FAKE_TOKEN', '')}", file=sys.stderr)
    server = make_server(folder)
    if sys.argv[2:3] == ["--http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[3]))
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
