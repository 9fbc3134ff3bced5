"""TriggerClient: the triggers of an agent as its entities' tools see them, by asking the clock."""

from typing import Any

from pydantic import BaseModel

from actors.entity.messenger import EntityContext
from actors.runtime.ask_again import ask_until_answered
from agiraph.core.clock import iso
from agiraph.core.ids import CLOCK, COORDINATOR_NAME, derived_message_id
from agiraph.core.turns import JsonObject
from agiraph.messages import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerState,
    TriggerTable,
)
from agiraph.tools.ports import Team

GOING_ON = ("active", "paused")
TIMES = ("next_due", "last_fired_at")


class TriggerClient(Team):
    """What one entity may ask of the clock."""

    def __init__(self, entity_context: EntityContext) -> None:
        """Ask for this entity."""
        self._entity = entity_context

    async def schedule(
        self, call_id: str, type_: str, config: JsonObject, action: Any
    ) -> JsonObject:
        """Make a trigger. A worker's plain text comes back to the worker, not to its coordinator.

        Raises Refused.
        """
        name = self._entity.name
        if isinstance(action, str) and name != COORDINATOR_NAME and not action.startswith("{"):
            action = {"type": "send_message", "payload": {"to": name, "content": action}}
        agent = self._entity.agent
        body = CreateTrigger(agent=agent, type=type_, config=config, action=action, created_by=name)
        return _short(await self._ask_clock(call_id, body))

    async def list_triggers(self) -> list[JsonObject]:
        """Return the triggers that go on."""
        body = ListTriggers(agent=self._entity.agent)
        received = await ask_until_answered(self._entity.runtime, CLOCK, body)
        assert isinstance(received.body, TriggerTable)
        return [_whole(row) for row in received.body.triggers if row["status"] in GOING_ON]

    async def cancel_trigger(self, call_id: str, named: str) -> JsonObject:
        """Cancel a trigger. Raises Refused."""
        body = ChangeTrigger(agent=self._entity.agent, trigger_id=named, act="cancel")
        state = await self._ask_clock(call_id, body)
        return {"trigger_id": state["id"], "status": state["status"]}

    async def _ask_clock(self, call_id: str, body: BaseModel) -> JsonObject:
        """Ask durably; the reply is done with when the call's result is recorded."""
        runtime = self._entity.runtime
        id = derived_message_id(runtime.address, call_id)
        received = await ask_until_answered(runtime, CLOCK, body, id=id)
        self._entity.conversation.when_recorded(lambda: runtime.done(received))
        assert isinstance(received.body, TriggerState)
        return received.body.trigger


def _short(row: JsonObject) -> JsonObject:
    shown = _whole(row)
    return {"trigger_id": row["id"], **{k: shown[k] for k in ("name", "type", "status")}} | {
        "next_due": shown["next_due"]
    }


def _whole(row: JsonObject) -> JsonObject:
    """Return a trigger as a model reads it: times as text, and what it needs to know only."""
    keys = ("id", "name", "type", "config", "action", "status", "reason", "fired", *TIMES)
    return {key: _shown(key, row[key]) for key in keys if row[key] != ""}


def _shown(key: str, value: Any) -> Any:
    return iso(value) if key in TIMES and isinstance(value, int | float) else value
