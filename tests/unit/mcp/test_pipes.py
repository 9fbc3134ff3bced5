"""Messages of a server by its pipes: odd lines are errors of their requests, or logged."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from actors.tools.mcp import pipes
from actors.tools.mcp.command_line import ServerCommand
from actors.tools.mcp.pipes import message_of, over_pipes
from agiraph.foreign.lines import Line, LineSplitter
from agiraph.mcp.mending import mended

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
print("bye", file=sys.stderr)
"""
FIELDS: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "result": {"id": 3, "text": "x" * 9000}}


def read(data: bytes, longest: int = 1 << 20) -> tuple[Any, list[str]]:
    """Return the meaning of one line, and its log records."""
    logged: list[str] = []
    (line,) = LineSplitter(longest).feed(data + b"\n")
    message = message_of(line, logged.append)
    return getattr(message, "message", message), logged


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    message, logged = read(b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "Gr\xfc\xdfe"}}')
    assert message.result == {"text": "Gr��e"}
    assert logged == []


@pytest.mark.parametrize("noise", [b"Starting v1.0 \xff", b"{", b"[" * 100_000])
def test_line_without_a_message_is_logged_and_skipped(noise: bytes) -> None:
    message, logged = read(noise)
    assert message is None
    assert len(logged) == 1


@pytest.mark.parametrize("odd", [b"[1, 2]", b'"text"', b'{"id": 1, "result": {}}'])
def test_json_that_is_not_a_message_is_passed_on_as_an_error(odd: bytes) -> None:
    error, logged = read(odd)
    assert isinstance(error, ValueError)
    assert logged == []


@pytest.mark.parametrize("order", [("jsonrpc", "id", "result"), ("result", "jsonrpc", "id")])
@pytest.mark.parametrize("id", [7, "a}"])
def test_a_message_that_is_too_long_is_an_error_of_its_request(
    order: tuple[str, ...], id: int | str
) -> None:
    fields = {**FIELDS, "id": id}
    data = json.dumps({name: fields[name] for name in order}).encode()
    message, _ = read(data, longest=5000)
    assert message.id == id
    assert f"longer than {pipes.LINE_BYTES} bytes ({len(data)})" in message.error.message


def test_a_message_that_is_damaged_is_an_error_of_its_request() -> None:
    message, _ = read(b'{"jsonrpc": "2.0", "id": 7, "result": {"a": ')
    assert message.id == 7
    assert "no message of the protocol" in message.error.message


def test_nested_id_is_not_the_id_of_the_message() -> None:
    inner = {"jsonrpc": "2.0", "result": {"x": "y" * 9000, "id": 3}}
    assert read(json.dumps(inner).encode(), longest=5000)[0] is None
    assert message_of(Line(b"", 0), print) is None


async def test_process_exchanges_messages_and_ends_with_its_context(tmp_path: Path) -> None:
    from mcp.shared.message import SessionMessage
    from mcp.types import JSONRPCRequest

    logged: list[str] = []
    command = ServerCommand((sys.executable, "-c", ECHO), dict(os.environ), str(tmp_path))
    with anyio.fail_after(30):
        async with over_pipes(command, logged.append) as (from_server, to_server):
            for text in ("small", "x" * 3_000_000):
                asked = JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"text": text})
                await to_server.send(SessionMessage(asked))
                echoed = await from_server.__anext__()
                assert isinstance(echoed, SessionMessage)
                assert echoed.message == asked
    assert logged == ["bye"]


async def test_a_process_that_ignores_its_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "STOP_SECONDS", 0.2)
    stubborn = (
        "import signal, os, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print(os.getpid(), file=__import__('sys').stderr, flush=True); time.sleep(600)"
    )
    begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    command = ServerCommand((sys.executable, "-c", stubborn), dict(os.environ))
    async with over_pipes(command, begun.set_result):
        pid = int(await begun)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_command_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with over_pipes(ServerCommand(("/no/such/server",), {}), print):
            pass


def test_only_the_tool_with_a_too_deep_schema_is_omitted() -> None:
    schema: dict[str, Any] = {}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    tools = [{"name": "deep", "inputSchema": schema}, {"name": "plain", "inputSchema": {}}]
    [message, logged] = read(
        json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": tools}}).encode()
    )
    assert logged == []
    found = mended("tools/list", message.result)
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        methods.validate_server_result("tools/list", version, found.result)
    assert [tool["name"] for tool in found.result["tools"]] == ["plain"]
    [left_out] = found.left_out
    assert (left_out.name, left_out.why) == ("deep", "it is nested more than 128 levels deep")
