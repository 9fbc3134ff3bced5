"""The team of `benchmarks/page.py`: as large as is wanted, and as busy as it is told.

Supervisor, services and coordinator are the product's. The one worker is not: it does no work, but
reports the events that it is given to the recorder.

    nodes COUNT             to the coordinator: make nodes until there are so many
    node NAME               to the coordinator: make this one
    note NUMBER             to the worker: report one event with mark-NUMBER in its text
    entries COUNT           to the worker: add so many entries to the thread
    work RATE SECONDS       to the worker: report so many events a second
"""

import asyncio
import itertools
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from actors.entity.args import WorkerArgs
from actors.runtime.kinds import KINDS
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.core.models import Event
from agiraph.http.api import CreateAgentRequest
from agiraph.messages.text import TextMessage
from benchmarks.product import Product, RunningHome, wait_until
from tests.fakes.model_server import FakeModelServer, Reply, SeenRequest, calls
from tests.scenarios.steps import WAIT, node, spawn

WORKER: Final = "ada"
MODEL: Final = "openai/fake"
SETTINGS: Final = "{run: {max_nodes: 2000, max_iterations: 2000, park_after_seconds: 0}}\n"
NODES_A_STEP: Final = 100
BEATS_A_SECOND: Final = 20
TEXT: Final = "The offers of this month differ in traffic, storage and support; "
COMMAND: Final = "git status --short && sed -n 1,80p src/prices.py  # what has changed"

EVENTS: Final = (
    *("model.answered", "tool.called", "tool.result") * 5,
    *("message.sent", "tool.refused", "node.checked", "tool.called", "tool.result"),
)
"""The events of a busy team, in turns."""

TURN: Final = ("model.answered", "tool.called", "tool.result")
ENTRIES_A_TURN: Final = 2
"""Entries of the thread: an answer and a call."""

TURNS_A_BEAT: Final = 50


class Team(Product):
    """The product with such a worker."""

    def command(self, *words: str) -> list[str]:
        """Return the command line of a supervisor with such workers."""
        return [sys.executable, "-P", "-m", "benchmarks.page_team", *words]


@contextmanager
def running() -> Iterator[RunningHome]:
    """Yield a home whose teams do as they are told."""
    with FakeModelServer(_coordinator) as model, Team().home(model.env("openai"), SETTINGS) as home:
        yield home


def begin(home: RunningHome, name: str, nodes: int = 1, entries: int = 0) -> str:
    """Start a team with so many nodes, and so many entries in its worker's conversation."""
    request = CreateAgentRequest(goal=f"nodes {nodes}", model=MODEL, name=name)
    agent = str(home.client.create_agent(request).id)
    wait_until(lambda: len(home.client.board(agent).nodes) == nodes, f"{nodes} nodes", 0.2)
    if entries:
        last = home.client.agent(agent).last_event + entries // ENTRIES_A_TURN * len(TURN)
        home.client.send(agent, f"entries {entries}", to=WORKER)
        wait_until(lambda: home.client.agent(agent).last_event >= last, f"{entries} entries", 0.2)
    return agent


def _coordinator(seen: SeenRequest) -> Reply:
    """Play the coordinator: make the nodes that it was asked for and has not made."""
    if seen.step == 0:
        return spawn(WORKER)
    made = len(seen.results("create_work_node"))
    [count] = re.findall(r"\bnodes (\d+)", seen.said)[:1]
    parts = range(made, min(int(count), made + NODES_A_STEP))
    if parts:
        return calls(*(_part(number) for number in parts))
    named = re.findall(r"\bnode (mark-\d+)", seen.said)
    return node(named[made - int(count)], WORKER) if made - int(count) < len(named) else WAIT


def _part(number: int) -> Reply:
    dependencies = [f"part-{number // 3}"] if number > 9 else []
    return node(f"part-{number}", WORKER, task=TEXT, dependencies=dependencies)


# --- the worker's process ------------------------------------------------------------------------


class _Worker:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._args = WorkerArgs.model_validate(runtime.launch.args)
        self._turns = itertools.count(1)
        self._calls = 0
        self._types = itertools.cycle(EVENTS)

    async def take(self, words: list[str]) -> None:
        """Do what a text says."""
        match words:
            case ["note", number]:
                name = f"mark-{number}"  # not in the order, which stands in the conversation too
                self._report("tool.refused", {"tool": "bash", "subject": name, "reason": name})
            case ["entries", count]:
                for turn in range(int(count) // ENTRIES_A_TURN):
                    for type_ in TURN:
                        self._step(type_)
                    if turn % TURNS_A_BEAT == 0:
                        await asyncio.sleep(1 / BEATS_A_SECOND)
            case ["work", rate, seconds]:
                await self._work(int(rate), float(seconds))

    async def _work(self, rate: int, seconds: float) -> None:
        began, done = time.monotonic(), 0
        while done < rate * seconds:
            due = min(rate * seconds, rate * (time.monotonic() - began))
            for _ in range(int(due) - done):
                self._step(next(self._types))
                done += 1
            await asyncio.sleep(1 / BEATS_A_SECOND)

    def _step(self, type_: str) -> None:
        key = ""
        if type_ == "model.answered":
            turn = next(self._turns)
            said = f"Turn {turn}. {TEXT * (turn % 4)}"
            about: dict[str, Any] = {"model": MODEL, "text": said, "calls": ["bash"]}
            about |= {"input_tokens": 900, "output_tokens": 40, "cost_usd": 0.001}
        elif type_ == "message.sent":
            about = {"from": WORKER, "to": "coordinator", "content": TEXT, "mode": "steer"}
        elif type_ == "node.checked":
            about = {"has_passed": True, "checks": []}
        elif type_ == "tool.refused":
            about = {"tool": "bash", "subject": COMMAND, "reason": "a rule"}
        else:
            self._calls += type_ == "tool.called"
            key = f"{self._runtime.address}:{type_}:e-{self._calls}.0"
            about = {"tool": "bash", "call": f"call-{self._calls}"}
            if type_ == "tool.called":
                about["arguments"] = {"command": f"{COMMAND} {self._calls}"}
            else:
                about |= {"preview": TEXT, "characters": len(TEXT), "exit_code": 0}
        self._report(type_, about, key)

    def _report(self, type_: str, data: dict[str, Any], key: str = "") -> None:
        args = self._args
        who = {"agent_id": args.agent, "entity": args.worker.name, "run_id": args.run}
        self._runtime.report(Event.model_validate(
            {"type": type_, "ts": time.time(), "data": data, "key": key, **who}
        ))  # fmt: skip


async def _serve(runtime: Runtime) -> None:
    worker = _Worker(runtime)
    await runtime.ready()
    while True:
        received = await runtime.receive()
        runtime.done(received)
        if isinstance(received.body, TextMessage):
            await worker.take(received.body.content.split())


def serve(launch: ActorLaunch) -> int:
    """Run the worker that does as it is told."""
    return run_actor(launch, _serve)


if __name__ == "__main__":
    from actors.supervisor.main import main

    sys.argv.remove("_supervisor")
    main({**KINDS} | {"worker": "benchmarks.page_team:serve"})
