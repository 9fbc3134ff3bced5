"""Run start: how a run begins on the board (terms, plan, goal), and the maintenance of memory then.

At the beginning of a run or a cycle the coordinator is asked to tidy up its agent's memory if the
memory exceeds its limits, and at no other time: a quiet board makes no model call.
"""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.entity.args import CoordinatorArgs
from agiraph.agent.node_limits import contract_of
from agiraph.agent.prompts import (
    PLAN_GIVEN,
    PLAN_HYBRID,
    PLAN_IN_STAGES,
    PLAN_LEADS,
    PLAN_STATIC,
    goal_turn,
    render,
)
from agiraph.agent.run_output import output_notice
from agiraph.agent.transcript import Transcript
from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.board.plans.plan import (
    Plan,
    PlanNode,
    cause_of,
    parse_plan,
    plan_commands,
    stage_names,
)
from agiraph.core.errors import Refused
from agiraph.core.ids import RunId, new_epoch
from agiraph.core.specs import (
    PlanningMode,
    RunSpec,
)
from agiraph.memory.loading import maintenance_reasons, old_logs
from agiraph.settings.config import Config

LOGS_NAMED = 40


def start_run(board_service: BoardService, args: CoordinatorArgs, config: Config) -> None:
    """Begin the run on the board, unless it has begun before."""
    if board_service.board.run is not None:
        return
    agent, settings = args.agent, config.run
    plan = _plan_of(agent.plan)
    # A plan that was given may have managers.
    is_fixed = agent.plan is None and planning_of(agent, config) == "static"
    board_service.execute(
        c.StartRun(
            run_id=args.run,
            goal=agent.goal,
            model=agent.model,
            worker_model=agent.worker_model,
            mode=agent.mode,
            max_nodes=settings.max_nodes,
            max_workers=settings.max_workers,
            max_depth=1 if is_fixed else settings.max_depth,
            is_fixed=is_fixed,
            max_stages=plan.max_stages if plan else None,
            may_reconvene=plan.may_reconvene if plan else True,
            contract=contract_of(settings),
            epoch=new_epoch(),
            roles=agent.roles.spec if agent.roles else None,
        )
    )


def _plan_of(text: str | None) -> Plan | None:
    """Return the plan that was given with the goal; None if there is none or it is invalid."""
    try:
        return parse_plan(text) if text is not None else None
    except Refused:
        return None  # `fill_board` reports the reason


def fill_board(board_service: BoardService, plan: str | None) -> str | None:
    """Put a plan that was given with the goal on the board; nodes already there stay.

    Of a plan in stages this adds the first stage, and the next stage after each closed stage.
    Returns why the plan cannot be followed, None if it can be followed or there is none.
    """
    board = board_service.board
    if plan is None or not board.is_running:
        return None
    closed = sum(stage.status == "completed" for stage in board.stages)
    try:
        board_service.execute(*plan_commands(parse_plan(plan), closed + 1))
    except Refused as error:
        return f"the plan cannot be followed: {error}"
    return None


def has_unopened_stage(board: Board, plan: str | None) -> bool:
    """Whether the plan has a next stage, which opens once the coordinator has reconvened."""
    given = _plan_of(plan)
    if given is None or not given.is_reconvened or board.open_stage is None:
        return False
    return len(board.stages) < len(stage_names(given))


def unopened_nodes(board: Board, plan: str | None) -> tuple[PlanNode, ...]:
    """Return the nodes of the plan that are not on the board."""
    given = _plan_of(plan)
    nodes = given.nodes if given is not None else ()
    return tuple(node for node in nodes if board.node_by_cause(cause_of(node)) is None)


def planning_of(spec: RunSpec, config: Config) -> PlanningMode:
    """Return the planning mode of a run: its own, else that of the settings."""
    return spec.planning or config.run.planning


def terms_notice(spec: RunSpec, config: Config) -> str:
    """Return the text for the model about its plan and about the requested form of the answer."""
    is_led_by_plan = spec.leader == "plan"
    about_plan = PLAN_LEADS if is_led_by_plan else plan_notice(spec.plan, planning_of(spec, config))
    told = (about_plan, output_notice(spec.output_schema))
    return "\n\n".join(filter(None, told))


def plan_notice(plan: str | None, planning: PlanningMode) -> str:
    """Return the text for the model about its plan, "" if it has none."""
    given = _plan_of(plan)
    if given is not None and given.is_reconvened and len(stage_names(given)) > 1:
        return PLAN_IN_STAGES
    if planning == "dynamic":
        return PLAN_GIVEN if plan is not None else ""
    return PLAN_STATIC if planning == "static" else PLAN_HYBRID


def task_of(transcript: Transcript, args: CoordinatorArgs, config: Config) -> str:
    """Return the goal of this run in the form that the model received."""
    if transcript.began is not None:
        return transcript.began.content
    return goal_turn(args.agent.goal, args.agent.input, terms_notice(args.agent, config))


def maintenance_turn(context: CoordinatorContext, run: RunId, cycle: int = 1) -> str:
    """Return the turn that asks the model to shorten its memory, "" if unnecessary.

    Reports the request as an event.
    """
    home, bounds = context.files.home, context.runtime.config.memory
    reasons = maintenance_reasons(home, bounds)
    if not reasons:
        return ""
    context.report("memory.maintenance", {"reasons": reasons}, f"{run}.{cycle}", run_id=run)
    logs = old_logs(home)[:LOGS_NAMED]
    return render("maintenance", reasons=reasons, logs=logs, turns=bounds.maintenance_turns)
