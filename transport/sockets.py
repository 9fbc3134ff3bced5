"""Every ZeroMQ socket of Agiraph and all of its options, in one place.

A ROUTER without MANDATORY drops frames silently, without HANDOVER it ignores a reconnected peer,
and no send here may ever block.
"""

import contextlib
import fcntl
import os
import random
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import zmq

from transport.envelope import MAX_BLOB
from transport.errors import BindRefused

IPC = "ipc://"
MAX_IPC_PATH = 107
HIGH_WATER = 1_000
# Above MAX_BLOB, so that a message a little too large is refused by name; far above it ZeroMQ
# closes the connection.
MAX_WIRE = MAX_BLOB + 1024 * 1024
HANDSHAKE_MS = 5_000
BACKLOG = 1_024
BATCH = 128
"""Frames that are read from a socket before others have their turn."""
# A connection whose packets are not acknowledged (a pulled cable) ends after DEAD_MS at both ends:
# the kernel probes an idle one every KEEPALIVE_SECONDS. ZeroMQ's own heartbeats are not used: their
# timer aborts the process (`!_io_error`, libzmq 4.3.5) if a connection breaks that cannot be read
# because the socket is full.
DEAD_MS, KEEPALIVE_SECONDS = 4_000, 1
ZAP_URL = "inproc://zeromq.zap.01"
UPLINK_DOMAIN = b"uplink"
MONITORED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH


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

    The reconnect interval is random, so that endpoints do not all reconnect at the same time.
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


def curve_keys() -> tuple[str, str]:
    """Return a new CURVE key pair in Z85: public, secret."""
    public, secret = zmq.curve_keypair()
    return public.decode(), secret.decode()


@dataclass(frozen=True, slots=True)
class UplinkSettings:
    """The home's listening address, and its CURVE keys in Z85. With port 0 the system chooses
    one.
    """

    url: str
    public: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class UplinkTarget:
    """The home's address for a host: url and public key of the home, and its own keys, in Z85."""

    url: str
    server_key: str
    public: str
    secret: str = field(repr=False)


def zap_socket(context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
    """Return the bound socket for ZeroMQ's authentication; call this before any connection."""
    socket = context.socket(zmq.REP)
    socket.setsockopt(zmq.LINGER, 0)
    socket.bind(ZAP_URL)
    return socket


def uplink_router_socket(
    context: zmq.Context[zmq.Socket[bytes]], public: str, secret: str
) -> zmq.Socket[bytes]:
    """Return the home's socket for other machines, not yet bound; ZAP authenticates all peers.

    A connection can be taken over only with its random routing id.
    """
    socket = router_socket(context)
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, secret.encode())
    socket.setsockopt(zmq.ZAP_DOMAIN, UPLINK_DOMAIN)
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
    _notice_cuts(socket)
    return socket


def uplink_dealer_socket(
    context: zmq.Context[zmq.Socket[bytes]], target: UplinkTarget
) -> zmq.Socket[bytes]:
    """Return a host's socket to its home, not yet connected.

    No frame waits in the socket for a connection: unsent frames of a cut connection are lost.
    """
    socket = dealer_socket(context, b"u" + secrets.token_bytes(15))
    socket.setsockopt(zmq.CURVE_SERVERKEY, target.server_key.encode())
    socket.setsockopt(zmq.CURVE_PUBLICKEY, target.public.encode())
    socket.setsockopt(zmq.CURVE_SECRETKEY, target.secret.encode())
    socket.setsockopt(zmq.IMMEDIATE, 1)
    socket.setsockopt(zmq.CONNECT_TIMEOUT, DEAD_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, random.randint(50, 150))
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1_000)
    _notice_cuts(socket)
    if "[" in target.url:
        socket.setsockopt(zmq.IPV6, 1)
    return socket


def _notice_cuts(socket: zmq.Socket[bytes]) -> None:
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, KEEPALIVE_SECONDS)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, KEEPALIVE_SECONDS)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, DEAD_MS // 1_000 // KEEPALIVE_SECONDS)
    socket.setsockopt(zmq.TCP_MAXRT, DEAD_MS)


