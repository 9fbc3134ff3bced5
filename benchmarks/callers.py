"""Callers: HTTP calls at a steady rate over connections that stay open, for next to no processor.

A loop of its own over plain sockets: requests are bytes that were made before, of an answer the
status and the length are read. A call is due when the rate says so, whether or not those before it
are answered; who finds every connection busy waits, and its time counts from when it was due. It
begins when it is ready, says so on stdout, and at the end of stdin waits for the answers that are
still out and prints what it saw as one JSON object.

The calls are those of people and programs that watch a team (MIX); the few texts go to another
agent, so that nobody but the one who measures talks to the team.

    python -m benchmarks.callers URL TOKEN AGENT OTHER CALLS_PER_SECOND [KIND]
"""

import json
import random
import re
import select
import socket
import statistics
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

TICK_SECONDS = 0.004
LAST_SECONDS = 10.0
CONNECTIONS = 32
PAGE = 20
ALL = "all"
MIX = {
    "agent": ("GET /agents/{agent}", 40),
    "board": ("GET /agents/{agent}/board", 20),
    "entities": ("GET /entities", 15),
    "events": ("GET /agents/{agent}/events?after={after}&limit=20", 14),
    "conversation": ("GET /agents/{agent}/conversation?limit=20", 10),
    "send": ("POST /agents/{other}/send", 1),
}
"""What is called, and how often of a hundred calls; the events are the last twenty."""

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "
LAST_EVENT = re.compile(rb'"last_event": ?(\d+)')
TEXT = json.dumps({"message": "How is it going?"})

JsonObject = dict[str, Any]


@dataclass(slots=True)
class Seen:
    """What the callers saw."""

    statuses: Counter[str] = field(default_factory=Counter)
    from_due: list[float] = field(default_factory=list)
    from_sent: list[float] = field(default_factory=list)
    last_event: int = 0


class Requests:
    """The calls of MIX, one after the other, in an order that is the same each time."""

    def __init__(self, common: str, agent: str, other: str, only: str = ALL) -> None:
        """Ask about `agent`, write to `other`; `only` one kind of call, if that is named."""
        self._common = common
        self._names = {"agent": agent, "other": other}
        shares = MIX if only == ALL else {only: (MIX[only][0], 1)}
        order = [kind for kind, (_, count) in shares.items() for _ in range(count)]
        random.Random(0).shuffle(order)
        self._order = cycle(order)
        self._made: dict[str, bytes] = {}
        self._after = -1

    def next(self, last_event: int) -> bytes:
        """Return the next one."""
        kind = next(self._order)
        after = max(0, last_event - PAGE)
        if kind == "events" and after != self._after:
            self._after = after
            self._made.pop(kind, None)
        if kind not in self._made:
            self._made[kind] = self._make(MIX[kind][0].format(**self._names, after=after))
        return self._made[kind]

    def _make(self, line: str) -> bytes:
        body = TEXT if line.startswith("POST") else ""
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{line} HTTP/1.1\r\n{self._common}{more}\r\n{body}".encode()


class Caller:
    """One connection, on which call after call is made."""

    __slots__ = ("_data", "_due", "_seen", "_sent", "_socket", "fd")

    def __init__(self, place: tuple[str, int], seen: Seen) -> None:
        """Connect."""
        self._socket = socket.create_connection(place)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fd = self._socket.fileno()
        self._seen = seen
        self._data = b""
        self._due = self._sent = 0.0

    def call(self, request: bytes, due: float) -> None:
        """Make a call that was due then."""
        self._due, self._sent = due, time.monotonic()
        self._socket.sendall(request)

    def take(self) -> bool:
        """Take what came; return whether the answer is whole. Raises OSError if it was cut off."""
        came = self._socket.recv(1 << 18)
        if not came:
            raise ConnectionError("the gateway hung up")
        data = self._data = self._data + came if self._data else came
        end = data.find(END_OF_HEAD)
        if end < 0:
            return False
        at = data.index(LENGTH) + len(LENGTH)
        if len(data) < end + len(END_OF_HEAD) + int(data[at : data.index(b"\r", at)]):
            return False
        self._data = b""
        now, seen = time.monotonic(), self._seen
        seen.from_due.append(now - self._due)
        seen.from_sent.append(now - self._sent)
        seen.statuses[data[9:12].decode()] += 1
        found = LAST_EVENT.search(data, max(end, len(data) - 100))
        if found:
            seen.last_event = int(found[1])
        return True


class Callers:
    """All connections, and which of them are idle."""

    def __init__(self, place: tuple[str, int], requests: Requests, rate: float) -> None:
        """Connect them all; make so many calls a second once run."""
        self.seen = Seen()
        self._requests = requests
        self._rate = rate
        self._callers = {one.fd: one for one in (Caller(place, self.seen) for _ in _places())}
        self._idle = deque(self._callers.values())
        self._poll = select.epoll()
        for fd in (*self._callers, sys.stdin.fileno()):
            self._poll.register(fd, select.EPOLLIN)
        self._made = 0

    def run(self) -> JsonObject:
        """Call until stdin ends; return what was seen."""
        began = tick = time.monotonic()
        while not self._has_ended(max(0.0, tick - time.monotonic())):
            now = time.monotonic()
            if now >= tick:
                tick = now + TICK_SECONDS
            self._call(began, now)
        seconds = time.monotonic() - began
        answered = len(self.seen.from_due)
        give_up_at = time.monotonic() + LAST_SECONDS
        while len(self._idle) < len(self._callers) and time.monotonic() < give_up_at:
            self._has_ended(TICK_SECONDS)
        return _told(self.seen, seconds, answered, self._made)

    def _call(self, began: float, now: float) -> None:
        while self._idle and (due := began + self._made / self._rate) <= now:
            self._idle.popleft().call(self._requests.next(self.seen.last_event), due)
            self._made += 1

    def _has_ended(self, within_seconds: float) -> bool:
        """Take what comes within a time; return whether the end has come."""
        for fd, _ in self._poll.poll(within_seconds):
            caller = self._callers.get(fd)
            if caller is None:
                self._poll.unregister(fd)
                return True
            if caller.take():
                self._idle.append(caller)
        return False


def _places() -> range:
    return range(CONNECTIONS)


def _told(seen: Seen, seconds: float, answered: int, made: int) -> JsonObject:
    return {
        "answers": answered,
        "per_second": answered / seconds,
        "refusals": sum(count for status, count in seen.statuses.items() if status != "200"),
        "unanswered": made - len(seen.from_due),
        **_spread("answer", seen.from_sent),
        **_spread("due", seen.from_due),
        "call_seconds": seconds,
    }


def _spread(name: str, seconds: list[float]) -> JsonObject:
    ordered = sorted(seconds) or [0.0]
    return {
        f"{name}_p50_ms": 1e3 * statistics.median(ordered),
        f"{name}_p99_ms": 1e3 * ordered[int(0.99 * len(ordered))],
        f"{name}_max_ms": 1e3 * ordered[-1],
    }


def main(url: str, token: str, agent: str, other: str, rate: str, only: str = ALL) -> None:
    """Call at a rate until stdin ends; print what was seen."""
    where = urlsplit(url)
    assert where.hostname is not None
    assert where.port is not None
    common = f"Host: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
    requests = Requests(common, agent, other, only)
    callers = Callers((where.hostname, where.port), requests, float(rate))
    print("ready", flush=True)
    print(json.dumps(callers.run()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
