"""Every ZeroMQ socket of Agiraph and all of its options, in one place.

A ROUTER without MANDATORY loses silently, without HANDOVER it ignores a peer that came back,
and nothing here may ever block on a send.
"""

import os
import random
import stat
from pathlib import Path

import zmq

from transport.envelope import MAX_BLOB
from transport.errors import BindRefused

IPC = "ipc://"
MAX_IPC_PATH = 107
HIGH_WATER = 1_000
# Above MAX_BLOB, so that a message a little too large is refused by name; far above it ZeroMQ
# drops the connection.
MAX_WIRE = MAX_BLOB + 1024 * 1024
HANDSHAKE_MS = 5_000
BACKLOG = 1_024
MONITORED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED


def router_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """Return the router's socket, not yet bound."""
    socket = context.socket(zmq.ROUTER)
    socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
    socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_WIRE)
    socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.setsockopt(zmq.BACKLOG, BACKLOG)
    return socket


def dealer_socket(context: zmq.Context[zmq.Socket[bytes]], routing_id: bytes) -> zmq.Socket[bytes]:
    """Return an endpoint's socket, not yet connected.

    The reconnect interval is random, so that a restarted router is not run over by everybody.
    """
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.ROUTING_ID, routing_id)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, HIGH_WATER)
    socket.setsockopt(zmq.RCVHWM, HIGH_WATER)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_WIRE)
    socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, random.randint(10, 40))
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 80)
    return socket


def ipc_path(url: str) -> Path | None:
    """Return the file of an ipc url, None for another transport. Raises BindRefused if too long."""
    if not url.startswith(IPC):
        return None
    path = url.removeprefix(IPC)
    if len(os.fsencode(path)) > MAX_IPC_PATH:
        raise BindRefused(f"socket path is longer than {MAX_IPC_PATH} bytes: {path}")
    return Path(path)


def make_private_folder(folder: Path) -> None:
    """Make the socket's folder, or check that it is ours and closed to others.

    Who can reach the socket can speak to the router, and its own mode follows the umask: the folder
    is what protects it. Raises BindRefused.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # plain: it is looked at below
    status = folder.stat()
    if status.st_uid != os.getuid():
        raise BindRefused(f"{folder} belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise BindRefused(f"{folder} is open to others (mode {stat.S_IMODE(status.st_mode):o})")
