"""The process `human`: opens the journals, then serves the bus and the HTTP API side by side."""

import asyncio
import json
import os
from pathlib import Path

from actors.human.access import load_token
from actors.human.app import build_app
from actors.human.desk import attend
from actors.human.gateway import Gateway, open_gateway
from actors.human.server import bind, serving, url_of
from actors.launch import Launch
from actors.runtime import Runtime, run_actor
from agiraph.journal import replace_file


def main(launch: Launch) -> int:
    """Run the human gateway; return its exit code."""
    return run_actor(launch, serve)


async def serve(runtime: Runtime) -> None:
    """Serve until cancelled.

    The address file is taken back at an orderly end; after a crash it stays, so that the next
    incarnation can listen on the same port.
    """
    gateway = open_gateway(runtime, runtime.home, runtime.config, runtime.clock, runtime.log)
    try:
        await _serve(gateway, runtime)
    finally:
        gateway.close()
        runtime.home.human.address.unlink(missing_ok=True)


async def _serve(gateway: Gateway, runtime: Runtime) -> None:
    http, address = runtime.config.http, runtime.home.human.address
    token = load_token(runtime.home.system.token)
    listener = bind(http.host, http.port, _last_port(address))
    app = build_app(gateway, token, http.host)
    async with serving(app, listener) as server:
        try:
            replace_file(address, json.dumps({"url": url_of(listener), "pid": os.getpid()}))
            await runtime.ready()
            async with asyncio.TaskGroup() as group:
                group.create_task(attend(gateway))
                group.create_task(gateway.postman.run())
                group.create_task(gateway.deadlines.run())
                group.create_task(_watch(server))
        finally:
            gateway.bells.close()


async def _watch(server: "asyncio.Task[None]") -> None:
    """Turn an end of the HTTP server, which nobody asked for, into this process's."""
    await asyncio.wait([server])
    server.result()
    raise RuntimeError("the HTTP server ended by itself")


def _last_port(address: Path) -> int | None:
    """Return the port of the incarnation before, None if it left none."""
    try:
        return int(str(json.loads(address.read_bytes())["url"]).rpartition(":")[2])
    except (OSError, ValueError, KeyError, TypeError):
        return None
