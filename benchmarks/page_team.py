"""The team of `benchmarks/page.py`: as large as is wanted, and as busy as it is told.

Supervisor, services and coordinator are the product's. The one worker is not: it does no work, but
has what it is told to have done, in its own transcript and in events to the recorder.

    nodes COUNT             to the coordinator: make nodes until there are so many
    node NAME               to the coordinator: make this one
    note NUMBER             to the worker: report one event with mark-NUMBER in its text
    entries COUNT           to the worker: add so many entries to the transcript
    work RATE SECONDS       to the worker: report so many events a second, with their entries
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
from agiraph.agent.conversation import Conversation
from agiraph.agent.records import (
    CallFinished,
    CallStarted,
    ConversationRecord,
    ModelAnswered,
)
from agiraph.core.models import Event
from agiraph.core.turns import ToolCall
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
"""What a busy team reports, in turns; each `model.answered` begins a turn of its transcript."""


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
    """Start a team with so many nodes, and so many entries in its worker's transcript."""
    request = CreateAgentRequest(goal=f"nodes {nodes}", model=MODEL, name=name)
    agent = str(home.client.create_agent(request).id)
    wait_until(lambda: len(home.client.board(agent).nodes) == nodes, f"{nodes} nodes", 0.2)
    if entries:
        home.client.send(agent, f"entries {entries}", to=WORKER)
        wait_until(lambda: _entries(home, agent) >= entries, f"{entries} entries", 0.2)
    return agent


def _entries(home: RunningHome, agent: str) -> int:
    return home.client.transcript(agent, WORKER, after=0, before=2**53, limit=1).next


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
        self._args = args = WorkerArgs.model_validate(runtime.launch.args)
        files = runtime.home.agent(args.agent).run(args.run).worker(args.worker.id)
        self._conversation = Conversation(files.conversation)
        self._turns = itertools.count(1)
        self._types = itertools.cycle(EVENTS)

    async def take(self, words: list[str]) -> None:
        """Do what a text says."""
        match words:
            case ["note", number]:
                name = f"mark-{number}"  # not in the order, which stands in the conversation too
                self._report("tool.refused", {"tool": "bash", "subject": name, "reason": name})
            case ["entries", count]:
                turns = (self._turn(next(self._turns)) for _ in range(int(count) // 3 + 1))
                self._conversation.append(*itertools.chain.from_iterable(turns))
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
        if type_ == "model.answered":
            turn = next(self._turns)
            self._conversation.append(*self._turn(turn))
            about: dict[str, Any] = {"model": MODEL, "text": f"{TEXT}{turn}", "calls": 1}
            about |= {"input_tokens": 900, "output_tokens": 40, "cost_usd": 0.001}
        elif type_ == "message.sent":
            about = {"from": WORKER, "to": "coordinator", "content": TEXT, "mode": "steer"}
        elif type_ == "node.checked":
            about = {"has_passed": True, "checks": []}
        else:
            about = {"tool": "bash", "arguments": {"command": COMMAND}, "reason": "a rule"}
        self._report(type_, about)

    def _turn(self, number: int) -> tuple[ConversationRecord, ...]:
        id, now = f"call-{number}", time.time()
        call = ToolCall(id=id, name="bash", arguments={"command": f"{COMMAND} {number}"})
        said = f"Turn {number}. {TEXT * (number % 4)}"
        return (
            ModelAnswered(text=said, tool_calls=(call,), stop_reason="tool_use", ts=now),
            CallStarted(call_id=id, name="bash", ts=now),
            CallFinished(call_id=id, name="bash", content=f"{TEXT}\n[exit code 0]", ts=now),
        )

    def _report(self, type_: str, data: dict[str, Any]) -> None:
        args = self._args
        who = {"agent_id": args.agent, "entity": args.worker.name, "run_id": args.run}
        self._runtime.report(Event.model_validate(
            {"type": type_, "ts": time.time(), "data": data, **who}
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
