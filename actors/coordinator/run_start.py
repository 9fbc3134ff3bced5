"""Run start: how a run begins on the board (terms, plan, goal), and the upkeep of memory then.

The coordinator is asked to put its agent's memory in order at the beginning of a run or a cycle,
if the memory has outgrown its bounds, and at no other time: a quiet board makes no model call.
"""

from actors.coordinator.board_service import BoardService
from actors.entity.args import CoordinatorArgs
from actors.runtime.runtime import Runtime
from agiraph.agent.node_limits import contract_of
from agiraph.agent.prompts import goal_turn, render
from agiraph.agent.transcript import Transcript
from agiraph.board import commands as c
from agiraph.board.plans.plan import Plan, parse_plan, plan_commands
from agiraph.core.config import Config
from agiraph.core.errors import Refused
from agiraph.core.ids import COORDINATOR_NAME, AgentId, RunId, new_epoch
from agiraph.core.models import Event
from agiraph.memory.loading import maintenance_reasons, old_logs
from agiraph.storage.home import AgentHome

LOGS_NAMED = 40


def start_run(board_service: BoardService, args: CoordinatorArgs, config: Config) -> None:
    """Begin the run on the board, unless it has been begun before."""
    if board_service.board.run is not None:
        return
    agent, settings = args.agent, config.run
    plan = _plan_of(args.plan)
    board_service.execute(
        c.StartRun(
            run_id=args.run,
            goal=agent.goal,
            model=agent.model,
            worker_model=agent.worker_model,
            mode=agent.mode,
            max_nodes=settings.max_nodes,
            max_workers=settings.max_workers,
            max_depth=settings.max_depth,
            max_stages=plan.max_stages if plan else None,
            may_reconvene=plan.may_reconvene if plan else True,
            contract=contract_of(settings),
            epoch=new_epoch(),
        )
    )


def _plan_of(text: str | None) -> Plan | None:
    """Return the plan that was given with the goal; None if there is none or it cannot be read."""
    try:
        return parse_plan(text) if text is not None else None
    except Refused:
        return None  # `fill_board` tells why


def fill_board(board_service: BoardService, plan: str | None) -> str | None:
    """Put a plan that was given with the goal on the board; what is there already stays.

    Returns why it cannot be followed, None if it can or if there is none.
    """
    if plan is None or not board_service.board.is_running:
        return None
    try:
        for command in plan_commands(parse_plan(plan)):
            board_service.execute(command)
    except Refused as error:
        return f"the plan cannot be followed: {error}"
    return None


def task_of(transcript: Transcript, args: CoordinatorArgs) -> str:
    """Return the goal of this run as the model was given it."""
    if transcript.began is not None:
        return transcript.began.content
    agent = args.agent
    return goal_turn(agent.goal, agent.input_dir, has_plan=args.plan is not None)


def upkeep_turn(
    runtime: Runtime, home: AgentHome, agent: AgentId, run: RunId, cycle: int = 1
) -> str:
    """Return what the mind is told if the memory needs it, and report that; "" if it does not."""
    bounds = runtime.config.memory
    reasons = maintenance_reasons(home, bounds)
    if not reasons:
        return ""
    runtime.report(
        Event(
            type="memory.upkeep",
            agent_id=agent,
            ts=runtime.clock.now(),
            entity=COORDINATOR_NAME,
            run_id=run,
            data={"reasons": reasons},
            key=f"{runtime.address}:memory.upkeep:{run}.{cycle}",
        )
    )
    logs = old_logs(home)[:LOGS_NAMED]
    return render("upkeep", reasons=reasons, logs=logs, turns=bounds.upkeep_turns)
