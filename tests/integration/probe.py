"""A replacement for every kind of actor, whose behaviour its args determine.

`human` also receives orders of a test over a socket in the home, so that a test can send messages
on the bus like the human gateway.
"""

import asyncio
import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.agent.inbox import EntityInbox, IncomingMessage
from agiraph.core.concurrency import first_to_end
from agiraph.core.models import EntityState
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildFailed
from agiraph.messages.control import DeadLetter, RetryLetter
from agiraph.messages.event import ReportEvents
from agiraph.messages.text import TextMessage
from agiraph.storage.disk_space import patiently
from agiraph.tools.command import CommandLimits, run_command
from transport.endpoint import Received
from transport.errors import TransportError

KINDS = {
    "router": "actors.router.main:main",
    "recorder": "tests.integration.probe:recorder",
    "broker": "tests.integration.probe:main",
    "clock": "tests.integration.probe:main",
    "human": "tests.integration.probe:human",
    "coordinator": "tests.integration.probe:main",
    "worker": "tests.integration.probe:main",
    "scaler": "tests.integration.probe:scale",
    "files": "tests.integration.probe:main",
}
FAILED = "failed.jsonl"
EVENTS = "events.jsonl"
HEARD = "heard.txt"
DEAD = "dead.txt"
GATHER_SECONDS = 0.1
BODIES = {body.TYPE: body for body in MESSAGES}


def main(launch: ActorLaunch) -> int:
    """Run a process as its args determine."""
    if launch.args.get("exit_code") is not None:
        return int(launch.args["exit_code"])
    return run_actor(launch, serve)


def human(launch: ActorLaunch) -> int:
    """Run the process that executes a test's orders."""
    return run_actor(launch, take_orders)


def recorder(launch: ActorLaunch) -> int:
    """Run a recorder that writes all events into one file of the home."""
    return run_actor(launch, record)


async def record(runtime: Runtime) -> None:
    """Write every reported event."""
    note_birth(runtime)
    await runtime.ready()
    while True:
        received = await runtime.receive()
        if isinstance(received.body, ReportEvents):
            with open(runtime.launch.home / EVENTS, "a") as file:
                file.writelines(f"{event.model_dump_json()}\n" for event in received.body.events)
        runtime.done(received)


async def serve(runtime: Runtime) -> None:
    """Record this birth, then behave as the args determine."""
    args = runtime.launch.args
    note_birth(runtime)
    if args.get("stray"):
        start_stray(Path(args["stray"]))
    if args.get("room_to_start"):
        patiently(lambda: write_where_there_is_room(Path(args["room_to_start"])))
    if not args.get("never_ready"):
        await runtime.ready()
    if args.get("end_after_ready"):
        await supervisor_knows(runtime)
        return
    if args.get("crash_after_ready"):
        await supervisor_knows(runtime)
        raise RuntimeError("the probe crashes as it was told")
    if args.get("step"):
        runtime.status(EntityState(state="busy", step=args["step"]))
    if args.get("command"):
        await run_shell(runtime, args["command"])
    if args.get("spin"):
        await supervisor_knows(runtime)
        spin()
    if args.get("room"):
        await supervisor_knows(runtime)
        patiently(lambda: write_where_there_is_room(Path(args["room"])))
    if args.get("ignore_stop"):
        await supervisor_knows(runtime)
        hang()
    leaving = asyncio.Event()
    runtime.on_leaving = leaving.set
    if args.get("inbox"):
        await first_to_end(*take_ahead(runtime))
    await first_to_end(hear_all(runtime), park_when(runtime, leaving))


async def hear_all(runtime: Runtime) -> None:
    """Write every received text."""
    while True:
        received = await runtime.receive()
        hear(runtime, received)
        runtime.done(received)


async def park_when(runtime: Runtime, leaving: asyncio.Event) -> None:
    """Park when requested, like an entity that is moved between two steps."""
    await leaving.wait()
    runtime.park()


def hear(runtime: Runtime, received: Received) -> None:
    """Write a text, or crash because of it."""
    if isinstance(received.body, TextMessage):
        if received.body.content == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        with open(runtime.launch.home / HEARD, "a") as file:
            file.write(f"{runtime.address}: {received.body.content}\n")


def take_ahead(runtime: Runtime) -> tuple[Coroutine[Any, Any, None], Coroutine[Any, Any, None]]:
    """Receive messages like an entity: into its inbox, and all waiting messages at once."""
    inbox, waiting = EntityInbox(), dict[str, Received]()
    inbox.take_up = runtime.take_up

    async def receive() -> None:
        while True:
            received = await runtime.receive()
            id = received.header.id.hex()
            waiting[id] = received
            inbox.put(IncomingMessage(id, "", "", "steer", lambda: None))

    async def work() -> None:
        while True:
            await inbox.arrived.wait()
            await asyncio.sleep(GATHER_SECONDS)  # like a worker in batches
            taken = inbox.take(with_followups=True)
            for one in taken:
                hear(runtime, waiting[one.id])
            for one in taken:
                runtime.done(waiting.pop(one.id))

    return receive(), work()


