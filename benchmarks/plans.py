"""What a plan costs beside its work: filling the board and deciding, on a board alone.

A plan of layers, each node after two of the layer before, is carried out by workers that take no
time. Measured is the processor time of the process that decides, a node, without journal; a plan
of more nodes shows whether it grows with the number of them.

Then the same plan with each step on disk before the next one, on the clock, beside peers (installed
as benchmarks/peers.py says): LangGraph's StateGraph, whose SQLite checkpointer syncs once for each
node and each layer, and Prefect, with the server and SQLite that it brings along. Ours syncs twice
for a node: that it has begun, and that it is completed (and its worker's next one given out).

And the same plan carried out by eight workers, processes, each node one call of a model service
that answers at once: the processor time of the coordinator's process, its start and its own calls
of the model included, a node; and how that grows.
"""

import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, fold
from agiraph.board.decide import decide
from agiraph.board.scheduler import Schedule, SchedulingLimits
from agiraph.board.store import BoardStore
from agiraph.core.ids import AgentId, NodeId, RunId, coordinator_address
from agiraph.core.models import ENDED_AGENT, NodeResult
from agiraph.core.specs import NodeSpec
from agiraph.http.api import CreateAgentRequest
from benchmarks.model_service import ModelService, model_service
from benchmarks.peers import measured_there, missing
from benchmarks.product import Options, progress, wait_until
from benchmarks.report import Figure, at_most, not_measured

FEW, MANY = 1_000, 10_000
WIDE = 50
LIMITS = SchedulingLimits(8)
AIM_MS = 2.0
PEERS = {"langgraph": ("LangGraph", FEW, 60.0, 3), "prefect": ("Prefect", 100, 180.0, 1)}
"""What each is called, how many nodes it can be asked for, in how many seconds, how often."""
SMALL, LARGE = 200, 600
WORKERS = 8
SETTINGS = f"""
run: {{max_concurrent: {WORKERS}, max_workers: {WORKERS}, max_nodes: 1000, park_after_seconds: 0}}
broker: {{concurrent_calls: 64}}
"""
RUN_SECONDS = 180.0


def run(options: Options) -> list[Figure]:
    """Return the milliseconds a node of a plan of 1,000 nodes, and how they grow to 10,000."""
    few = milliseconds_a_node(FEW)
    progress(f"{FEW} nodes: {few:.2f} ms a node")
    many_nodes = options.count(MANY, 2 * FEW)
    many = milliseconds_a_node(many_nodes)
    progress(f"{many_nodes} nodes: {many:.2f} ms a node")
    what = f"scheduling a node of {FEW}, in processor time"
    grows = f"the same of {many_nodes:,}"
    return [
        at_most(what, "one millisecond", few, AIM_MS, f"{few:.2f} ms"),
        at_most(grows, f"of {FEW:,}", many / few, 1.5, f"{many:.2f} and {few:.2f} ms"),
        *_carried_out(options),
        *(_beside(peer, options) for peer in PEERS),
    ]


def _carried_out(options: Options) -> list[Figure]:
    """Return what a node costs the coordinator of a plan that processes carry out."""
    large = options.count(LARGE, 2 * SMALL)
    with model_service() as service:
        small, pace = _run_of(SMALL, options, service)
        many, _ = _run_of(large, options, service)
    progress(f"carried out: {small:.2f} ms a node of {SMALL}, {many:.2f} of {large}")
    what = f"coordinator of a plan of {SMALL}, carried out by {WORKERS} workers: processor time"
    seen = f"{small:.2f} ms; {pace:.1f} nodes a second"
    return [
        at_most(f"{what} a node", "two milliseconds", small / AIM_MS, 1.0, seen),
        at_most(
            f"the same of {large}",
            f"of {SMALL}",
            many / small,
            1.5,
            f"{many:.2f} and {small:.2f} ms",
        ),
    ]


def _run_of(nodes: int, options: Options, service: ModelService) -> tuple[float, float]:
    """Return the coordinator's milliseconds a node of a plan, and nodes a second."""
    rows = [
        {"id": name, "task": "Do it.", "mode": "single_inference", "deps": needed}
        for name, needed in layers(nodes)
    ]
    request = CreateAgentRequest(
        goal="Carry out the plan.", model="anthropic/fake", plan=json.dumps({"nodes": rows})
    )
    with options.product.home(service.environ, SETTINGS) as home:
        began = time.monotonic()
        agent = AgentId(home.client.create_agent(request).id)
        record = home.files(agent).record

        def status() -> str:
            found = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
            return str(found.get("status")) if found.get("status") in ENDED_AGENT else ""

        how = wait_until(status, f"the end of a plan of {nodes}", 0.1, RUN_SECONDS)
        took = time.monotonic() - began
        spent = psutil.Process(home.pid(coordinator_address(agent))).cpu_times()
        home.client.stop(agent)
    if how != "completed":
        raise RuntimeError(f"a plan of {nodes} nodes {how}")
    return (spent.user + spent.system) * 1000 / nodes, nodes / took


