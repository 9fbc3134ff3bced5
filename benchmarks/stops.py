"""How long a stop takes: of a worker in a model call, and of one in a command that hid a child."""

import statistics
import threading
import time

import psutil

from benchmarks.product import Options, RunningHome, progress, wait_until
from benchmarks.report import Figure, at_most
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, call
from tests.integration.waiting import all_gone

HIDDEN = "1000.029"
HIDE = f"setsid sleep {HIDDEN} & touch begun; sleep {HIDDEN}"
BOUND_SECONDS = 5.0


class Brain:
    """The coordinator has `thinker` or `shell` do a node that comes to no end."""

    def __init__(self) -> None:
        self.never = threading.Event()
        self.thinks = threading.Event()

    def __call__(self, seen: SeenRequest) -> Reply:
        if seen.is_for("thinker"):
            self.thinks.set()
            return Reply(text="never said", gate=self.never)
        if seen.is_for("shell"):
            return call("bash", command=HIDE)
        worker = "shell" if "shell" in seen.said else "thinker"
        steps = [
            call("spawn_worker", name=worker),
            call("create_work_node", name="work", task="Work", worker=worker),
            call("wait"),
        ]
        return steps[seen.step] if seen.step < len(steps) else call("finish", summary="Stopped.")


def run(options: Options) -> list[Figure]:
    """Stop workers, some in a model call and some in a command."""
    responder = Brain()
    thinking, running = [], []
    with FakeModelServer(responder) as server, options.product.home(server.env()) as home:
        for number in range(options.count(5, 1)):
            progress(f"stop {number + 1}")
            responder.thinks.clear()
            agent = home.create("Have the thinker work")
            responder.thinks.wait(60)
            thinking.append(_stop(home, agent))
            agent = home.create("Have the shell work")
            _await_command(home, agent)
            running.append(_stop(home, agent))
        responder.never.set()
    ways = {"in a model call": thinking, "in bash, with a child in a session": running}
    return [
        at_most(f"stop of a worker {where}: slowest", "the bound of 5 s", max(each) / BOUND_SECONDS,
                1.0, f"{1e3 * max(each):.0f} ms (median {1e3 * statistics.median(each):.0f} ms)")
        for where, each in ways.items()
    ]  # fmt: skip


def _await_command(home: RunningHome, agent: str) -> None:
    files = home.files(agent).path
    wait_until(lambda: [*files.glob("runs/*/nodes/*/scratch/begun")], "the command", 0.02)


def _stop(home: RunningHome, agent: str) -> float:
    """Return the seconds from the order until the worker and all it started are gone."""
    row = next(
        row
        for row in home.client.entities()
        if row.kind == "worker" and row.address.startswith(f"{agent}/") and row.pid
    )
    worker = psutil.Process(row.pid)
    hidden = [process for process in psutil.process_iter() if _is_hidden(process)]
    processes = [worker, *worker.children(recursive=True), *hidden]
    began = time.monotonic()
    home.client.act(row.address, "stop")
    wait_until(lambda: all_gone(processes), f"the end of {row.address}")
    seconds = time.monotonic() - began
    home.client.stop(agent)
    return seconds


def _is_hidden(process: psutil.Process) -> bool:
    try:
        return HIDDEN in process.cmdline()
    except psutil.Error:
        return False
