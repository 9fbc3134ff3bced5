"""Endpoints for an agent's triggers, which the scheduler stores."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, CauseDep, GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.board.names import find_node
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import CLOCK, HUMAN_NAME
from agiraph.core.models import Agent
from agiraph.http.api import ApiError, CreateTriggerRequest, TriggerPlanView, TriggerView
from agiraph.http.errors import CONFLICT, TOO_LATE, UNPROCESSABLE
from agiraph.inbox.bus import ANSWER_SECONDS
from agiraph.messages.trigger import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerState,
    TriggerTable,
)
from agiraph.triggers.records import TriggerAct, trigger_id

router = APIRouter(route_class=StrictRoute, tags=["triggers"])

AGAIN_SECONDS = 2.0
TIMES_SHOWN = 5


@router.get("/agents/{agent}/triggers", dependencies=[READ])
async def triggers(agent: AgentDep, gateway: GatewayDep) -> list[TriggerView]:
    """List the triggers, oldest first; of ended triggers only the last."""
    return await _table(gateway, agent)


@router.post("/agents/{agent}/triggers", dependencies=[CONTROL], status_code=201)
async def create(
    agent: AgentDep, body: CreateTriggerRequest, gateway: GatewayDep, cause: CauseDep
) -> TriggerView:
    """Create a trigger."""
    _check_node(gateway, agent, body.action)
    wanted = CreateTrigger(**dict(body), agent=agent.id, created_by=HUMAN_NAME)
    id = cause.message("trigger")
    return await _ask(gateway, agent, wanted, UNPROCESSABLE, cause, id, trigger_id(id))


@router.post("/agents/{agent}/triggers/check", dependencies=[READ])
async def check(
    agent: AgentDep, body: CreateTriggerRequest, gateway: GatewayDep
) -> TriggerPlanView:
    """Show when a trigger would fire, without creating it; 422 describes its problems."""
    from agiraph.triggers.due import first_times  # these walk calendars; rarely needed
    from agiraph.triggers.parsing import parse_trigger
    from agiraph.triggers.timetable import machine_zone

    _check_node(gateway, agent, body.action)
    now, config = gateway.clock.now(), gateway.config
    try:
        spec = parse_trigger(
            body.type,
            body.config,
            body.action,
            now=now,
            time_zone=config.triggers.time_zone or machine_zone(),
            callbacks=tuple(config.callbacks),
            name=body.name,
        )
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    return TriggerPlanView(
        name=spec.name,
        type=body.type,
        config=spec.schedule.model_dump(mode="json", exclude={"type"}),
        action=spec.action.model_dump(mode="json"),
        times=first_times(spec.schedule, now, TIMES_SHOWN),
    )


@router.delete("/agents/{agent}/triggers/{trigger}", dependencies=[CONTROL])
async def cancel(
    agent: AgentDep, trigger: str, gateway: GatewayDep, cause: CauseDep
) -> TriggerView:
    """Cancel a trigger."""
    return await _change(gateway, agent, trigger, "cancel", cause)


@router.post("/agents/{agent}/triggers/{trigger}/{act}", dependencies=[CONTROL])
async def act_on(
    agent: AgentDep,
    trigger: str,
    act: Literal["pause", "resume", "fire"],
    gateway: GatewayDep,
    cause: CauseDep,
) -> TriggerView:
    """Pause, resume or fire a trigger now."""
    return await _change(gateway, agent, trigger, act, cause)


def _check_node(gateway: Gateway, agent: Agent, action: object) -> None:
    """Raise ApiError 422 if an action names a node that the agent's current run does not have."""
    match action:
        case {"type": "run_node", "payload": {"node_id": str(named)}}:
            try:
                find_node(gateway.boards.get(gateway.agents.run_of(agent)), named)
            except InvalidInput as error:
                raise ApiError(UNPROCESSABLE, str(error)) from None
        case _:
            pass  # the scheduler checks it


async def _change(
    gateway: Gateway, agent: Agent, trigger: str, act: TriggerAct, cause: CallCause
) -> TriggerView:
    order = ChangeTrigger(agent=agent.id, trigger_id=trigger, act=act)
    try:
        return await _ask(gateway, agent, order, CONFLICT, cause, cause.message(act), trigger)
    except ApiError as error:
        if error.status == UNPROCESSABLE:
            raise ApiError(404, error.detail) from None  # the agent has no such trigger
        raise


async def _table(gateway: Gateway, agent: Agent) -> list[TriggerView]:
    question = ListTriggers(agent=agent.id)
    table = await gateway.bus.ask(CLOCK, question, TriggerTable)
    return [TriggerView.model_validate(row) for row in table.triggers]


async def _ask(
    gateway: Gateway,
    agent: Agent,
    body: BaseModel,
    refused: int,
    cause: CallCause,
    id: bytes,
    named: str,
) -> TriggerView:
    """Send a request to the scheduler, with an id by which it recognizes a repetition.

    If the gateway died after the router had accepted the request, the scheduler's answer went to an
    incarnation that is gone and is not repeated: its result is read from the list of triggers.
    """
    within = AGAIN_SECONDS if cause.is_again else ANSWER_SECONDS
    try:
        state = await gateway.bus.ask(
            CLOCK, body, TriggerState, within_seconds=within, refused=refused, id=id
        )
    except ApiError as error:
        if not cause.is_again or error.status != TOO_LATE:
            raise
        found = [t for t in await _table(gateway, agent) if named in (t.id, t.name)]
        if not found:
            raise
        return found[-1]
    return TriggerView.model_validate(state.trigger)
