"""Pipes to a server that runs as a local process: one JSON-RPC message a line.

It replaces the SDK's `stdio_client`, whose time grows with the square of a line's length (24
seconds of processor for a result of 50 MB, here 0.4), which has no limit, and which ends at one
line that is not UTF-8. The shutdown follows the protocol: stdin is closed, then SIGTERM, then
SIGKILL.
"""

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

from actors.tools.mcp.command_line import ServerCommand
from agiraph.core.json_text import parse_json
from agiraph.foreign.http import read_json
from agiraph.foreign.lines import Line, LineSplitter
from agiraph.mcp.mending import cut_below

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

LINE_BYTES = 64 << 20
"""The longest message of a server; a call with a longer answer fails."""
STDERR_LINE_BYTES = 1 << 16
CHUNK_BYTES = 1 << 16
STOP_SECONDS = 2.0
POLL_SECONDS = 0.01
DRAIN_SECONDS = 1.0
SHOWN_BYTES = 200
ID = rb'"id"\s*:\s*(\d+|"(?:[^"\\]|\\.)*")'
ID_FIRST = re.compile(rb"\s*\{[^{\[]*?" + ID)
"""The id of a message, if it precedes the result."""
ID_LAST = re.compile(rb"[,{]\s*" + ID + rb"\s*\}\s*\Z")
"""The id if it is the last field."""

BYTE_ORDER_MARK = "\ufeff"
NO_JSON = "json_invalid"
HALF: Final = "hex escape"
"""The words of pydantic's JSON parser for half of a surrogate pair."""
ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL
)
DEEP: Final = "recursion limit"
"""The words of pydantic's JSON parser for a text that is nested too deeply."""

OnLine = Callable[[str], None]


@contextlib.asynccontextmanager
async def over_pipes(command: ServerCommand, on_line: OnLine) -> "AsyncIterator[TransportStreams]":
    """Start a process and yield its streams; `on_line` is called with each line of its stderr.

    Lines of its stdout that are no messages are passed to `on_line`, too. Raises OSError.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command.words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=dict(command.environment),
        cwd=command.folder,
        start_new_session=True,
    )
    to_session, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_session = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.create_task(_read(process, to_session, on_line)),
        asyncio.create_task(_write(process, from_session, to_session)),
        asyncio.create_task(_read_stderr(process, on_line)),
    ]
    try:
        yield from_server, to_server
    finally:
        for stream in (to_session, from_server, to_server, from_session):
            stream.close()  # later output is dropped
        try:
            await _stop(process)
            await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            process._transport.close()  # type: ignore[attr-defined]  # a child of it may hold a pipe


async def _read(process: Process, to_session: Any, on_line: OnLine) -> None:
    """Pass the server's messages to the session, until the server's stdout ends."""
    import anyio

    assert process.stdout is not None
    splitter = LineSplitter(LINE_BYTES)
    has_session = True
    with to_session:
        while data := await process.stdout.read(CHUNK_BYTES):
            # Read on without a session: a server that cannot write does not see its end.
            for line in splitter.feed(data) if has_session else ():
                if (message := message_of(line, on_line)) is not None:
                    try:
                        await to_session.send(message)
                    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                        has_session = False


async def _write(process: Process, from_session: Any, to_session: Any) -> None:
    assert process.stdin is not None
    try:
        with from_session:
            async for sent in from_session:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()
    except OSError:
        to_session.close()  # the session sees the end; its requests would wait forever


async def _read_stderr(process: Process, on_line: OnLine) -> None:
    assert process.stderr is not None
    splitter = LineSplitter(STDERR_LINE_BYTES)
    while data := await process.stderr.read(CHUNK_BYTES):
        for line in splitter.feed(data):
            on_line(line.data.decode("utf-8", "replace").rstrip())


def message_of(line: Line, on_line: OnLine) -> "SessionMessage | ValueError | None":
    """Return the message in a line of a server, None if the line contains none.

    For JSON that is no message, return the error, which contains the value (`incoming.py` parses it
    as far as possible). Bytes that are not UTF-8 are replaced. A line that cannot be read is an
    error of the request that it answers, if its id can be found; `on_line` gets its beginning.
    """
    from mcp.shared.message import SessionMessage
    from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
    from pydantic import ValidationError

    if not line.data.strip():
        return None
    problem = f"it is longer than {LINE_BYTES} bytes ({line.size})"
    if line.is_whole:
        try:
            text = line.data.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValidationError as misfit:
            [first, *_] = misfit.errors(include_url=False, include_input=False)
            if first["type"] != NO_JSON:
                return misfit
            if HALF in first["msg"] and (mended := _without_halves(text)) != text:
                data = mended.encode()
                return message_of(Line(data, len(data)), on_line)
            problem = "it is no message of the protocol"
            if DEEP in first["msg"]:
                problem = "it is nested too deeply"
                # Only values that are too deep are left out: other tools of a list are used.
                with contextlib.suppress(ValueError, RecursionError):
                    shallow = cut_below(read_json(text.encode()))
                    return SessionMessage(
                        jsonrpc_message_adapter.validate_python(shallow, by_name=False)
                    )
    on_line(
        f"(a line was not read: {problem}) {line.data[:SHOWN_BYTES].decode('utf-8', 'replace')}"
    )
    if (id := _id_in(line)) is None:
        return None
    error = ErrorData(code=INTERNAL_ERROR, message=f"the server's answer was not read: {problem}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=id, error=error))


def _without_halves(text: str) -> str:
    """Return JSON text without halves of surrogate pairs, which JavaScript may leave."""
    return ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def _id_in(line: Line) -> int | str | None:
    """Return the id of a message that cannot be read as a whole, None if it is not found."""
    found = ID_FIRST.match(line.data) or ID_LAST.search(line.end or line.data[-SHOWN_BYTES:])
    if found is None:
        return None
    try:
        id: int | str = parse_json(found[1])
    except ValueError:
        return None
    return id


async def _stop(process: Process) -> None:
    """End the server and all of its process group."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _has_exited(process):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    await _has_exited(process)


async def _has_exited(process: Process) -> bool:
    """Whether the process exits within STOP_SECONDS."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            # `Process.wait` also waits for the pipes, which a child of it may keep open.
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
    return process.returncode is not None
