"""The spawner: imports everything that an actor needs in advance, and forks actors on request.

It is exec'd fresh, runs one thread (checked before each fork) and never opens a socket of the bus.
Preloaded objects are excluded from garbage collection, so that children continue sharing their
memory. After the end of the supervisor all actors end; the spawner then kills the commands of
models that are still running for the homes of these actors, and exits.

Each actor is forked twice: the intermediate process ends at once, so that the supervisor, a
subreaper, becomes the actor's parent and is notified of its exit, also when the spawner is dead.

    supervisor -> spawner   {"log": file, "prepares": bool},
                            then {"id", "launch", "environ", "parent"}
    spawner -> supervisor   {"ready": [modules]}, then {"id", "pid"} or {"id", "error"}

Frames are four bytes of length and a msgpack map, over a stream socket: a launch may be larger than
one packet.
"""

import gc
import importlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from actors.runtime.child import forked_main, redirect_output, set_title
from actors.runtime.launch import ActorLaunch
from actors.runtime.processes import LINGER_SECONDS, end_commands
from actors.spawner.huge_pages import collapse
from agiraph.core.record import build_records

MODULES = (
    *("asyncio", "msgpack", "zmq", "pydantic", "yaml", "setproctitle", "ctypes"),
    *("agiraph.messages", "agiraph.settings.config", "agiraph.storage.journal"),
    *("agiraph.storage.home", "agiraph.logs.log", "agiraph.http.api", "agiraph.board.plans.plan"),
    *("transport.codec", "transport.endpoint", "actors.runtime.runtime"),
    *("actors.recorder.recorder", "actors.scheduler.scheduler"),
)
"""The modules that services import; the spawner is ready after importing them."""

AGENT_MODULES = (
    *("actors.coordinator.main", "actors.worker.main"),
    *("actors.runtime.gated_endpoint", "actors.worker.mirror.mirroring"),
)
"""The modules that agents import, the last two on other machines; imported while it is idle."""

AGENTS = ("coordinator", "worker")
SPAWNER_FD = 3
LOOK_SECONDS = 0.01
QUIET_SECONDS = 0.5
"""How long the spawner must be idle before it prepares parts that the first coordinator does not
need: until then the processors have other work. A request waits for the preparation."""


class Piece(NamedTuple):
    """A preparation that children share; made when the spawner was idle for `quiet_seconds`."""

    prepare: Callable[[], object]
    quiet_seconds: float = 0.0


def main(fd: int = SPAWNER_FD) -> int:
    """Serve the supervisor at the other end of `fd` until it closes that; return the exit code."""
    set_title("agiraph: spawner")
    supervisor_pid = os.getppid()
    link = socket.socket(fileno=fd)
    gc.disable()  # children enable it; the imported modules are theirs, too
    modules = preload(MODULES)
    log = receive_frame(link)
    if log is None:
        return 0
    redirect_output(Path(log["log"]))
    pieces = [
        *(Piece(partial(preload, (name,))) for name in AGENT_MODULES),
        Piece(prepare_texts),
        *(Piece(one, QUIET_SECONDS) for one in (build_records, probe, prepare_schemas, collapse)),
    ]
    prepare_all(pieces if log["prepares"] else [])
    send_frame(link, {"ready": modules})
    homes: set[Path] = set()
    has_agent, linger_seconds = False, LINGER_SECONDS
    try:
        for request in requests(link, pieces):
            launch = ActorLaunch.unpack(request["launch"])
            homes.add(launch.home)
            if pieces and has_agent and launch.kind in AGENTS:
                prepare_all(pieces)
            has_agent |= launch.kind in AGENTS
            if launch.host:
                linger_seconds = 0.0
            send_frame(link, answer(link, request))
    except OSError:
        pass  # the supervisor died meanwhile
    clean_up(homes, supervisor_pid, linger_seconds)
    return 0


def prepare_all(pieces: list[Piece]) -> None:
    """Make all remaining preparations, for all children to share."""
    while pieces:
        pieces.pop(0).prepare()
    gc.freeze()


def requests(link: socket.socket, pieces: list[Piece]) -> Iterator[dict[str, Any]]:
    """Yield requests until the other end is closed; prepare `pieces` while none arrives."""
    while True:
        if pieces and not select.select([link], [], [], pieces[0].quiet_seconds)[0]:
            pieces.pop(0).prepare()
            gc.freeze()
            continue
        request = receive_frame(link)
        if request is None:
            return
        yield request


