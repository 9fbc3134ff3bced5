"""What a plan costs beside its work: filling the board and deciding, on a board alone.

A plan of layers, each node after two of the layer before, is carried out by workers that take no
time. Measured is the processor time of the process that decides, a node, without journal; a plan
of more nodes shows whether it grows with the number of them.
"""

import time
from dataclasses import dataclass, field

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, fold
from agiraph.board.decide import decide
from agiraph.board.scheduler import Schedule, SchedulingLimits
from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_most

FEW, MANY = 1_000, 10_000
WIDE = 50
LIMITS = SchedulingLimits(8)
AIM_MS = 2.0


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
    ]


def layers(nodes: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return each node with the two that it needs, in layers of WIDE."""
    made: list[tuple[str, tuple[str, ...]]] = []
    for number in range(nodes):
        row, column = divmod(number, WIDE)
        above = [(row - 1) * WIDE + (column + step) % WIDE for step in (0, 1)] if row else []
        made.append((f"n{number}", tuple(f"n{one}" for one in above)))
    return made


def milliseconds_a_node(nodes: int) -> float:
    """Return the processor time of a plan from its first node to its last end, a node."""
    made = layers(nodes)
    began = time.process_time()
    board = Deciding()
    begin = {"run_id": RunId("r"), "goal": "g", "model": "a/b", "worker_model": "a/b"}
    board.execute(c.StartRun.model_validate({**begin, "max_nodes": nodes}))
    for name, needed in made:
        refs = {one: one for one in needed}
        spec = NodeSpec(task="t", name=name, dependencies=needed, refs=refs)
        board.execute(c.CreateNode(f"plan:node:{name}", spec))
    while board.held:
        node = board.held.pop()
        worker = board.board.nodes[node].assigned_worker
        assert worker is not None
        board.execute(c.StartNode(node, worker, 1))
        board.execute(c.CompleteNode(node, 1, NodeResult(summary="done")))
    spent = time.process_time() - began
    assert all(node.status == "completed" for node in board.board.nodes.values())
    return spent * 1000 / nodes


@dataclass
class Deciding:
    """A board and its schedule, as the coordinator has them; `held` are nodes with a worker."""

    board: Board = field(default_factory=Board)
    schedule: Schedule = field(default_factory=Schedule)
    held: list[NodeId] = field(default_factory=list)

    def execute(self, command: c.Command) -> None:
        """Carry out a command and all that the board asks for because of it."""
        self._do(command)
        while actions := self.schedule.plan(self.board, LIMITS, time.time()):
            for action in actions:
                self._do(action)

    def _do(self, command: c.Command) -> None:
        happened = decide(self.board, command, time.time())
        self.board = fold(happened, self.board)
        for event in happened:
            self.schedule.follow(event)
            if isinstance(event, e.NodeAssigned):
                self.held.append(event.node_id)
