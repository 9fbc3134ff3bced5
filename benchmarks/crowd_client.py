"""The crowd of `benchmarks/crowd.py`, in a process of its own: followers, or callers.

    python -m benchmarks.crowd_client followers HOME AGENT COUNT
    python -m benchmarks.crowd_client callers HOME AGENT OTHER CALLS_PER_SECOND

Followers each hold a WebSocket on the agent's events. Given on stdin how many events there are,
they wait until all have come; followers with as many frames and the same checksum as the first,
whose events must have one `seq` after the other, have missed nothing. Callers make calls at a
steady rate over connections that stay open, a call being due whether or not those before it are
answered, until stdin ends. Both print "ready" when they are connected, and one JSON object.
"""

import asyncio
import itertools
import json
import random
import re
import sys
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agiraph.http.client import read_gateway_address
from benchmarks.product import percentile

CONNECTIONS = 16
PAGE = 20
LAST_SECONDS = 10.0
SEQ = re.compile(r'"seq": ?(\d+)')
CALLS = {
    "agent": ("GET", "/agents/{agent}", 40),
    "board": ("GET", "/agents/{agent}/board", 20),
    "entities": ("GET", "/entities", 15),
    "events": ("GET", "/agents/{agent}/events?after={after}&limit=20", 14),
    "conversation": ("GET", "/agents/{agent}/conversation?limit=20", 10),
    "send": ("POST", "/agents/{other}/send", 1),
}
"""What is called, and how often of a hundred calls; texts go to another agent than the one that is
measured."""

JsonObject = dict[str, Any]


class Follower:
    """One WebSocket: how many frames came, their checksum, and gaps in `seq`."""

    def __init__(self) -> None:
        self.frames = self.checksum = self.gaps = self.seq = 0
        self.is_up = True
        self._came = asyncio.Condition()

    async def follow(self, url: str, token: str, connected: asyncio.Semaphore) -> None:
        """Receive until the connection ends."""
        headers = {"Authorization": f"Bearer {token}"}
        async with connect(url, additional_headers=headers, proxy=None, max_size=None) as socket:
            connected.release()
            with suppress(ConnectionClosed):
                async for frame in socket:
                    self._take(str(frame))
                    async with self._came:
                        self._came.notify_all()
        self.is_up = False

    async def wait_for(self, events: int, until: float) -> None:
        """Wait until so many frames have come, or a time (monotonic)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(until - time.monotonic()), self._came:
                await self._came.wait_for(lambda: self.frames >= events)

    def _take(self, frame: str) -> None:
        self.frames += 1
        self.checksum = zlib.crc32(frame.encode(), self.checksum)
        found = SEQ.search(frame)
        seq = int(found[1]) if found else 0
        self.gaps += seq != self.seq + 1
        self.seq = seq


async def follow(home: str, agent: str, count: str) -> JsonObject:
    """Follow an agent's events `count` times, and say what was missed."""
    url, token = read_gateway_address(Path(home))
    followers = [Follower() for _ in range(int(count))]
    connected = asyncio.Semaphore(0)
    path = f"ws{url.removeprefix('http')}/agents/{agent}/events"
    tasks = [asyncio.create_task(one.follow(path, token, connected)) for one in followers]
    for _ in followers:
        await connected.acquire()
    print("ready", flush=True)
    events = int(await asyncio.to_thread(sys.stdin.readline) or 0)
    give_up_at = time.monotonic() + LAST_SECONDS
    for one in followers:
        await one.wait_for(events, give_up_at)
    await asyncio.sleep(0.3)  # nothing more may come
    cut_off = sum(not one.is_up for one in followers)
    for task in tasks:
        task.cancel()
    return {
        "events": events,
        "lost": sum(max(0, events - one.frames) for one in followers),
        "doubled": sum(max(0, one.frames - events) for one in followers),
        "out_of_order": followers[0].gaps,
        "different": sum(one.checksum != followers[0].checksum for one in followers),
        "cut_off": cut_off,
    }


class Callers:
    """Connections that make calls as they are due."""

    def __init__(self, home: str, agent: str, other: str, rate: float) -> None:
        url, token = read_gateway_address(Path(home))
        place = urlsplit(url)
        self._host, self._port = str(place.hostname), place.port
        self._head = f"Host: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
        self._names = {"agent": agent, "other": other}
        order = [kind for kind, (_, _, share) in CALLS.items() for _ in range(share)]
        random.Random(0).shuffle(order)
        self._kinds = itertools.cycle(order)
        self._rate = rate
        self._due: asyncio.Queue[float] = asyncio.Queue()
        self._seconds: list[float] = []
        self._statuses: Counter[int] = Counter()
        self._last_event = 0

    async def run(self) -> JsonObject:
        """Call until stdin ends; say what was answered and how soon after it was due."""
        callers = [asyncio.create_task(self._call_on()) for _ in range(CONNECTIONS)]
        print("ready", flush=True)
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        began, made = time.monotonic(), 0
        while not ended.done():
            while began + made / self._rate <= time.monotonic():
                self._due.put_nowait(began + made / self._rate)
                made += 1
            await asyncio.sleep(0.004)
        seconds, answered = time.monotonic() - began, len(self._seconds)
        with suppress(TimeoutError):  # they are counted as unanswered
            await asyncio.wait_for(self._due.join(), LAST_SECONDS)
        for caller in callers:
            caller.cancel()
        return {
            "per_second": answered / seconds,
            "call_seconds": seconds,
            "answers": len(self._seconds),
            "refused": self._statuses.total() - self._statuses[200],
            "unanswered": made - len(self._seconds),
            "call_p50_ms": 1e3 * percentile(self._seconds or [0.0], 0.5),
            "call_p99_ms": 1e3 * percentile(self._seconds or [0.0], 0.99),
        }

    async def _call_on(self) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while True:
            due = await self._due.get()
            writer.write(self._request(next(self._kinds)))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(re.findall(rb"(?i)content-length: *(\d+)", head)[0])
            body = await reader.readexactly(length)
            self._seconds.append(time.monotonic() - due)
            self._statuses[int(head[9:12])] += 1
            if found := re.search(rb'"last_event": ?(\d+)', body[-2000:]):
                self._last_event = int(found[1])
            self._due.task_done()

    def _request(self, kind: str) -> bytes:
        method, path, _ = CALLS[kind]
        where = path.format(**self._names, after=max(0, self._last_event - PAGE))
        body = json.dumps({"message": "How is it going?"}) if method == "POST" else ""
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{method} {where} HTTP/1.1\r\n{self._head}{more}\r\n{body}".encode()


async def main(role: str, home: str, agent: str, *words: str) -> None:
    """Play one part of the crowd."""
    if role == "followers":
        print(json.dumps(await follow(home, agent, *words)), flush=True)
        return
    other, rate = words
    print(json.dumps(await Callers(home, agent, other, float(rate)).run()), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
