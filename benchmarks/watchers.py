"""Watchers: WebSockets that follow one agent's events, and proof that each was sent every one.

A loop of its own over plain sockets that looks a few times a second, so that it costs next to
nothing. Of every frame the head is read, and its bytes go into its follower's checksum; the first
follower also reads each event's `seq`, which must be one more than that of the event before. Given
on stdin how many events there are, it waits until all have come and prints what it saw as one JSON
object: followers with as many frames and the same checksum as the first have missed nothing.

    python -m benchmarks.watchers URL TOKEN AGENT FOLLOWERS
"""

import base64
import json
import os
import re
import select
import socket
import sys
import time
import zlib
from typing import Any
from urllib.parse import urlsplit

LOOK_SECONDS = 0.02
QUIET_SECONDS = 0.3
LAST_SECONDS = 10.0
TEXT = 1
PING = 9
CLOSE = 8
SHORT = 126
END_OF_HEAD = b"\r\n\r\n"
SEQ = re.compile(rb'"seq": ?(\d+)')

JsonObject = dict[str, Any]


class Watcher:
    """One WebSocket: what came over it so far."""

    __slots__ = ("_data", "_reads", "_seq", "_socket", "checksum", "fd", "frames", "gaps", "is_up")

    def __init__(self, place: tuple[str, int], request: bytes, *, reads: bool) -> None:
        """Connect; read every event if it `reads`. Raises ConnectionError if it is refused."""
        self._socket = socket.create_connection(place)
        self._socket.sendall(request)
        self._data = b""
        while END_OF_HEAD not in self._data:
            came = self._socket.recv(1 << 16)
            if not came:
                break
            self._data += came
        head, _, self._data = self._data.partition(END_OF_HEAD)
        if not head.startswith(b"HTTP/1.1 101"):
            raise ConnectionError(f"a follower was refused: {head[:80]!r}")
        self.fd = self._socket.fileno()
        self._reads = reads
        self._seq = self.frames = self.gaps = self.checksum = 0
        self.is_up = True
        self._take_frames()

    def take(self) -> bool:
        """Take what came; return whether more can come."""
        try:
            came = self._socket.recv(1 << 18)
        except ConnectionError:
            came = b""
        if not came:
            self.is_up = False
            return False
        self._data = self._data + came if self._data else came
        self._take_frames()
        return self.is_up

    def _take_frames(self) -> None:
        data, at, end = self._data, 0, len(self._data)
        while end - at >= 2:
            length, begin = data[at + 1], at + 2
            if length >= SHORT:
                width = 2 if length == SHORT else 8
                length, begin = int.from_bytes(data[begin : begin + width], "big"), begin + width
            if end < begin + length:
                break
            self._take(data[at] & 15, data[begin : begin + length])
            at = begin + length
        self._data = data[at:]

    def _take(self, kind: int, body: bytes) -> None:
        if kind == PING:
            self._socket.sendall(bytes([0x8A, 0x80 | len(body)]) + bytes(4) + body)
        elif kind == CLOSE:
            self.is_up = False
        elif kind == TEXT:
            self.frames += 1
            self.checksum = zlib.crc32(body, self.checksum)
            if self._reads:
                found = SEQ.search(body)
                seq = int(found[1]) if found else 0
                self.gaps += seq != self._seq + 1
                self._seq = seq


class Watchers:
    """All of them."""

    def __init__(self, place: tuple[str, int], request: bytes, count: int) -> None:
        """Connect them all."""
        self._all = [Watcher(place, request, reads=not number) for number in range(count)]
        self._by_fd = {one.fd: one for one in self._all}
        self._poll = select.epoll()
        for fd in self._by_fd:
            self._poll.register(fd, select.EPOLLIN)

    def watch(self) -> None:
        """Take what comes until stdin has something to say."""
        stdin = select.poll()
        stdin.register(sys.stdin.fileno(), select.POLLIN)
        while not stdin.poll(1000 * LOOK_SECONDS):
            self._take()

    def finish(self, events: int) -> JsonObject:
        """Wait until each has got so many events and no more come; return what they got."""
        give_up_at = time.monotonic() + LAST_SECONDS
        while time.monotonic() < give_up_at:
            time.sleep(QUIET_SECONDS)
            is_quiet = not self._take()
            if is_quiet and all(one.frames >= events for one in self._all):
                break
        first = self._all[0]
        return {
            "events": events,
            "frames": sum(one.frames for one in self._all),
            "lost": sum(max(0, events - one.frames) for one in self._all),
            "doubled": sum(max(0, one.frames - events) for one in self._all),
            "out_of_order": first.gaps,
            "unlike": sum(one.checksum != first.checksum for one in self._all),
            "cut_off": sum(not one.is_up for one in self._all),
        }

    def _take(self) -> bool:
        """Take what came meanwhile; return whether anything did."""
        ready = self._poll.poll(0)
        for fd, _ in ready:
            if not self._by_fd[fd].take():
                self._poll.unregister(fd)
        return bool(ready)


def main(url: str, token: str, agent: str, followers: str) -> None:
    """Follow until stdin tells how many events there are; print what came."""
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    key = base64.b64encode(os.urandom(16)).decode()
    request = (
        f"GET /agents/{agent}/events HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Authorization: Bearer {token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    ).encode()
    watchers = Watchers((where.hostname, where.port), request, int(followers))
    print("ready", flush=True)
    watchers.watch()
    events = int(sys.stdin.readline() or 0)
    print(json.dumps(watchers.finish(events)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
