"""A tool host's entry: the one place that reads the variables that a server's settings name."""

import os

from actors.launch import Launch
from actors.mcp.host import ToolHost
from actors.mcp.keeping import Keeping
from actors.runtime import Runtime, run_actor
from agiraph.ids import TOOLS_PREFIX


def main(launch: Launch) -> int:
    """Run the host of one server of tools; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Hold a server until told to stop, or until nobody has called it for a while."""
    server = runtime.address.removeprefix(TOOLS_PREFIX)
    settings = runtime.config.mcp.servers[server]
    keeping = Keeping(runtime, server, settings, dict(os.environ))
    try:
        await ToolHost(runtime, server, settings, keeping).serve()
    finally:
        await keeping.close()
