"""A worker that was taken over: with its own good ticket it throws hostile frames at everybody.

It speaks to the router on a bare wire, so it can lie in every field. Then it goes on as the real
worker. Run as a program this is `agiraph-supervisor` with this worker in the place of the real one.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from typing import Any

from actors.kinds import KINDS as REAL_KINDS
from actors.launch import Launch
from actors.worker.main import main as real_worker
from agiraph.messages import MESSAGES
from transport import protocol, tickets
from transport.envelope import VERSION, Flag, pack_fields, pack_map, read_fields
from transport.protocol import link_frame
from transport.wire import ZmqWire

KINDS = {**REAL_KINDS, "worker": "tests.integration.hostile:main"}
MALLORY = "mallory"
THROWN = "thrown.txt"
SERVICES = ("router", "recorder", "broker", "human", "supervisor", "nobody/here")
WITHIN_SECONDS = 30.0
WORDS = ("", "human", "../../../etc/passwd", "\x00", "a/b/c", "coordinator", "x" * 5_000, "*")


def main(launch: Launch) -> int:
    """Throw, if this is mallory's; then be a worker."""
    if launch.args["agent_name"] == MALLORY and not (launch.home / THROWN).exists():
        thrown = asyncio.run(Thrower(launch).throw())
        (launch.home / THROWN).write_text(str(thrown), encoding="utf-8")
    return real_worker(launch)


class Thrower:
    """Greets as the worker, throws everything, and lets go."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._dice = random.Random(1)
        self._names = [each for at in self._entities() for each in (at, at.partition("/")[0])]
        self._alive = asyncio.Event()
        self._welcomed = asyncio.Event()

    async def throw(self) -> int:
        """Return how many frames were thrown, once the router has taken them."""
        launch = self._launch
        wire = ZmqWire(launch.router_url, tickets.routing_id(launch.ticket))
        self._wire = wire
        wire.open(self)
        count = 0
        async with asyncio.timeout(WITHIN_SECONDS):
            await self._welcomed.wait()
            for blob in self._frames():
                while not wire.send(blob):  # noqa: ASYNC110 (a poll is enough here)
                    await asyncio.sleep(0.001)
                count += 1
            # The heartbeat is answered in its turn: then everything before it was taken.
            self._alive.clear()
            wire.send(self._link(protocol.HEARTBEAT, {"lag": 0.0}))
            await self._alive.wait()
        wire.close(1.0)
        return count

    # --- WireEvents ---

    def connected(self) -> None:
        """Greet."""
        body = {
            "address": self._launch.address,
            "incarnation": self._launch.incarnation,
            "ticket": self._launch.ticket,
            "pid": os.getpid(),
            "version": protocol.PROTOCOL_VERSION,
        }
        self._wire.send(self._link(protocol.HELLO, body))

    def disconnected(self) -> None:
        """Nothing."""

    def writable(self) -> None:
        """Nothing."""

    def frame(self, blob: bytes) -> None:
        """Hear when the router has let us in, and when it has taken everything."""
        type_ = read_fields(blob)[2]
        if type_ == protocol.WELCOME:
            self._welcomed.set()
        if type_ == protocol.ALIVE:
            self._alive.set()

    # --- what is thrown ---

    def _frames(self) -> Iterator[bytes]:
        """Yield noise, lies about the sender, and every message to everybody, whole and broken."""
        me = self._launch.address
        for size in (0, 1, 2, 7, 100, 70_000):
            yield self._dice.randbytes(size)
        everybody = [*SERVICES, *self._entities()]
        for body in MESSAGES:
            schema = body.model_json_schema()
            for to in everybody:
                for value in self._bodies(schema):
                    for flags in (int(body.DURABLE), int(body.DURABLE) | Flag.ASK):
                        yield self._blob(body.TYPE, to, me, flags, value)
                yield self._blob(body.TYPE, to, "human", int(body.DURABLE), b"\x80")
                yield self._blob(body.TYPE, to, "supervisor", int(not body.DURABLE), b"\x80")
        for type_ in ("link.ack", "link.down", "link.who", "link.nonsense", "no.such.type"):
            for to in everybody:
                yield self._blob(type_, to, me, 0, self._dice.randbytes(40))

    def _entities(self) -> list[str]:
        """Return the addresses of everybody's entities, as anybody on the machine may guess."""
        found = []
        for agent in (self._launch.home / "agents").iterdir():
            found.append(f"{agent.name}/coordinator")
            found += [f"{agent.name}/{path.name}" for path in agent.glob("runs/*/workers/*")]
        own = self._launch.address.partition("/")[0]
        return [address for address in found if not address.startswith(f"{own}/")]

    def _bodies(self, schema: dict[str, Any]) -> list[bytes]:
        """Return bodies: noise, a bomb, an empty map, wrong and right types of each field."""
        known = schema.get("properties", {})
        odd: list[Any] = [None, -1, [], {}, "x", 2**63]
        wrong = {name: self._dice.choice(odd) for name in known}
        right = {name: self._value(each, schema, 0) for name, each in known.items()}
        return [
            self._dice.randbytes(30),
            b"\x91" * 2_000,
            pack_map({}),
            pack_map(wrong),
            pack_map(right),
        ]

    def _value(self, part: dict[str, Any], schema: dict[str, Any], depth: int) -> Any:
        """Return a value that fits a part of a JSON schema, as hostile as it may be."""
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        if "const" in part:
            return part["const"]
        if options := part.get("anyOf") or part.get("oneOf"):
            return self._value(self._dice.choice(options), schema, depth)
        if "enum" in part:
            return self._dice.choice(part["enum"])
        match part.get("type"):
            case "object" if "properties" in part and depth < 4:
                known = part["properties"]
                return {name: self._value(each, schema, depth + 1) for name, each in known.items()}
            case "array" if depth < 4 and isinstance(part.get("items"), dict):
                return [self._value(part["items"], schema, depth + 1)]
            case "array":
                return []
            case "integer":
                return self._dice.choice([0, 1, 2**40])
            case "number":
                return self._dice.choice([0.0, 1.5, 1e300])
            case "boolean":
                return self._dice.random() < 0.5
            case "string" if part.get("format") == "binary":
                return self._dice.randbytes(16)
            case "string":
                return self._dice.choice((*WORDS, *self._names))
        return {}

    def _blob(self, type_: str, to: str, sender: str, flags: int, body: bytes) -> bytes:
        number = self._launch.incarnation
        id_ = self._dice.randbytes(16)
        return pack_fields((VERSION, id_, type_, to, sender, number, None, 1.0, flags, None), body)

    def _link(self, type_: str, body: dict[str, Any]) -> bytes:
        launch = self._launch
        return link_frame(type_, body, sender=launch.address, incarnation=launch.incarnation)


def supervise() -> None:
    """Run a supervisor whose workers may be hostile."""
    from actors.supervisor.main import main as run

    run(KINDS)
