"""Trigger tools: schedule actions for later, repeatedly, or when something happens."""

import json
from typing import Any

from pydantic import Field, field_validator

from agiraph.core.turns import JsonObject
from agiraph.tools.base import NoParams, ToolParams, tool
from agiraph.tools.ports import ToolContext
from agiraph.triggers.records import TriggerType


class ScheduleParams(ToolParams):
    type: TriggerType = Field(description="the kind of trigger")
    config: JsonObject = Field(
        description="by type: {cron, time_zone?} | {delay_seconds} | {at, time_zone?} | "
        "{interval_seconds} | {event_pattern, filter?} | {idle_seconds}; and missed?, name?"
    )
    action: str = Field(
        min_length=1,
        description="the action: a text that you get as a message, or {type, payload} as JSON",
    )

    @field_validator("action", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        """Accept the object itself, which models also write."""
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


class CancelTriggerParams(ToolParams):
    trigger_id: str = Field(min_length=1, description="the trigger, by id or name")


@tool("Schedule an action: at a time, repeatedly, or after an event.", idempotent=True)
async def schedule(context: ToolContext, params: ScheduleParams) -> JsonObject:
    return await context.team.schedule(context.call_id, params.type, params.config, params.action)


@tool("List the triggers.", idempotent=True)
async def list_triggers(context: ToolContext, params: NoParams) -> JsonObject:
    return {"triggers": await context.team.list_triggers()}


@tool("Cancel a trigger.", idempotent=True)
async def cancel_trigger(context: ToolContext, params: CancelTriggerParams) -> JsonObject:
    return await context.team.cancel_trigger(context.call_id, params.trigger_id)
