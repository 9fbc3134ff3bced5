"""Approving: what else a coordinator's call is: the first node of a stage starts that stage."""

from typing import Protocol

from actors.coordinator.lead import Leader
from actors.coordinator.office import Office
from actors.entity.args import CoordinatorArgs
from actors.entity.clearance import Clearance, tool_names
from actors.entity.talk import Talk
from agiraph.agent.loop import Gate
from agiraph.agent.transcript import OpenCall
from agiraph.approvals.policy import STAGE, Who
from agiraph.approvals.reading import Policies
from agiraph.ids import COORDINATOR_NAME
from agiraph.models import Deed
from agiraph.sandbox.wall import standing_wall

OPENS_A_STAGE = ("launch_roles", "create_work_node", "create_stage_node")


class Approved(Leader, Protocol):
    """The coordinator, as far as the rules look at it."""

    args: CoordinatorArgs


def lead_clearance(coordinator: Approved, office: Office, talk: Talk, gate: Gate) -> Clearance:
    """Return what asks for a coordinator's actions."""
    args, home = coordinator.args, coordinator.runtime.home

    def who() -> Who:
        is_sandboxed = standing_wall(coordinator.runtime.config.sandbox).is_up
        folders = [str(home.agent(coordinator.agent).path)]
        folders += [args.agent.input_dir] if args.agent.input_dir else []
        return Who(COORDINATOR_NAME, COORDINATOR_NAME, tuple(folders), is_sandboxed)

    def further(opened: OpenCall) -> list[Deed]:
        call, board = opened.call, office.board
        if call.name not in OPENS_A_STAGE or board.open_stage is not None:
            return []
        named = call.arguments.get("stage_name") or call.arguments.get("stage")
        if isinstance(named, dict):
            named = named.get("name")
        shown = named if isinstance(named, str) else f"Stage {len(board.stages) + 1}"
        return [Deed(tool=STAGE, subject=shown)]

    return Clearance(
        speaker=coordinator,
        talk=talk,
        gate=gate,
        run=args.run,
        who=who,
        waiting=coordinator.waiting_for_human,
        policies=Policies(home.path, tool_names()),
        spent=set(),
        stages={},
        further=further,
    )
