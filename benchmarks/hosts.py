"""Hosts: what it costs that a worker is on another machine; over loopback, without the line's time.

A home and one host on this machine. The coordinator spawns workers in turn at home, on the host and
anywhere, each with a node, and each calls its model and asks the person something. Those that may
run anywhere are moved to the host, home, and back; then the host is killed with all that runs on
it, and it is measured when its workers are ready at home. With `--full`, teams of workers are
started on four hosts until a thousand live there (`--quick --full`: forty), as far as time and
memory allow: the row says how far that was.
"""

import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from agiraph.http.api import InviteHostRequest
from benchmarks.product import (
    DEADLINE_SECONDS,
    Options,
    Product,
    RunningHome,
    progress,
    pss_kb,
    wait_until,
)
from benchmarks.report import Figure, at_most, not_measured
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call, calls

PLACES = ("home", "far-1")
ANYWHERE = ""
WORKERS, QUICK_WORKERS = 18, 6
LEASE_SECONDS = 3.0
NOT_READY = frozenset({"starting", "stopping", "backing_off", "parked", "failed"})
CROWD, QUICK_CROWD, HOSTS = 1000, 40, 4
TEAM, AT_ONCE = 20, 10
"""Workers of one coordinator in the crowd, and those that it spawns in one answer."""
CROWD_SECONDS, STALL_SECONDS = 900.0, 60.0
LEAST_FREE_BYTES = 2 << 30
SETTINGS = f"""\
run: {{max_concurrent: 100, max_workers: 100, park_after_seconds: 3600}}
hosts: {{listen: "tcp://127.0.0.1:0", lease_seconds: {LEASE_SECONDS}, renew_seconds: 0.5}}
"""


@dataclass(slots=True)
class _Brain:
    """Plays a coordinator that spawns `count` workers, one after the other, in turn at `places`."""

    count: int
    places: tuple[str, ...]
    ordered: dict[int, float] = field(default_factory=dict)
    arrived: dict[int, float] = field(default_factory=dict)

    def __call__(self, seen: SeenRequest) -> Reply:
        number = seen.step
        for worker in range(self.count):
            if seen.is_for(f"w{worker}"):
                self.arrived.setdefault(worker, time.monotonic())
                return call("ask_human", question="Shall I go on?")
        if number and number <= self.count:  # the next is ordered once this one is at work
            wait_until(lambda: number - 1 in self.arrived, f"worker {number - 1}")
        if number >= self.count:
            return call("wait")
        self.ordered[number] = time.monotonic()
        name, place = f"w{number}", self.place_of(number)
        node = call("create_work_node", name=f"n{number}", task="Work", worker=name)
        wish = {"host": place} if place else {}
        return calls(call("spawn_worker", name=name, **wish), node)

    def place_of(self, number: int) -> str:
        """Return where a worker is started."""
        return self.places[number % len(self.places)]

    def starts_at(self, place: str) -> list[float]:
        """Return the seconds of each start there."""
        return [
            self.arrived[number] - at
            for number, at in self.ordered.items()
            if self.place_of(number) == place
        ]


def run(options: Options) -> list[Figure]:
    """Measure starts, moves and the loss of a machine."""
    responder = _Brain(options.count(WORKERS, QUICK_WORKERS), (*PLACES, ANYWHERE))
    with FakeModelServer(responder) as server, _spread(options.product, server.env(), 1) as spread:
        home, (host,) = spread
        progress(f"starting {responder.count} workers in turn at home and on a host")
        agent = home.create("Work")
        wait_until(lambda: len(responder.arrived) == responder.count, "all workers", 0.05)
        near, far = (statistics.median(responder.starts_at(place)) for place in PLACES)
        progress("moving those that may run anywhere to the host, home, and to the host")
        free = [
            number for number in range(responder.count) if responder.place_of(number) == ANYWHERE
        ]
        rows = {
            row.address.rpartition("/")[2].partition("-")[0]: row for row in home.client.entities()
        }
        movable = [rows[f"w{number}"].address for number in free]
        for worker in movable:
            _move(home, worker, PLACES[1])
        moves = [_move(home, worker, place) for worker in movable for place in PLACES]
        progress("killing the machine")
        lost = _lose(home, host, movable)
        home.client.stop(agent)
    figures = [
        at_most("hosts, a worker's start on a host", "its start at home",
                far / near, 1.5, f"{1e3 * far:.0f} and {1e3 * near:.0f} ms"),
        at_most("hosts, a worker's move to another machine", "its start at home",
                statistics.median(moves) / near, 3.0, f"{1e3 * statistics.median(moves):.0f} ms"),
        at_most("hosts, a machine killed until its workers work elsewhere", "its lease plus 1 s",
                lost / (LEASE_SECONDS + 1), 1.0, f"{lost:.2f} s, lease {LEASE_SECONDS:g} s"),
    ]  # fmt: skip
    return figures + (_crowd(options) if options.is_full else [])


def _move(home: RunningHome, worker: str, place: str) -> float:
    """Move a worker to another machine; return the seconds until it is ready there."""
    began = time.monotonic()
    home.client.move(worker, host=place)
    wait_until(lambda: _is_ready(home, worker, place), f"the move of {worker}")
    return time.monotonic() - began


