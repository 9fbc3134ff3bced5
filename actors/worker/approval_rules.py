"""Approval rules: which folders are a worker's own, for the rules that look at that."""

from contextlib import nullcontext
from typing import Protocol

from actors.entity.approval_gate import ApprovalGate
from actors.entity.args import WorkerArgs
from actors.entity.messenger import EntityContext, Messenger
from agiraph.agent.loop import PauseSwitch
from agiraph.core.models import WorkNode
from agiraph.storage.home import NodeHome, RunHome
from agiraph.tools.approvals.policy import ActingEntity
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.table import tool_names


class WorkerApprovalContext(EntityContext, Protocol):
    """The worker, as far as the rules look at it."""

    args: WorkerArgs
    run_home: RunHome

    def node_home(self, node: WorkNode) -> NodeHome:
        """Return the folder of truth of a node."""
        ...


def worker_approval_gate(
    worker: WorkerApprovalContext, messenger: Messenger, gate: PauseSwitch
) -> ApprovalGate:
    """Return what asks for a worker's actions."""

    def who() -> ActingEntity:
        is_sandboxed = find_sandbox(worker.runtime.config.sandbox).is_up
        assignment, input_dir = worker.transcript.assignment, worker.args.input_dir
        folders = [str(worker.run_home.worker(worker.args.worker.id).path)]
        folders += [input_dir] if input_dir else []
        folders += [str(worker.node_home(assignment.node).path)] if assignment else []
        return ActingEntity(worker.name, worker.args.worker.role, tuple(folders), is_sandboxed)

    return ApprovalGate(
        entity_context=worker,
        messenger=messenger,
        gate=gate,
        run=worker.args.run,
        who=who,
        waiting=nullcontext,
        policies=ApprovalPolicyFile(worker.runtime.home.path, tool_names()),
        spent=set(),
        stages={},
    )
