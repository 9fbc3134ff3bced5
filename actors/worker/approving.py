"""Approving: which folders are a worker's own, for the rules that look at that."""

from contextlib import nullcontext
from typing import Protocol

from actors.entity.args import WorkerArgs
from actors.entity.clearance import Clearance, tool_names
from actors.entity.talk import Speaker, Talk
from agiraph.agent.loop import Gate
from agiraph.approvals.policy import Who
from agiraph.approvals.reading import Policies
from agiraph.models import WorkNode
from agiraph.sandbox.wall import standing_wall
from agiraph.storage.home import NodeHome, RunHome


class Holder(Speaker, Protocol):
    """The worker, as far as the rules look at it."""

    args: WorkerArgs
    run_home: RunHome

    def node_home(self, node: WorkNode) -> NodeHome:
        """Return the folder of truth of a node."""
        ...


def worker_clearance(worker: Holder, talk: Talk, gate: Gate) -> Clearance:
    """Return what asks for a worker's actions."""

    def who() -> Who:
        is_sandboxed = standing_wall(worker.runtime.config.sandbox).is_up
        assignment, input_dir = worker.transcript.assignment, worker.args.input_dir
        folders = [str(worker.run_home.worker(worker.args.worker.id).path)]
        folders += [input_dir] if input_dir else []
        folders += [str(worker.node_home(assignment.node).path)] if assignment else []
        return Who(worker.name, worker.args.worker.role, tuple(folders), is_sandboxed)

    return Clearance(
        speaker=worker,
        talk=talk,
        gate=gate,
        run=worker.args.run,
        who=who,
        waiting=nullcontext,
        policies=Policies(worker.runtime.home.path, tool_names()),
        spent=set(),
        stages={},
    )
