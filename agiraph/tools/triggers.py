"""Trigger tools: have something done later, repeatedly, or when something happens."""

import json
from typing import Any

from pydantic import Field, field_validator

from agiraph.core.turns import JsonObject
from agiraph.tools.base import NoParams, Tool, ToolParams, as_json
from agiraph.tools.ports import ToolContext
from agiraph.triggers.records import TriggerType


class ScheduleParams(ToolParams):
    """Parameters of `schedule`."""

    type: TriggerType = Field(description="what the trigger waits for")
    config: JsonObject = Field(
        description="by type: {cron, time_zone?} | {delay_seconds} | {at, time_zone?} | "
        "{interval_seconds} | {event_pattern, filter?} | {idle_seconds}; and missed?, name?"
    )
    action: str = Field(
        min_length=1,
        description="what to do then: a text that you get as a message, or {type, payload} as JSON",
    )

    @field_validator("action", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Accept the object itself, which models write too."""
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


class CancelTriggerParams(ToolParams):
    """Parameters of `cancel_trigger`."""

    trigger_id: str = Field(min_length=1, description="the trigger, by id or name")


async def schedule(context: ToolContext, params: ScheduleParams) -> str:
    """Create a trigger; return {"trigger_id", "name", "type", "status", "next_due"}."""
    made = await context.team.schedule(context.call_id, params.type, params.config, params.action)
    return as_json(made)


async def list_triggers(context: ToolContext, params: NoParams) -> str:
    """Return {"triggers": [...]}, those that have not ended."""
    return as_json({"triggers": await context.team.list_triggers()})


async def cancel_trigger(context: ToolContext, params: CancelTriggerParams) -> str:
    """Cancel a trigger; return {"trigger_id", "status"}."""
    return as_json(await context.team.cancel_trigger(context.call_id, params.trigger_id))


SCHEDULE = Tool(
    name="schedule",
    description="Have something done later: at a time, repeatedly, or when something happens.",
    params=ScheduleParams,
    run=schedule,
    idempotent=True,
)
LIST_TRIGGERS = Tool(
    name="list_triggers",
    description="List the triggers, with the time when each is due next.",
    params=NoParams,
    run=list_triggers,
    idempotent=True,
)
CANCEL_TRIGGER = Tool(
    name="cancel_trigger",
    description="Cancel a trigger.",
    params=CancelTriggerParams,
    run=cancel_trigger,
    idempotent=True,
)
