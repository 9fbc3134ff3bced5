"""A tool host's entry: the one place that reads the variables that a server's settings name."""

import os

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.tools.mcp.connection import McpConnection
from actors.tools.mcp.host import ToolHost
from agiraph.core.ids import TOOLS_PREFIX


def main(launch: ActorLaunch) -> int:
    """Run the host of one server of tools; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Hold a server until told to stop, or until nobody has called it for a while."""
    server = runtime.address.removeprefix(TOOLS_PREFIX)
    settings = runtime.config.mcp.servers[server]
    keeping = McpConnection(runtime, server, settings, dict(os.environ))
    try:
        await ToolHost(runtime, server, settings, keeping).serve()
    finally:
        await keeping.close()