def orders_socket(home: Path) -> Path:
    """Return the socket for orders to a home's human probe; short, however deep the home is."""
    name = hashlib.blake2b(os.fsencode(home), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir()) / f"agiraph-orders-{name}"


def hang() -> None:
    """Block the event loop forever, and block SIGTERM."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    time.sleep(3600)


def write_where_there_is_room(place: Path) -> None:
    """Report a full disk until `place` exists."""
    if not place.exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def spin() -> None:
    """Use the processor and block the event loop forever."""
    while True:
        pass


async def run_shell(runtime: Runtime, command: str) -> None:
    """Run a command like a worker's tool; a file shows that it has ended."""
    name, home = runtime.address.replace("/", "."), runtime.launch.home
    run = home / "agents" / "shop" / "runs" / "r1"
    await run_command(
        command,
        folder=home / f"{name}.call",
        cwd=home,
        environment={"PATH": os.environ["PATH"], "AGIRAPH_RUN": str(run)},
        limits=CommandLimits(seconds=600, output=1000),
    )
    (home / f"{name}.ended").touch()


async def supervisor_knows(runtime: Runtime) -> None:
    """Wait until the supervisor knows that this incarnation is ready."""
    while not runtime.is_announced:  # noqa: ASYNC110 (a look is enough here)
        await asyncio.sleep(0.01)


def note_birth(runtime: Runtime) -> None:
    """Write the facts about this incarnation that a test may need."""
    facts = {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "incarnation": runtime.launch.incarnation,
        "environ": dict(os.environ),
        "arguments": Path(f"/proc/{os.getpid()}/cmdline").read_bytes().decode()
        if Path("/proc/self/cmdline").exists()
        else "",
    }
    name = runtime.address.replace("/", ".")
    with open(runtime.launch.home / f"{name}.births", "a") as file:
        file.write(json.dumps(facts) + "\n")


def start_stray(pid_file: Path) -> None:
    """Leave a descendant in a session of its own, whose parent exits at once."""
    script = (
        f"(setsid sh -c 'echo $$ > {pid_file}.part; mv {pid_file}.part {pid_file}; sleep 300' &)"
    )
    subprocess.run(["sh", "-c", script], check=True)


async def take_orders(runtime: Runtime) -> None:
    """Send the requests on the bus that a test sends over the socket."""
    note_birth(runtime)
    letters: dict[str, DeadLetter] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        order = json.loads(await reader.readline())
        if order["type"] == "control.retry":
            await runtime.send(order["to"], RetryLetter(letter=letters[order["to"]]))
            order = {"to": "supervisor", "type": "child.list", "body": {}}
        if order["type"] in ("text", "event.report"):
            body = BODIES[order["type"]].model_validate(order["body"])
            await runtime.send(order["to"], body)
            order = {"to": "supervisor", "type": "child.list", "body": {}}
        writer.write(json.dumps(await carry_out(runtime, order)).encode() + b"\n")
        await writer.drain()
        writer.close()

    path = orders_socket(runtime.launch.home)
    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(answer, str(path))
    await runtime.ready()
    try:
        while True:
            received = await runtime.receive()
            if isinstance(received.body, DeadLetter):
                with open(runtime.launch.home / DEAD, "a") as file:
                    file.write(f"{received.body.cause}\n")
                letters[received.body.to] = received.body
            if isinstance(received.body, ChildFailed):
                with open(runtime.launch.home / FAILED, "a") as file:
                    file.write(received.body.model_dump_json() + "\n")
            runtime.done(received)
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def carry_out(runtime: Runtime, order: dict[str, Any]) -> dict[str, Any]:
    """Send one order and return the answer as plain values."""
    body = BODIES[order["type"]].model_validate(order["body"])
    try:
        received = await runtime.ask(order["to"], body, within_seconds=20)
    except TransportError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    runtime.done(received)
    plain = json.dumps(received.body.model_dump(mode="python"), default=repr)
    return {"type": received.header.type, **json.loads(plain)}


def supervise() -> None:
    """Run `agiraph-supervisor` with these kinds in place of the real ones.

    PROBE_REAL names one kind that stays real.
    """
    from actors.runtime import kinds
    from tests.fakes.interpreters import supervise as run

    real = os.environ.get("PROBE_REAL")
    run(KINDS | ({real: kinds.KINDS[real]} if real else {}))


def scale(launch: ActorLaunch) -> int:
    """Run the scaler, with hosts that have these kinds in place of the real ones."""
    from actors.scaler import scaler
    from actors.scaler.local import LocalLauncher

    command = (sys.executable, "-c", "from tests.integration.probe import be_host; be_host()")
    return run_actor(
        launch,
        lambda runtime: scaler.serve(
            runtime, lambda _, home: LocalLauncher(home, dict(os.environ), command)
        ),
    )


def be_host() -> None:
    """Run `agiraph-host` with these kinds in place of the real ones."""
    from actors.host.main import main as host_main
    from tests.fakes.interpreters import fork_instead

    fork_instead()
    host_main(KINDS)