def _beside(peer: str, options: Options) -> Figure:
    """Return the time of a durable node beside that of a peer, in turn, round after round."""
    name, nodes, within, rounds = PEERS[peer]
    what = f"a node of a plan of {nodes:,}, each step on disk: time"
    if why := missing(peer):
        return not_measured(f"{what}, beside {name}", why)
    pairs = []
    for number in range(options.count(rounds, 1)):
        with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
            began = time.perf_counter()
            milliseconds_a_node(nodes, Path(folder) / "board.jsonl")
            ours = (time.perf_counter() - began) * 1000 / nodes
        try:
            theirs = measured_there("plans_there.py", peer, nodes, within_seconds=within)[0]
            pairs.append((ours, theirs))
        except subprocess.TimeoutExpired as error:
            why = f"it did not end within {error.timeout:.0f} s"
            return not_measured(f"{what}, beside {name}", why)
        progress(f"round {number + 1}: {pairs[-1][0]:.2f} and {pairs[-1][1]:.2f} ms")
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    numbers = [statistics.median(pair[n] for pair in pairs) for n in (0, 1)]
    return at_most(what, name, ratio, 1.0, f"{numbers[0]:.2f} and {numbers[1]:.2f} ms")


def layers(nodes: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return each node with the two that it needs, in layers of WIDE."""
    made: list[tuple[str, tuple[str, ...]]] = []
    for number in range(nodes):
        row, column = divmod(number, WIDE)
        above = [(row - 1) * WIDE + (column + step) % WIDE for step in (0, 1)] if row else []
        made.append((f"n{number}", tuple(f"n{one}" for one in above)))
    return made


def milliseconds_a_node(nodes: int, journal: Path | None = None) -> float:
    """Return the processor time of a plan from its first node to its last end, a node.

    With a journal each step is on disk before the next one.
    """
    made = layers(nodes)
    began = time.process_time()
    board = Deciding(store=BoardStore(journal) if journal else None)
    begin = {"run_id": RunId("r"), "goal": "g", "model": "a/b", "worker_model": "a/b"}
    board.execute(c.StartRun.model_validate({**begin, "max_nodes": nodes}))
    board.execute(*(_node(name, needed) for name, needed in made))
    while board.held:
        node = board.held.pop()
        worker = board.board.nodes[node].assigned_worker
        assert worker is not None
        board.execute(c.StartNode(node, worker, 1))
        board.execute(c.CompleteNode(node, 1, NodeResult(summary="done")))
    spent = time.process_time() - began
    if board.store is not None:
        board.store.close()
    assert all(node.status == "completed" for node in board.board.nodes.values())
    return spent * 1000 / nodes


def _node(name: str, needed: tuple[str, ...]) -> c.CreateNode:
    refs = {one: one for one in needed}
    spec = NodeSpec(task="t", name=name, dependencies=needed, refs=refs)
    return c.CreateNode(f"plan:node:{name}", spec)


@dataclass
class Deciding:
    """A board and its schedule, as the coordinator has them; `held` are nodes with a worker."""

    board: Board = field(default_factory=Board)
    schedule: Schedule = field(default_factory=Schedule)
    held: list[NodeId] = field(default_factory=list)
    store: BoardStore | None = None

    def execute(self, *commands: c.Command) -> None:
        """Carry out commands and all that the board asks for because of them, then sync once."""
        for command in commands:
            self._do(command)
        while actions := self.schedule.plan(self.board, LIMITS, time.time()):
            for action in actions:
                self._do(action)
        if self.store is not None:
            self.store.sync()

    def _do(self, command: c.Command) -> None:
        if self.store is not None:
            happened = self.store.write(command, time.time())
            self.board = self.store.board
        else:
            happened = decide(self.board, command, time.time())
            self.board = fold(happened, self.board)
        for event in happened:
            self.schedule.follow(event)
            if isinstance(event, e.NodeAssigned):
                self.held.append(event.node_id)