def bind_private(socket: zmq.Socket[bytes], url: str) -> IO[bytes] | None:
    """Bind a socket to a URL; return the lock of an ipc URL, None for another URL.

    Keep the lock as long as the socket is bound. Raises BindRefused if another process has the
    lock, or the socket's folder is not private.
    """
    path, lock = ipc_path(url), None
    if path is not None:
        make_private_folder(path.parent)
        # ipc:// would silently take the path of a running router.
        lock = _lock_beside(path)
    try:
        socket.bind(url)
    except zmq.ZMQError as error:
        if lock is not None:
            lock.close()
        raise BindRefused(f"cannot listen on {url}: {error}") from error
    return lock


def _lock_beside(path: Path) -> IO[bytes]:
    """Return the locked file beside the socket. Raises BindRefused if it is locked."""
    file = path.with_name(path.name + ".lock")
    lock = open(file, "ab")  # noqa: SIM115  # plain: below system/ or in a private folder
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise BindRefused(f"another router listens on {path}") from error
    return lock


class WakePipe:
    """Ends the wait of a loop that polls `read_fd`, from any thread or signal handler."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        for fd in (self.read_fd, self.write_fd):
            os.set_blocking(fd, False)  # os.pipe2 is not on macOS

    def wake(self) -> None:
        """Make `read_fd` readable."""
        with contextlib.suppress(OSError):
            os.write(self.write_fd, b"x")

    def clear(self) -> None:
        """Discard the bytes that made `read_fd` readable."""
        os.read(self.read_fd, 4096)

    def close(self) -> None:
        """Close both ends; a second call does nothing."""
        for fd in (self.read_fd, self.write_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self.read_fd = self.write_fd = -1


def watch(poller: zmq.Poller, socket: zmq.Socket[bytes]) -> int:
    """Let a poller watch a rarely used socket by its descriptor; return the descriptor.

    At each wait ZeroMQ checks every socket of a poller twice, with system calls, but no descriptor.
    The descriptor signals only events after `has_frames` was false: read until it is, also before
    the first wait.
    """
    descriptor = cast(int, socket.getsockopt(zmq.FD))
    poller.register(descriptor, zmq.POLLIN)
    return descriptor


def has_frames(socket: zmq.Socket[bytes]) -> bool:
    """Whether a frame can be read from a socket."""
    return bool(cast(int, socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)


def plain(socket: zmq.Socket[bytes]) -> zmq.Socket[bytes]:
    """Return the socket without pyzmq's outer layer, whose every send costs half as much again."""
    return cast("zmq.Socket[bytes]", super(zmq.Socket, socket))


def ipc_path(url: str) -> Path | None:
    """Return the file of an ipc url, None for another transport. Raises BindRefused if too long."""
    if not url.startswith(IPC):
        return None
    path = url.removeprefix(IPC)
    if len(os.fsencode(path)) > MAX_IPC_PATH:
        raise BindRefused(f"socket path is longer than {MAX_IPC_PATH} bytes: {path}")
    return Path(path)


def make_private_folder(folder: Path) -> None:
    """Make the socket's folder, or check that an existing one is ours and private.

    A process that can reach the socket can write to the router, and its own mode follows the umask:
    the folder protects it. Raises BindRefused.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # plain: it is looked at below
    status = folder.stat()
    if status.st_uid != os.getuid():
        raise BindRefused(f"{folder} belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise BindRefused(f"{folder} is open to others (mode {stat.S_IMODE(status.st_mode):o})")


def drain(socket: zmq.Socket[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the available frames, at most BATCH; messages of another shape are discarded."""
    receive = socket.recv
    option = cast(Callable[[int], int], plain(socket).get)
    for index in range(BATCH):
        # The check after the first frame saves the costly exception for a single message.
        if index == 1 and not option(zmq.EVENTS) & zmq.POLLIN:
            return
        try:
            rid = receive(zmq.NOBLOCK)
        except zmq.Again:
            return
        # A ROUTER puts the routing id before a message, so there is always a second part.
        blob = receive(zmq.NOBLOCK)
        if not option(zmq.RCVMORE):
            yield rid, blob
            continue
        while option(zmq.RCVMORE):
            receive(zmq.NOBLOCK)