def probe() -> None:
    """Find the capabilities of the sandbox on this machine, for all children."""
    from agiraph.tools.sandbox.probe import probe

    probe()


def prepare_texts() -> None:
    """Compile the prompts, read the tables of models, build the tools' schemas, as shipped."""
    from agiraph.agent import prompts
    from agiraph.models.registry import load_presets
    from agiraph.tools.table import TOOLS

    prompts.prepare()
    for preset in load_presets().values():
        preset.of("")  # compiles its patterns of models
    for tool in TOOLS:
        tool.schema()
        tool.guidance()


def prepare_schemas() -> None:
    """Validate the JSON Schema of a team's turns once: the first time takes 40 milliseconds."""
    from agiraph.core.results import check_schema, misfits
    from agiraph.roles.decisions import SCHEMA

    misfits(check_schema(SCHEMA), {})


def clean_up(homes: Collection[Path], supervisor_pid: int, linger_seconds: float) -> None:
    """Kill the commands left by dead actors, unless the supervisor still runs and does so.

    On a host they are killed at once: another host may start their actors a second later.
    """
    if not homes:
        return
    begun = time.monotonic()
    while os.getppid() == supervisor_pid and time.monotonic() - begun < LINGER_SECONDS:
        time.sleep(LOOK_SECONDS)  # our link is closed a moment before it is gone
    if os.getppid() != supervisor_pid:
        time.sleep(max(0.0, linger_seconds - (time.monotonic() - begun)))
        for home in homes:
            end_commands(home, linger_seconds=0)


def preload(names: tuple[str, ...]) -> list[str]:
    """Import the modules that exist; return their names. Raises what a failing import raises."""
    loaded = []
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
                raise
        else:
            loaded.append(name)
    return loaded


def answer(link: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
    """Fork the requested actor and return its pid, or the error."""
    try:
        return {"id": request["id"], "pid": fork_actor(link, request)}
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        return {"id": request["id"], "error": f"{type(error).__name__}: {error}"}


def fork_actor(link: socket.socket, request: dict[str, Any]) -> int:
    """Fork twice, wait until the actor is the supervisor's child, let it begin; return its pid."""
    launch = ActorLaunch.unpack(request["launch"])
    assert_single_thread()
    go_read, go_write = os.pipe()
    pid_read, pid_write = os.pipe()
    between = os.fork()
    if between == 0:
        _between(link, launch, request, (go_read, go_write, pid_read, pid_write))
    os.close(go_read)
    os.close(pid_write)
    try:
        pid = os.read(pid_read, 8)
        os.waitpid(between, 0)
        if not pid:
            raise RuntimeError("the process between spawner and actor could not fork")
        os.write(go_write, b"g")
        return int.from_bytes(pid, "big")
    finally:
        os.close(pid_read)
        os.close(go_write)


def _between(
    link: socket.socket,
    launch: ActorLaunch,
    request: dict[str, Any],
    pipes: tuple[int, int, int, int],
) -> None:
    """Fork the actor, report its pid and exit; does not return."""
    go_read, go_write, pid_read, pid_write = pipes
    code = 1
    try:
        actor = os.fork()
        if actor:
            os.write(pid_write, actor.to_bytes(8, "big"))
            code = 0
            return
        link.close()
        for fd in (go_write, pid_read, pid_write):
            os.close(fd)
        if os.read(go_read, 1):
            os.close(go_read)
            forked_main(launch, request["environ"], request["parent"])
    finally:
        os._exit(code)


def assert_single_thread() -> None:
    """Raise RuntimeError if this process has threads: a fork would copy their locks."""
    tasks = "/proc/self/task"
    count = (
        len(os.listdir(tasks))  # plain: /proc
        if os.path.isdir(tasks)
        else threading.active_count()
    )
    if count != 1:
        names = ", ".join(thread.name for thread in threading.enumerate())
        raise RuntimeError(f"the spawner has {count} threads (known to Python: {names})")


def send_frame(link: socket.socket, value: dict[str, Any]) -> None:
    """Send one map as a frame."""
    data: bytes = msgpack.packb(value, use_bin_type=True)
    link.sendall(len(data).to_bytes(4, "big") + data)


def receive_frame(link: socket.socket) -> dict[str, Any] | None:
    """Return the map of the next frame, None when the other end is closed."""
    head = _receive_exactly(link, 4)
    data = _receive_exactly(link, int.from_bytes(head, "big")) if head else None
    return None if data is None else msgpack.unpackb(data, raw=False)


def _receive_exactly(link: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = link.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)
