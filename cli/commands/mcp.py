"""`agiraph mcp`: Agiraph as an MCP server, and the tool servers that a home uses."""

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import click

from agiraph import __version__
from agiraph.core.errors import Unavailable
from agiraph.http.discovery import read_gateway_address
from agiraph.http.errors import GatewayAway, NotReachable
from agiraph.settings.config import is_loopback
from agiraph.storage.files import make_folder
from agiraph.storage.home import Home
from cli.options.everywhere import remark
from cli.options.remote import TOKEN_VARIABLE, chosen_remote, client_of, is_elsewhere, require_here
from cli.options.shared import (
    Subcommands,
    cli_context,
    connect_to_read,
    examples,
    home_option,
    json_option,
    settings_of,
)
from cli.output.formats import as_is, format_time, yes_or_no
from cli.output.listing import Column, JsonObject, Listing
from cli.run.supervisor_share import connect_or_start, shared_supervisor

SDK = "mcp"
NO_SDK = "the MCP SDK is not installed: pip install 'agiraph[mcp]'"
HIGHEST_PORT = 65535
SNIPPET = """\b
For Claude Desktop and others that read JSON:
  {"mcpServers": {"agiraph": {
    "command": "agiraph", "args": ["mcp", "serve", "--start"]}}}
For Claude Code:
  claude mcp add agiraph -- agiraph mcp serve --start
For Codex, in ~/.codex/config.toml:
  [mcp_servers.agiraph]
  command = "agiraph"
  args = ["mcp", "serve", "--start"]
Over HTTP, with a token of `agiraph tokens add NAME --scope talk`:
  claude mcp add --transport http agiraph http://127.0.0.1:8765/mcp \\
    --header "Authorization: Bearer $TOKEN"
"""


@click.group(
    cls=Subcommands,
    epilog=examples(
        "agiraph mcp serve --help         # configuration for Claude Code, Codex ...",
        "agiraph mcp list",
        "agiraph mcp list --kept --json   # the last result, starting nothing",
    ),
)
def mcp() -> None:
    """Serve Agiraph over the Model Context Protocol, or list the tool servers that teams use."""


def _place(
    _ctx: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > HIGHEST_PORT:
        raise click.BadParameter(f"'{value}' is not HOST:PORT, as in 127.0.0.1:8765")
    if not is_loopback(host):
        raise click.BadParameter(f"'{host}' is not a loopback address")
    return host, int(port)


@mcp.command(
    epilog=examples(
        "agiraph mcp serve                         # for one client: stdin and stdout",
        "agiraph mcp serve --start                 # and start a supervisor",
        "agiraph mcp serve --http 127.0.0.1:8765   # for many, each with a token",
    )
    + "\n\n"
    + SNIPPET
)
@click.option("--http", callback=_place, metavar="HOST:PORT", help="Serve over HTTP (port 0: any).")
@click.option(
    "--start",
    is_flag=True,
    help="Start a supervisor if none is running, for as long as this serves.",
)
@home_option
def serve(http: tuple[str, int] | None, start: bool, home: Path) -> None:
    """Offer run, status, send, ask, questions, answer, board, read and stop to any MCP client.

    Over stdin and stdout the client has the rights of AGIRAPH_TOKEN, or of the home's own token.
    Over HTTP each client needs a token (`Authorization: Bearer ...`) and has its rights.
    """
    if start:
        require_here()
    if importlib.util.find_spec(SDK) is None:
        raise Unavailable(NO_SDK)
    if (remote := chosen_remote()) is not None:
        client_of(remote).close()  # its token, if it has one, and whether it answers
    with _supervised(home, start):
        asyncio.run(_serve(home, http))


async def _serve(home: Path, http: tuple[str, int] | None) -> None:
    from agiraph.http.mcp_server.clients import ApiClients
    from agiraph.http.mcp_server.toolset import make_server

    remote = chosen_remote()
    token = remote.token if remote is not None else os.environ.get(TOKEN_VARIABLE)
    clients = ApiClients(home, token or None, is_shared=http is not None, remote=remote)
    server = make_server(clients, __version__)
    try:
        if http is None:
            await server.run_stdio_async()
            return
        from agiraph.http.mcp_server.http import make_app
        from agiraph.http.mcp_server.http import serve as serve_http

        def ready(url: str) -> None:
            remark(f"agiraph mcp ready: {url}")

        await serve_http(make_app(server, clients), *http, ready)
    finally:
        await clients.close()


@contextlib.contextmanager
def _supervised(home: Path, start: bool) -> Iterator[None]:
    """Run a supervisor during the block if requested; else tools report that none runs."""
    if not start:
        yield
        return
    with shared_supervisor(home) as share:
        if _is_supervised(home):
            share.acquire()  # its file may have been made since
            yield
            return
    make_folder(Home(home).path, 0o700)
    own = cli_context().supervisor(home)
    try:
        own.start()
        yield
    finally:
        own.stop()


def _is_supervised(home: Path) -> bool:
    try:
        read_gateway_address(home)
    except GatewayAway:
        return True  # the clients wait for it
    except NotReachable:
        return False
    return True


def _tools(row: JsonObject) -> list[str]:
    return [str(tool["name"]).removeprefix(f"{row['name']}__") for tool in row["tools"]]


def _detail(row: JsonObject) -> str:
    unknown = "" if row["found_at"] or row["problem"] else "not asked yet (agiraph mcp list)"
    left_out = f"; left out: {row['left_out']}" if row["left_out"] else ""
    shown = ", ".join(_tools(row)) + left_out
    return row["problem"] or unknown or shown


SERVERS = (
    Column("SERVER", "name"),
    Column("STATE", "state"),
    Column("TOOLS", "", lambda row: as_is(len(_tools(row)) or None), align="right"),
    Column("GRANTED TO", "grant", lambda names: ", ".join(names) or "none"),
    Column("LENT", "lend", yes_or_no, spare=1),
    Column("SEEN", "found_at", show=format_time, spare=2),
    Column("TOOLS OR PROBLEM", "", _detail, wide=True),
)


@mcp.command(name="list", epilog=examples("agiraph mcp list", "agiraph mcp list --kept --json"))
@click.option("--kept", is_flag=True, help="The last result: ask and start nothing.")
@home_option
@json_option("one JSON array: name, state, grant, tools, problem ...")
@click.pass_context
def list_servers(ctx: click.Context, kept: bool, home: Path, as_json: bool) -> None:
    """Ask every server of `mcp.servers` for its tools, and list them with their permitted users.

    An idle server is started; so is a supervisor, if none is running, for as long as this takes. A
    server that cannot be started or connected to, or does not list its tools within
    `mcp.start_seconds`, is `unusable`, with the reason. Tools that are not offered are named as
    left out, with the reason.
    """
    none = "no tool servers; configure them under mcp.servers in agiraph.yaml (docs/tools.md)"
    starts_nothing = kept or not (is_elsewhere() or settings_of(home).mcp.servers)
    with (connect_to_read if starts_nothing else connect_or_start)(home) as client:
        found = client.servers(afresh=not kept)
    ctx.exit(Listing(found, SERVERS, none).print(as_json=as_json))
