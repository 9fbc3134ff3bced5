"""A crowd in a process of its own: followers of an agent's events, and callers at a steady rate.

It reads bytes and little else, so that what is measured is the gateway and not this. It begins when
it is ready, says so on stdout, and at the end of stdin prints what it saw as one JSON object.

The calls are those of people and programs that watch a team (MIX), over connections that stay open;
the few texts go to another agent, so that nobody but the one who measures talks to the team.

    python -m benchmarks.crowd URL TOKEN AGENT OTHER FOLLOWERS CALLS_PER_SECOND
"""

import asyncio
import base64
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
WORDS = (sys.executable, "-P", "-m", "benchmarks.crowd")
TICK_SECONDS = 0.005
CONNECTIONS = 32
MIX = {
    "GET /agents/{agent}": 40,
    "GET /agents/{agent}/board": 20,
    "GET /entities": 15,
    "GET /agents/{agent}/events?after={after}&limit=20": 14,
    "GET /agents/{agent}/conversation?limit=20": 10,
    "POST /agents/{other}/send": 1,
}
"""Of a hundred calls so many; the events are the last twenty."""

PAGE = 20
CLOSE = 8
PING = 9
SEQ = re.compile(rb'"seq": ?(\d+)')
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)

JsonObject = dict[str, Any]


@dataclass(slots=True)
class Seen:
    """What the crowd saw."""

    frames: int = 0
    gaps: int = 0
    dropped: int = 0
    answers: int = 0
    refusals: int = 0
    late: int = 0
    last_seq: int = 0
    seconds: list[float] = field(default_factory=list)


class Follower(asyncio.Protocol):
    """One WebSocket: counts its frames and looks whether one is missing."""

    def __init__(self, seen: Seen, request: bytes) -> None:
        """Follow once connected."""
        self._seen = seen
        self._request = request
        self._data = b""
        self._seq = 0
        self.is_open = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the events."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._data += data
        if not self.is_open.done():
            head, mark, self._data = self._data.partition(b"\r\n\r\n")
            if not mark:
                self._data = head
                return
            self.is_open.set_result(head.startswith(b"HTTP/1.1 101"))
        self._take_frames()

    def _take_frames(self) -> None:
        data, at = self._data, 0
        while len(data) - at >= 2:
            length, begin = data[at + 1], at + 2
            if length >= 126:
                width = 2 if length == 126 else 8
                length, begin = int.from_bytes(data[begin : begin + width], "big"), begin + width
            if len(data) < begin + length:
                break
            self._take(data[at] & 15, data[begin : begin + length])
            at = begin + length
        self._data = data[at:]

    def _take(self, kind: int, body: bytes) -> None:
        if kind == PING:
            self._transport.write(bytes([0x8A, 0x80 | len(body)]) + bytes(4) + body)
            return
        if kind == CLOSE:
            self._seen.dropped += 1
            return
        self._seen.frames += 1
        found = SEQ.search(body, max(0, len(body) - 200)) or SEQ.search(body)
        seq = int(found[1]) if found else 0
        self._seen.gaps += seq != self._seq + 1
        self._seq = self._seen.last_seq = seq


class Caller(asyncio.Protocol):
    """One connection on which call after call is made."""

    def __init__(self, seen: Seen, idle: "deque[Caller]") -> None:
        """Be idle once connected."""
        self._seen = seen
        self._idle = idle
        self._data = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait to be used."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._idle.append(self)

    def call(self, request: bytes) -> None:
        """Make one call."""
        self._began = time.monotonic()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take an answer."""
        self._data += data
        head, mark, body = self._data.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not mark or length is None or len(body) < int(length[1]):
            return
        self._data = b""
        self._seen.answers += 1
        self._seen.refusals += not head.startswith(b"HTTP/1.1 200")
        self._seen.seconds.append(time.monotonic() - self._began)
        self._idle.append(self)


class Requests:
    """The calls of MIX, one after the other, in an order that is the same each time."""

    def __init__(self, seen: Seen, common: str, agent: str, other: str) -> None:
        """Ask about `agent`, write to `other`."""
        self._seen = seen
        self._common = common
        self._names = {"agent": agent, "other": other}
        order = [kind for kind, count in MIX.items() for _ in range(count)]
        random.Random(0).shuffle(order)
        self._order = cycle(order)

    def next(self) -> bytes:
        """Return the next one."""
        after = max(0, self._seen.last_seq - PAGE)
        line = next(self._order).format(**self._names, after=after)
        body = json.dumps({"message": "How is it going?"}) if line.startswith("POST") else ""
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{line} HTTP/1.1\r\n{self._common}{more}\r\n{body}".encode()


async def gather_crowd(
    url: str, token: str, agent: str, other: str, followers: int, rate: float
) -> None:
    """Follow and call until stdin ends; print what was seen."""
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    loop, seen = asyncio.get_running_loop(), Seen()
    common = f"Host: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = (
        f"GET /agents/{agent}/events HTTP/1.1\r\n{common}Upgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    ).encode()
    for _ in range(followers):
        _, follower = await loop.create_connection(
            lambda: Follower(seen, upgrade), where.hostname, where.port
        )
        if not await follower.is_open:
            raise RuntimeError("a follower was refused")
    idle: deque[Caller] = deque()
    for _ in range(CONNECTIONS if rate else 0):
        await loop.create_connection(lambda: Caller(seen, idle), where.hostname, where.port)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    print("ready", flush=True)
    began = time.monotonic()
    await _call(seen, idle, Requests(seen, common, agent, other), rate, ended)
    print(json.dumps(_told(seen, time.monotonic() - began)), flush=True)


async def _call(
    seen: Seen, idle: "deque[Caller]", requests: Requests, rate: float, ended: asyncio.Event
) -> None:
    began, made = time.monotonic(), 0
    while not ended.is_set():
        due = int((time.monotonic() - began) * rate)
        while made < due:
            if not idle:
                seen.late += 1
                break
            idle.popleft().call(requests.next())
            made += 1
        await asyncio.sleep(TICK_SECONDS)


def _told(seen: Seen, seconds: float) -> JsonObject:
    return {
        "frames": seen.frames,
        "gaps": seen.gaps,
        "dropped": seen.dropped,
        "answers": seen.answers,
        "refusals": seen.refusals,
        "per_second": seen.answers / seconds,
        "answer_p50_ms": 1e3 * statistics.median(seen.seconds or [0.0]),
        "answer_p99_ms": 1e3 * sorted(seen.seconds or [0.0])[int(0.99 * len(seen.seconds))],
        "seconds": seconds,
    }


class Crowd:
    """A crowd that is there; `leave` ends it and returns what it saw."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Hold its process."""
        self._process = process

    def leave(self) -> JsonObject:
        """End it."""
        out, _ = self._process.communicate("\n", timeout=30)
        told: JsonObject = json.loads(out.splitlines()[-1])
        return told


@contextlib.contextmanager
def crowd(
    url: str, token: str, agent: str, other: str, followers: int, rate: float
) -> Iterator[Crowd]:
    """Have a crowd come; it is all there when the block begins."""
    process = subprocess.Popen(
        [*WORDS, url, token, agent, other, str(followers), str(rate)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if _line(process.stdout) != "ready":
            raise RuntimeError("the crowd was not let in")
        yield Crowd(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _line(out: IO[str]) -> str:
    return out.readline().strip()


if __name__ == "__main__":
    _, url_, token_, agent_, other_, followers_, rate_ = sys.argv
    asyncio.run(gather_crowd(url_, token_, agent_, other_, int(followers_), float(rate_)))
