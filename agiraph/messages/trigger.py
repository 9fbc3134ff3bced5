"""Trigger: what wakes an agent, asked of the clock, and its firings."""

from typing import Any

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.turns import JsonObject
from agiraph.messages.body import Body
from agiraph.triggers.records import TriggerAct


class CreateTrigger(Body):
    """Make a trigger of this agent. To the clock; answered by `trigger.state`.

    `action` is text or an object. The same message makes the same trigger.
    """

    TYPE = "trigger.create"
    DURABLE = True
    agent: AgentId
    type: str
    config: JsonObject = Field(default_factory=dict)
    action: Any
    name: str = ""
    created_by: str = ""


class ChangeTrigger(Body):
    """Pause, resume, cancel or fire a trigger. To the clock; answered by `trigger.state`."""

    TYPE = "trigger.change"
    DURABLE = True
    agent: AgentId
    trigger_id: str
    act: TriggerAct
    reason: str = ""


class TriggerState(Body):
    """A trigger as it stands now. Clock to the one who asked."""

    TYPE = "trigger.state"
    DURABLE = True
    trigger: JsonObject


class ListTriggers(Body):
    """Which triggers has this agent? To the clock; answered by `trigger.table`."""

    TYPE = "trigger.list"
    agent: AgentId


class TriggerTable(Body):
    """An agent's triggers, oldest first. Clock to the one who asked."""

    TYPE = "trigger.table"
    triggers: tuple[JsonObject, ...]


class TriggerFired(Body):
    """A trigger fired: do what its action says. Clock to the agent's coordinator.

    `lineage` are the triggers that led to it, `about` what set it off, `missed` how many due times
    it stands for besides its own.
    """

    TYPE = "trigger.fired"
    DURABLE = True
    agent: AgentId
    trigger_id: str
    firing: str
    name: str
    action: str
    payload: JsonObject = Field(default_factory=dict)
    due: float
    missed: int = 0
    lineage: tuple[str, ...] = ()
    about: str = ""


class TriggerFailed(Body):
    """What a firing asked for cannot be done until somebody mends it. Coordinator to the clock."""

    TYPE = "trigger.failed"
    DURABLE = True
    agent: AgentId
    trigger_id: str
    reason: str
