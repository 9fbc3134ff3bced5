"""Actions on running entities: pause, single step, interruption, and their preconditions."""

from collections.abc import Sequence

from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.entities import AT_WORK, entity_names
from agiraph.api.routes.messages import INTERRUPTION, send_texts
from agiraph.core.ids import (
    COORDINATOR_NAME,
    Address,
    WorkerId,
    agent_of,
    coordinator_address,
    message_id,
)
from agiraph.core.models import ENDED_AGENT
from agiraph.http.api import ApiError, SteeredEntityView
from agiraph.messages.child import ChildInfo
from agiraph.messages.control import Pause, Step
from agiraph.readmodel.statuses import StatusReader

PAUSED = "paused"
AT_REST = ("idle", "parked")


def check_can_pause(child: ChildInfo, verb: str = "pause") -> None:
    """Raise ApiError 409 unless the process is a coordinator or worker."""
    if child.kind not in ("coordinator", "worker"):
        raise ApiError(409, f"a {child.kind} cannot {verb} (possible: coordinators and workers)")


async def pause_all(gateway: Gateway, targets: Sequence[ChildInfo]) -> list[SteeredEntityView]:
    """Pause working children at their next yield point. Raises ApiError 409 if none works."""
    running = [child for child in targets if child.state in AT_WORK]
    if not running:
        raise ApiError(409, "nothing to pause: no process of it runs")
    for child in running:
        check_can_pause(child)
    statuses = gateway.statuses(running)
    at_work = [child for child in running if not _is_over(gateway, child, statuses)]
    if not at_work:
        over = ", ".join(child.address for child in running)
        raise ApiError(409, f"nothing to pause: the run has ended and {over} does nothing")
    for child in at_work:
        await gateway.bus.send(child.address, Pause(), id=message_id())
    return [SteeredEntityView(address=child.address, state="pausing") for child in at_work]


async def step_all(
    gateway: Gateway, targets: Sequence[ChildInfo], cause: CallCause
) -> list[SteeredEntityView]:
    """Let paused children do one step (an answer or a tool call); return their states.

    Raises ApiError 409 if none is paused. The same `cause` again causes no further step.
    """
    for child in targets:
        check_can_pause(child, "do single steps")
    statuses = gateway.statuses(targets)
    paused = [child for child in targets if _state(statuses, child) == PAUSED or cause.is_again]
    stepping = [child for child in paused if not _is_external(gateway, child)]
    if not stepping:
        raise ApiError(409, _why_no_step(targets, paused, statuses))
    for child in stepping:
        await gateway.bus.send(child.address, Step(), id=cause.message(f"step of {child.address}"))
    return [SteeredEntityView(address=child.address, state="stepping") for child in stepping]


def _why_no_step(
    targets: Sequence[ChildInfo], paused: Sequence[ChildInfo], statuses: StatusReader
) -> str:
    if paused:
        names = ", ".join(child.address for child in paused)
        return (
            f"an external agent takes its steps by itself: {names} cannot do a single one "
            "(possible: resume, pause)"
        )
    states = "; ".join(f"{child.address} is {_state(statuses, child)}" for child in targets)
    return f"nothing to step: nobody is paused ({states}); possible: pause first"


async def interrupt_all(
    gateway: Gateway, targets: Sequence[ChildInfo], cause: CallCause
) -> list[SteeredEntityView]:
    """Interrupt the current step of each child, and send it a message.

    Raises ApiError 409 if none works. Streamed text is kept. A paused child stays paused
    afterwards.
    """
    for child in targets:
        check_can_pause(child, "be interrupted")
    statuses = gateway.statuses(targets)
    at_work = [child for child in targets if _does_something(gateway, child, statuses)]
    if not at_work and cause.is_again:
        at_work = [*targets][:1]  # it worked when this call was made first
    if not at_work:
        states = "; ".join(f"{child.address} is {_state(statuses, child)}" for child in targets)
        raise ApiError(409, f"nothing to interrupt: {states or 'no process of it runs'}")
    names = entity_names(gateway)
    receivers = [
        (
            names[child.address] if child.kind == "worker" else COORDINATOR_NAME,
            Address(child.address),
        )
        for child in at_work
    ]
    agent = gateway.agents.find(agent_of(at_work[0].address) or "")
    await send_texts(gateway, agent, receivers, INTERRUPTION, cause)
    return [SteeredEntityView(address=child.address, state="interrupting") for child in at_work]


def _does_something(gateway: Gateway, child: ChildInfo, statuses: StatusReader) -> bool:
    if child.state not in AT_WORK or _is_over(gateway, child, statuses):
        return False
    return _state(statuses, child) not in AT_REST


def _state(statuses: StatusReader, child: ChildInfo) -> str:
    activity = statuses.activity(child.address)
    return activity.state if activity is not None else child.state


def _is_external(gateway: Gateway, child: ChildInfo) -> bool:
    """Whether the child is a worker of type `autonomous`, with an external agent."""
    agent = gateway.agents.get(agent_of(child.address) or "")
    if agent is None or child.address == coordinator_address(agent.id):
        return False
    board = gateway.boards.get(gateway.agents.run_of(agent))
    worker = board.workers.get(WorkerId(child.address.partition("/")[2]))
    return worker is not None and worker.type == "autonomous"


def _is_over(gateway: Gateway, child: ChildInfo, statuses: StatusReader) -> bool:
    """Whether a child's run has ended, so that the child only waits for messages."""
    agent = gateway.agents.get(agent_of(child.address) or "")
    if agent is None or agent.status not in ENDED_AGENT:
        return False
    activity = statuses.activity(child.address)
    return child.state == "parked" or (activity is not None and activity.state == "idle")
