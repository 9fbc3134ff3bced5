"""How long a stop takes: of a worker in a model call, and of one in a command that hid a child."""

import json
import statistics
import threading
import time
from pathlib import Path

import psutil

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from agiraph.storage.home import Home
from benchmarks.lodging import is_gone, team_lodging, until
from tests.fakes.model_server import Reply, SeenRequest, call

ROUNDS = 5
HIDDEN = "1000.029"
HIDE = f"setsid sleep {HIDDEN} & touch begun; sleep {HIDDEN}"
LOOK_SECONDS = 0.02

Result = dict[str, float]


class Playing:
    """A brain: the coordinator has `thinker` or `shell` do a node, which comes to no end."""

    def __init__(self) -> None:
        self.never = threading.Event()
        self.thinks = threading.Event()

    def __call__(self, seen: SeenRequest) -> Reply:
        """Answer whoever asks."""
        if seen.is_for("thinker"):
            self.thinks.set()
            return Reply(text="It will never be said.", gate=self.never)
        if seen.is_for("shell"):
            return call("bash", command=HIDE)
        worker = "shell" if "shell" in seen.said else "thinker"
        steps = [
            call("spawn_worker", name=worker),
            call("create_work_node", name="work", task="Work", worker=worker),
            call("wait"),
        ]
        return steps[seen.step] if seen.step < len(steps) else call("finish", summary="Stopped.")


def run(rounds: int) -> Result:
    """Stop workers, some in a model call and some in a command; return milliseconds."""
    playing = Playing()
    with team_lodging(playing) as (home, supervisor), Client.for_home(home) as client:
        thinking, running = [], []
        for _ in range(rounds):
            playing.thinks.clear()
            agent = _begin(client, "thinker")
            playing.thinks.wait(60)
            thinking.append(_stop(client, supervisor, agent))
            agent = _begin(client, "shell")
            _await_command(home, agent)
            running.append(_stop(client, supervisor, agent))
        playing.never.set()
    return {
        "stops": float(rounds),
        "thinking_p50_ms": 1e3 * statistics.median(thinking),
        "thinking_max_ms": 1e3 * max(thinking),
        "running_p50_ms": 1e3 * statistics.median(running),
        "running_max_ms": 1e3 * max(running),
    }


def _begin(client: Client, worker: str) -> str:
    request = CreateAgentRequest(goal=f"Have the {worker} work", model="anthropic/fake")
    return str(client.create_agent(request).id)


def _await_command(home: Path, agent: str) -> None:
    files = Home(home).agent(agent).path
    until(lambda: [*files.glob("runs/*/nodes/*/scratch/begun")], "the command runs", LOOK_SECONDS)


def _stop(client: Client, supervisor: psutil.Process, agent: str) -> float:
    """Return the seconds from the order until the worker and all it started are gone."""
    address, pid = next(
        (row.address, row.pid)
        for row in client.entities()
        if row.kind == "worker" and row.address.startswith(f"{agent}/") and row.pid
    )
    hidden = [process for process in psutil.process_iter() if _is_hidden(process)]
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True), *hidden]
    began = time.monotonic()
    client.act(address, "stop")
    until(lambda: all(map(is_gone, family)), f"{address} is gone")
    seconds = time.monotonic() - began
    client.stop(agent)
    return seconds


def _is_hidden(process: psutil.Process) -> bool:
    try:
        return HIDDEN in process.cmdline()
    except psutil.Error:
        return False


if __name__ == "__main__":
    print(json.dumps(run(ROUNDS), indent=1))
