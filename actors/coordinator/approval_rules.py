"""Approval rules: what else a coordinator's call is: the first node of a stage starts
that stage."""

from typing import Protocol

from actors.coordinator.board_service import BoardService
from actors.coordinator.coordinator_tools import CoordinatorToolsContext
from actors.entity.approval_gate import ApprovalGate
from actors.entity.args import CoordinatorArgs
from actors.entity.messenger import Messenger
from agiraph.agent.loop import PauseSwitch
from agiraph.agent.transcript import OpenCall
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import ProposedAction
from agiraph.tools.approvals.policy import STAGE, ActingEntity
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.table import tool_names

OPENS_A_STAGE = ("launch_roles", "create_work_node", "create_stage_node")


class CoordinatorApprovalContext(CoordinatorToolsContext, Protocol):
    """The coordinator, as far as the rules look at it."""

    args: CoordinatorArgs


def coordinator_approval_gate(
    coordinator: CoordinatorApprovalContext,
    board_service: BoardService,
    messenger: Messenger,
    gate: PauseSwitch,
) -> ApprovalGate:
    """Return what asks for a coordinator's actions."""
    args, home = coordinator.args, coordinator.runtime.home

    def who() -> ActingEntity:
        is_sandboxed = find_sandbox(coordinator.runtime.config.sandbox).is_up
        folders = [str(home.agent(coordinator.agent).path)]
        folders += [args.agent.input_dir] if args.agent.input_dir else []
        return ActingEntity(COORDINATOR_NAME, COORDINATOR_NAME, tuple(folders), is_sandboxed)

    def further(opened: OpenCall) -> list[ProposedAction]:
        call, board = opened.call, board_service.board
        if call.name not in OPENS_A_STAGE or board.open_stage is not None:
            return []
        named = call.arguments.get("stage_name") or call.arguments.get("stage")
        if isinstance(named, dict):
            named = named.get("name")
        shown = named if isinstance(named, str) else f"Stage {len(board.stages) + 1}"
        return [ProposedAction(tool=STAGE, subject=shown)]

    return ApprovalGate(
        entity_context=coordinator,
        messenger=messenger,
        gate=gate,
        run=args.run,
        who=who,
        waiting=coordinator.waiting_for_human,
        policies=ApprovalPolicyFile(home.path, tool_names()),
        spent=set(),
        stages={},
        further=further,
    )
