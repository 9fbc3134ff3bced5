"""The process `human`: opens the journals, then serves the bus and the HTTP API side by side."""

import asyncio
import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from actors.gateway.bus import GatewayBus
from actors.gateway.bus_handlers import attend
from actors.gateway.knowledge_requests import KnowledgeRequestHandler
from actors.gateway.server import bind, server_of, tls_of, url_of
from actors.runtime.http_server import HttpServer
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.api.app import build_app
from agiraph.api.auth.audit import AuditFile, AuditLog
from agiraph.api.auth.credential_store import CredentialStore
from agiraph.api.gateway import Gateway
from agiraph.api.routes.lifecycle import remove_half_deleted
from agiraph.http.discovery import read_port
from agiraph.knowledge.database import KnowledgeDatabase
from agiraph.settings.config import HttpConfig, is_loopback
from agiraph.storage.disk_space import outlasting
from agiraph.storage.files import is_missing, remove_file, replace_file

KEEP_SECONDS = 2.0


def main(launch: ActorLaunch) -> int:
    """Run the human gateway; return its exit code."""
    return run_actor(launch, serve, waits_for_room=False)


async def serve(runtime: Runtime) -> None:
    """Serve until cancelled.

    The address file is removed at an orderly end; the file with the port of the home stays.
    """
    remove_half_deleted(runtime.home)
    knowledge = KnowledgeDatabase(runtime.home.knowledge)
    gateway = Gateway(GatewayBus(runtime), knowledge, os.environ)
    try:
        await _serve(gateway, runtime)
    finally:
        gateway.close()
        remove_file(runtime.home.human.address)


async def _serve(gateway: Gateway, runtime: Runtime) -> None:
    http, address = runtime.config.http, runtime.home.human.address
    tls = tls_of(http)
    if tls is None and not is_loopback(http.host):
        runtime.log.warning(
            "THE API IS OPEN TO THE NETWORK WITHOUT TLS: who reads the traffic reads tokens",
            host=http.host,
            because="http.insecure is true",
        )
    keys = CredentialStore(runtime.home, runtime.clock, runtime.log)
    audit = AuditFile(runtime.home.human.audit, http.audit_bytes, http.audit_files)
    ledger = AuditLog(audit, keys, runtime.clock, runtime.log)
    gateway.when_refused = ledger.host_refused
    listener = _own_listener(runtime)
    scheme = "https" if tls else "http"
    gateway.dispatcher.links.base = runtime.config.gateway.public_url or url_of(listener, scheme)
    server = server_of(build_app(gateway, keys, ledger), listener, http, tls)
    server.start()
    known = json.dumps(_address(url_of(listener, scheme), http))

    def keep() -> None:
        keys.keep_home_token()
        if is_missing(address):
            replace_file(address, known)

    try:
        replace_file(address, known)
        await runtime.ready()
        handler = KnowledgeRequestHandler(gateway, runtime)
        async with asyncio.TaskGroup() as group:
            group.create_task(attend(gateway, runtime, handler))
            group.create_task(handler.run())
            group.create_task(outlasting(gateway.answer_delivery.run))
            group.create_task(outlasting(gateway.dispatcher.run))
            group.create_task(gateway.streams.run())
            group.create_task(_watch(server, keep))
    finally:
        gateway.end_feeds()
        audit.close()
        await server.stop()


def _address(url: str, http: HttpConfig) -> dict[str, Any]:
    """Return the address for clients on this machine; `cert` is the certificate to expect."""
    known: dict[str, Any] = {"url": url, "pid": os.getpid()}
    return known | {"cert": os.path.abspath(http.tls_cert)} if http.tls_cert else known


async def _watch(server: HttpServer, keep: Callable[[], None]) -> None:
    """Raise an error when the HTTP server ends unexpectedly, to end this process too.

    Meanwhile `keep` writes the files by which clients find the server again if they were removed.
    """
    assert server.task is not None
    while not server.task.done():
        await asyncio.wait([server.task], timeout=KEEP_SECONDS)
        with suppress(OSError):
            keep()
    server.task.result()
    raise RuntimeError("the HTTP server ended by itself")


def _own_listener(runtime: Runtime) -> socket.socket:
    """Return a socket that listens on the home's port; store a new port. Raises Refused.

    A port that another program uses is given up permanently: if two homes kept the same port, their
    addresses would depend on which of them starts first.
    """
    http, own = runtime.config.http, read_port(runtime.home.path)
    listener = bind(http, own)
    port = int(listener.getsockname()[1])
    if http.port or port == own:
        return listener
    if own is not None:
        runtime.log.warning(
            "another program has the port of this home; it keeps another from now on",
            taken=own,
            port=port,
        )
    replace_file(runtime.home.human.port, f"{port}\n")
    return listener
