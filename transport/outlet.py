"""The outlet: sends frames over a ROUTER socket and never waits.

Frames that a full peer does not accept wait in its Backlog. A peer with more waiting frames than a
reading peer ever has is disconnected.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import zmq

from transport.backlog import Backlog
from transport.peers import Rid

MORE = int(zmq.NOBLOCK | zmq.SNDMORE)
LAST = int(zmq.NOBLOCK)


class Outlet:
    """Sends each frame as two parts, `send(routing id, MORE)` and `send(blob, LAST)`.

    `send` is the method of a ROUTER socket or of a wrapper. If it refuses the first part (EAGAIN:
    the peer's queue is full, EHOSTUNREACH: the peer is gone), nothing was sent; it never refuses
    the second part.

    `on_gone` is called for a peer that is no longer connected. `on_cut_off` is called for a peer
    that is disconnected because it does not read, with the number of its unsent frames. `counts`
    has the numbers of frames that were `dropped` and of peers that were `cut_off`.
    """

    def __init__(
        self,
        send: Callable[[Any, int], object],
        *,
        on_gone: Callable[[Any], None],
        on_cut_off: Callable[[Any, int], None],
        counts: Counter[str],
    ) -> None:
        self._send = send
        self._on_gone = on_gone
        self._on_cut_off = on_cut_off
        self._counts = counts
        self.backlogs: dict[Rid, Backlog] = {}

    def send_all(self, frames: Iterable[tuple[Rid, bytes, bool]]) -> None:
        """Send frames: (routing id, blob, whether it may be dropped when its peer is full)."""
        backlogs, send = self.backlogs, self._send
        for rid, blob, is_expendable in frames:
            if rid in backlogs:
                self._wait(rid, blob, is_expendable)
                continue
            try:
                send(rid, MORE)
                send(blob, LAST)
            except zmq.Again:
                backlog = backlogs[rid] = Backlog()
                backlog.push(blob, is_expendable)
            except zmq.ZMQError as error:
                self._unreachable(rid, error)

    def flush(self) -> None:
        """Try again to send the frames that full peers did not accept."""
        for rid, backlog in list(self.backlogs.items()):
            try:
                while backlog:
                    self._send(rid, MORE)
                    self._send(backlog.first(), LAST)
                    backlog.pop()
            except zmq.Again:
                continue
            except zmq.ZMQError as error:
                self._unreachable(rid, error)
            self._counts["dropped"] += backlog.dropped
            self.backlogs.pop(rid, None)

    def _wait(self, rid: Rid, blob: bytes, is_expendable: bool) -> None:
        backlog = self.backlogs[rid]
        backlog.push(blob, is_expendable)
        if backlog.is_hopeless:
            waiting = len(backlog)
            self._counts["cut_off"] += 1
            self._counts["dropped"] += waiting
            backlog.clear()
            self._on_cut_off(rid, waiting)

    def _unreachable(self, rid: Rid, error: zmq.ZMQError) -> None:
        if error.errno != zmq.EHOSTUNREACH:
            raise error
        self.backlogs.pop(rid, None)
        self._on_gone(rid)