def _lose(home: RunningHome, host: psutil.Process, workers: list[str]) -> float:
    """Kill a host with all that runs on it; return the seconds until its workers are ready."""
    began = time.monotonic()
    for process in [host, *host.children(recursive=True)]:
        process.kill()
    wait_until(lambda: all(_is_ready(home, one, "home") for one in workers), "all workers", 0.05)
    return time.monotonic() - began


def _is_ready(home: RunningHome, worker: str, place: str) -> bool:
    row = next(row for row in home.client.entities() if row.address == worker)
    return row.host == place and row.state not in NOT_READY


@dataclass(slots=True)
class _Crowd:
    """Plays coordinators of TEAM workers each, over all hosts; the workers ask the person."""

    arrived: set[str] = field(default_factory=set)

    def __call__(self, seen: SeenRequest) -> Reply:
        worker = re.search(r"You are (t\d+w\d+)\b", seen.system)
        if worker is not None:
            self.arrived.add(worker[1])
            return call("ask_human", question="Shall I go on?")
        team, first = re.search(r"Work as team (\d+)", seen.said), seen.step * AT_ONCE
        if team is None or first >= TEAM:
            return call("wait")
        return calls(
            *(
                one
                for number in range(first, first + AT_ONCE)
                for one in self._spawn(f"t{team[1]}w{number}", f"far-{number % HOSTS + 1}")
            )
        )

    def _spawn(self, name: str, host: str) -> tuple[Reply, Reply]:
        node = call("create_work_node", name=f"of-{name}", task="Work", worker=name)
        return call("spawn_worker", name=name, host=host), node


def _crowd(options: Options) -> list[Figure]:
    """Have a thousand workers live on four hosts."""
    responder, wanted = _Crowd(), options.count(CROWD, QUICK_CROWD)
    what = f"hosts, {wanted} live workers on {HOSTS} hosts: memory of the hosts"
    with (
        FakeModelServer(responder) as server,
        _spread(options.product, server.env(), HOSTS) as spread,
    ):
        home, hosts = spread
        progress(f"starting {wanted} workers on {HOSTS} hosts, at most {CROWD_SECONDS:g} s")
        began = time.monotonic()
        lacking = _gather(home, responder, wanted, began + CROWD_SECONDS)
        seconds = time.monotonic() - began
        live = sum(
            row.host.startswith("far-") and row.state not in NOT_READY
            for row in home.client.entities()
        )
        gigabytes = sum(map(_pss_kb, hosts)) / 1024**2
        progress(f"{live} live after {seconds:.0f} s, {gigabytes:.1f} GB; ending them")
        for host in hosts:
            host.kill()  # in order it would take long; nothing of this home is needed any more
    seen = f"{gigabytes:.1f} GB, {live} live, started in {seconds:.0f} s"
    if lacking or live < wanted:
        return [not_measured(what, f"{lacking or 'not all stayed'}: {seen}")]
    return [at_most(what, "16 MB each", gigabytes * 1000 / (16 * wanted), 1.0, seen)]


def _gather(home: RunningHome, responder: _Crowd, wanted: int, until: float) -> str:
    """Start team after team until so many workers have arrived; return what was lacking."""
    for team in range(wanted // TEAM):
        home.create(f"Work as team {team}")
        goal, before, looked = TEAM * (team + 1), len(responder.arrived), time.monotonic()
        while len(responder.arrived) < goal:
            now, free = time.monotonic(), psutil.virtual_memory().available
            if len(responder.arrived) > before:
                before, looked = len(responder.arrived), now
            if now > until:
                return f"{CROWD_SECONDS:g} s were not enough"
            if now > looked + STALL_SECONDS:
                return f"no worker came for {STALL_SECONDS:g} s"
            if free < LEAST_FREE_BYTES:
                return f"only {free >> 20} MB were free"
            time.sleep(0.2)
        progress(f"{goal} of {wanted}, {psutil.virtual_memory().available >> 20} MB free")
    return ""


def _pss_kb(host: psutil.Process) -> float:
    """Return the memory of a host with all that runs on it."""
    total = 0.0
    for process in [host, *host.children(recursive=True)]:
        with suppress(psutil.Error):  # it has ended
            total += pss_kb(process)
    return total


@contextmanager
def _spread(
    product: Product, environ: dict[str, str], count: int
) -> Iterator[tuple[RunningHome, list[psutil.Process]]]:
    """Run a home with `count` hosts, `far-1` and so on; yield it and their processes."""
    with product.home(environ, SETTINGS) as home, ExitStack() as stack:
        hosts = [stack.enter_context(_host(product, home, f"far-{n + 1}")) for n in range(count)]

        def are_ready() -> bool:
            rows = home.client.hosts().hosts
            return len(rows) == count and all(row.state == "ready" for row in rows)

        wait_until(are_ready, "the hosts", 0.05)
        yield home, hosts


@contextmanager
def _host(product: Product, home: RunningHome, name: str) -> Iterator[psutil.Process]:
    line = home.client.invite_host(InviteHostRequest(name=name)).line
    folder, environ = str(Path(home.folder) / f"machine-{name}"), product.environ({})
    join = product.command("host", "join", line, "--no-run", "--folder", folder)
    subprocess.run(join, env=environ, check=True, capture_output=True)
    process = subprocess.Popen(
        product.command("host", "run", "--folder", folder),
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            progress(f"host {name} did not end in time: killed")
            process.kill()
            process.wait()
