"""Trigger: requests to the scheduler, and firings."""

from typing import Any

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.turns import JsonObject
from agiraph.messages.body import MessageBody
from agiraph.triggers.records import FiringDetails, TriggerAct


class CreateTrigger(MessageBody):
    """Create a trigger of this agent. To the scheduler; answered by `trigger.state`.

    `action` is text or an object. A repeated message creates no second trigger: its id is
    derived from the message's.
    """

    TYPE = "trigger.create"
    DURABLE = True
    agent: AgentId
    type: str
    config: JsonObject = Field(default_factory=dict)
    action: Any
    name: str = ""
    created_by: str = ""


class ChangeTrigger(MessageBody):
    """Pause, resume, cancel or fire a trigger. To the scheduler; answered by `trigger.state`.

    A worker may change only triggers that it created.
    """

    TYPE = "trigger.change"
    DURABLE = True
    agent: AgentId
    trigger_id: str
    act: TriggerAct
    reason: str = ""


class TriggerState(MessageBody):
    """A trigger's current state. Scheduler to the requester."""

    TYPE = "trigger.state"
    DURABLE = True
    trigger: JsonObject


class ListTriggers(MessageBody):
    """Request this agent's triggers. To the scheduler; answered by `trigger.table`."""

    TYPE = "trigger.list"
    agent: AgentId


class TriggerTable(MessageBody):
    """An agent's triggers, oldest first. Scheduler to the requester."""

    TYPE = "trigger.table"
    triggers: tuple[JsonObject, ...]


class TriggerFired(FiringDetails, MessageBody):
    """A trigger fired: carry out its action. Scheduler to the agent's coordinator.

    Its message id is derived from the trigger and the occasion.
    """

    TYPE = "trigger.fired"
    DURABLE = True
    agent: AgentId
    firing: str
    action: str
    payload: JsonObject = Field(default_factory=dict)


class TriggerFailed(MessageBody):
    """A firing's action cannot be done until its cause is fixed. Coordinator to scheduler.

    The scheduler pauses the trigger.
    """

    TYPE = "trigger.failed"
    DURABLE = True
    agent: AgentId
    trigger_id: str
    reason: str
