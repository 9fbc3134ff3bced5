"""A router for tests that kills itself at a named point, the n-th time it gets there.

It is the real router on the real file; only the mailboxes (or sent frames) are watched. Points:

    accept     a message has come, nothing is recorded
    accepted   it is recorded in memory
    write      the batch is about to be written
    written    it is written, but its transaction is not committed
    committed  it is committed, but nothing is acknowledged or delivered
    ack        the acknowledgement of a batch has been handed to the socket, its deliveries have not
    done       a receiver has said done, nothing is recorded
    noted      it is recorded in memory
"""

import os
import signal
from pathlib import Path

from actors.router.main import TOPOLOGY, route
from actors.runtime.launch import ActorLaunch
from transport import protocol
from transport.envelope import read_header
from transport.router import Router
from transport.router_core import Outgoing
from transport.stored_mailboxes import StoredMailboxes

POINTS = ("accept", "accepted", "write", "written", "committed", "ack", "done", "noted")
RECEIVER = "bob"


class KillPoint:
    """Kills the process when it was lit at its point `count` times."""

    def __init__(self, point: str, count: int) -> None:
        self._point = point
        self._left = count

    def light(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class DyingMailboxes(StoredMailboxes):
    """Stored mailboxes with a fuse."""

    def __init__(self, path: Path, fuse: KillPoint) -> None:
        super().__init__(path)
        self._fuse = fuse
        self._file._db.set_trace_callback(self._traced)

    def _traced(self, statement: str) -> None:
        if statement == "COMMIT" and self._batch.accepted:
            self._fuse.light("written")

    def accept(self, address: str, id: bytes, blob: bytes) -> int:
        is_watched = address == RECEIVER
        if is_watched:
            self._fuse.light("accept")
        position = super().accept(address, id, blob)
        if is_watched:
            self._fuse.light("accepted")
        return position

    def done(self, address: str, id: bytes) -> bool:
        if address == RECEIVER:
            self._fuse.light("done")
        is_done = super().done(address, id)
        if address == RECEIVER:
            self._fuse.light("noted")
        return is_done

    def commit(self) -> None:
        has_mail = bool(self._batch.accepted)
        if has_mail:
            self._fuse.light("write")
        super().commit()
        if has_mail:
            self._fuse.light("committed")


class DyingRouter(Router):
    """A router with a fuse between a batch's acknowledgements and its deliveries."""

    fuse: KillPoint

    def _send_all(self, frames: list[Outgoing]) -> None:
        acks = [frame for frame in frames if read_header(frame[1]).type == protocol.ACK]
        super()._send_all(acks)
        if acks:
            self.fuse.light("ack")
        super()._send_all([frame for frame in frames if frame not in acks])


def main(launch: ActorLaunch) -> int:
    """Route until the fuse kills the process."""
    fuse = KillPoint(launch.args["point"], launch.args["count"])
    path = launch.home / "system" / "mailboxes.db"
    mailboxes, key = DyingMailboxes(path, fuse), launch.args["key"]
    router = DyingRouter(launch.router_url, key, mailboxes, topology=TOPOLOGY)
    router.fuse = fuse
    return route(router)
