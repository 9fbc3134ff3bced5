"""Endpoints: an agent's triggers, which the clock keeps."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from actors.human.gateway import Gateway
from actors.human.line import ask_for
from actors.human.routes.asking import Door, Named
from agiraph.api import NewTrigger, TriggerView
from agiraph.ids import CLOCK, HUMAN_NAME
from agiraph.messages import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerState,
    TriggerTable,
)
from agiraph.models import Agent
from agiraph.triggers.records import TriggerAct

router = APIRouter()

ANSWER_SECONDS = 10.0
UNPROCESSABLE = 422
CONFLICT = 409


@router.get("/agents/{agent}/triggers")
async def triggers(agent: Named, door: Door) -> list[TriggerView]:
    """List the triggers."""
    question = ListTriggers(agent=agent.id)
    table = await ask_for(door.line, CLOCK, question, TriggerTable, within_seconds=ANSWER_SECONDS)
    return [TriggerView.model_validate(row) for row in table.triggers]


@router.post("/agents/{agent}/triggers", status_code=201)
async def create(agent: Named, body: NewTrigger, door: Door) -> TriggerView:
    """Make a trigger."""
    wanted = CreateTrigger(
        agent=agent.id,
        type=body.type,
        config=body.config,
        action=body.action,
        name=body.name,
        created_by=HUMAN_NAME,
    )
    return await _ask(door, wanted, UNPROCESSABLE)


@router.delete("/agents/{agent}/triggers/{trigger}")
async def cancel(agent: Named, trigger: str, door: Door) -> TriggerView:
    """Cancel a trigger."""
    return await _change(door, agent, trigger, "cancel")


@router.post("/agents/{agent}/triggers/{trigger}/{act}")
async def act_on(
    agent: Named, trigger: str, act: Literal["pause", "resume", "fire"], door: Door
) -> TriggerView:
    """Pause, resume or fire a trigger now."""
    return await _change(door, agent, trigger, act)


async def _change(door: Gateway, agent: Agent, trigger: str, act: TriggerAct) -> TriggerView:
    order = ChangeTrigger(agent=agent.id, trigger_id=trigger, act=act)
    return await _ask(door, order, CONFLICT)


async def _ask(door: Gateway, body: BaseModel, refused: int) -> TriggerView:
    state = await ask_for(
        door.line, CLOCK, body, TriggerState, within_seconds=ANSWER_SECONDS, refused=refused
    )
    return TriggerView.model_validate(state.trigger)
