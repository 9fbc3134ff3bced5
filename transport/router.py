"""The router: one ROUTER socket, drained in batches into a RouterCore, and nothing else.

A plain synchronous loop on raw two-frame messages `[routing id, blob]` (the multipart helpers cost
several times more than the rest of a hop). Per turn: wait, drain up to BATCH frames, let the core
settle (one commit), send; when nothing comes, commit what receivers have done. No send ever blocks:
what a full peer does not take waits in its Backlog. A peer with more there than one that reads ever
has is cut off: it must say hello again, and the others get `link.down`.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import zmq

from transport import sockets
from transport.backlog import Backlog
from transport.errors import BindRefused
from transport.mailboxes import Mailboxes
from transport.peers import Topology
from transport.router_core import Outgoing, RouterCore

BATCH = 128
RETRY_MS = 5
REST_MS = 50
FULL_MS = 1000
MORE = int(zmq.NOBLOCK | zmq.SNDMORE)
LAST = int(zmq.NOBLOCK)
EPOCH_BYTES = 8


class Router:
    """Binds to `url` and passes messages until `stop`, which any thread or signal handler may call.

    `log` gets lines for the operator.
    """

    def __init__(
        self,
        url: str,
        key: bytes,
        mailboxes: Mailboxes,
        *,
        topology: Topology,
        log: Callable[[str], None] = print,
    ) -> None:
        self.url = url
        self._log = log
        self.core = RouterCore(key, mailboxes, secrets.token_bytes(EPOCH_BYTES), topology)
        self._backlogs: dict[bytes, Backlog] = {}
        self._is_stopped = False
        self._woken, self._waker = _wake_pipe()
        self._lock: IO[bytes] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None

    @property
    def wake_fd(self) -> int:
        """For `signal.set_wakeup_fd`: a signal that arrives just before the wait must end it."""
        return self._waker

    def bind(self) -> None:
        """Take the address. Raises BindRefused if another router holds it or may not be trusted."""
        path = sockets.ipc_path(self.url)
        if path is not None:
            sockets.make_private_folder(path.parent)
            # ipc:// would silently steal the path of a living router.
            self._lock = _lock_beside(path)
        self._context = zmq.Context()
        self._socket = sockets.router_socket(self._context)
        try:
            self._socket.bind(self.url)
        except zmq.ZMQError as error:
            self.close()
            raise BindRefused(f"cannot listen on {self.url}: {error}") from error

    def run(self) -> None:
        """Pass messages until `stop` is called or the controller sends `control.stop`."""
        socket = self._socket
        if socket is None:
            raise BindRefused("bind first")
        poller = zmq.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(self._woken, zmq.POLLIN)
        receive, settle = self.core.receive, self.core.settle
        while not (self._is_stopped or self.core.is_stopping):
            found = poller.poll(self._timeout_ms())
            if not found:
                self.core.commit_rest()
            for ready, _ in found:
                if ready is not socket:
                    os.read(self._woken, 4096)
                    continue
                for rid, blob in _drain(socket):
                    receive(rid, blob)
            self._flush(socket)
            # Sending may find that a peer is gone: the others get `link.down`.
            while frames := settle():
                self._send_all(socket, frames)
        self.core.commit_rest()

    def stop(self) -> None:
        """Make `run` return soon."""
        self._is_stopped = True
        with contextlib.suppress(OSError):
            os.write(self._waker, b"x")

    def close(self) -> None:
        """Give the address back. The lock file stays, as others may be waiting on it."""
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        for fd in (self._woken, self._waker):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._woken = self._waker = -1

    def _timeout_ms(self) -> int | None:
        """Return how many milliseconds to wait for a frame; None: until there is one."""
        if self.core.has_leftovers:
            return FULL_MS if self.core.is_full else REST_MS
        return RETRY_MS if self._backlogs else None

    def _send_all(self, socket: zmq.Socket[bytes], frames: list[Outgoing]) -> None:
        backlogs = self._backlogs
        send = _plain(socket).send
        for rid, blob, is_expendable in frames:
            if rid in backlogs:
                backlogs[rid].push(blob, is_expendable)
                if backlogs[rid].is_hopeless:
                    self._cut_off(rid)
                continue
            try:
                # If the first part is refused nothing was sent; the second is never refused.
                send(rid, MORE)
                send(blob, LAST)
            except zmq.Again:
                backlog = backlogs[rid] = Backlog()
                backlog.push(blob, is_expendable)
            except zmq.ZMQError as error:
                self._unreachable(rid, error)

    def _flush(self, socket: zmq.Socket[bytes]) -> None:
        """Try again what full peers did not take."""
        for rid, backlog in list(self._backlogs.items()):
            try:
                while backlog:
                    socket.send(rid, MORE)
                    socket.send(backlog.first(), LAST)
                    backlog.pop()
            except zmq.Again:
                continue
            except zmq.ZMQError as error:
                self._unreachable(rid, error)
            self.core.counts["dropped"] += backlog.dropped
            self._backlogs.pop(rid, None)

    def _cut_off(self, rid: bytes) -> None:
        """Disconnect a peer that does not read, and drop all that waits for it."""
        backlog = self._backlogs[rid]
        who = self.core.name_of(rid) or f"a connection without a hello ({rid.hex()})"
        self._log(f"{who} does not read: it is cut off, {len(backlog)} frames for it are dropped")
        self.core.counts["cut_off"] += 1
        self.core.counts["dropped"] += len(backlog)
        backlog.clear()
        self.core.peer_gone(rid)

    def _unreachable(self, rid: bytes, error: zmq.ZMQError) -> None:
        if error.errno != zmq.EHOSTUNREACH:
            raise error
        self._backlogs.pop(rid, None)
        self.core.peer_gone(rid)


def _drain(socket: zmq.Socket[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the frames that are there, at most BATCH; messages of another shape are thrown away."""
    receive = socket.recv
    option = cast(Callable[[int], int], _plain(socket).get)
    for index in range(BATCH):
        # One question after the first spares a lone message the costly exception.
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


def _plain(socket: zmq.Socket[bytes]) -> zmq.Socket[bytes]:
    """Return the socket without pyzmq's outer layer, whose every send costs half as much again."""
    return cast("zmq.Socket[bytes]", super(zmq.Socket, socket))


def _lock_beside(path: Path) -> IO[bytes]:
    """Hold a lock file beside the socket; raises BindRefused if another process holds it."""
    file = path.with_name(path.name + ".lock")
    lock = open(file, "ab")  # noqa: SIM115  # plain: below system/ or in a private folder
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise BindRefused(f"another router listens on {path}") from error
    return lock


def _wake_pipe() -> tuple[int, int]:
    """Return a pipe whose ends never block (os.pipe2 is not on macOS)."""
    ends = os.pipe()
    for fd in ends:
        os.set_blocking(fd, False)
    return ends
