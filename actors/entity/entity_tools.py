"""EntityTools: tools that coordinators and workers share: messages, triggers, memory for other
runs.
"""

from typing import Any

from pydantic import BaseModel

from actors.entity.context import EntityContext
from actors.entity.messenger import Messenger
from actors.runtime.ask_again import ask_for, ask_until_answered, checked
from agiraph.core.clock import iso
from agiraph.core.ids import CLOCK, COORDINATOR_NAME, EVERYBODY, HUMAN
from agiraph.core.models import DeliveryMode
from agiraph.core.turns import JsonObject
from agiraph.knowledge.remembered import RememberedSpec
from agiraph.messages.knowledge import RememberThis
from agiraph.messages.trigger import (
    ChangeTrigger,
    CreateTrigger,
    ListTriggers,
    TriggerState,
    TriggerTable,
)
from agiraph.tools.ports import NewQuestion, Team
from agiraph.triggers.parsing import action_of_worker

GOING_ON = ("active", "paused")
TIMES = ("next_due", "last_fired_at")


class EntityTools(Team):
    """Carries out one entity's tool calls on its team, its triggers and the knowledge."""

    def __init__(self, context: EntityContext, messenger: Messenger) -> None:
        self.context = context
        self.messenger = messenger

    async def send_message(
        self, call_id: str, to: str, content: str, mode: DeliveryMode
    ) -> tuple[str, ...]:
        receivers = await self.messenger.send_message(call_id, to, content, mode)
        if to.strip().lstrip("@") != EVERYBODY:
            return receivers
        board = await self.view_board()
        states = {worker["name"]: worker["status"] for worker in board["workers"]}
        return tuple(f"{name} ({states[name]})" if name in states else name for name in receivers)

    async def check_messages(self, call_id: str) -> list[str]:
        return self.messenger.check_messages()

    async def ask_human(self, call_id: str, question: NewQuestion) -> str:
        return await self.messenger.ask_human(call_id, question)

    async def remember(self, call_id: str, what: RememberedSpec) -> None:
        context = self.context
        body = RememberThis(
            agent=context.agent,
            run=context.run,
            input_dir=context.spec.input,
            by=context.name,
            what=what,
        )
        await context.send(HUMAN, body, context.message_id(call_id))

    async def schedule(
        self, call_id: str, type_: str, config: JsonObject, action: Any
    ) -> JsonObject:
        """Create a trigger and return it; a plain text as action is a message to its creator.

        Raises Refused.
        """
        name = self.context.name
        if name != COORDINATOR_NAME:
            action = action_of_worker(action, name)
        agent = self.context.agent
        body = CreateTrigger(agent=agent, type=type_, config=config, action=action, created_by=name)
        return _summary(await self._ask_scheduler(call_id, body))

    async def list_triggers(self) -> list[JsonObject]:
        body = ListTriggers(agent=self.context.agent)
        table = await ask_for(self.context.runtime, CLOCK, body, TriggerTable)
        return [_row(row) for row in table.triggers if row["status"] in GOING_ON]

    async def cancel_trigger(self, call_id: str, named: str) -> JsonObject:
        body = ChangeTrigger(agent=self.context.agent, trigger_id=named, act="cancel")
        state = await self._ask_scheduler(call_id, body)
        return {"trigger_id": state["id"], "status": state["status"]}

    async def _ask_scheduler(self, call_id: str, body: BaseModel) -> JsonObject:
        """Return the scheduler's reply to a durable request for the tool call `call_id`."""
        runtime = self.context.runtime
        message = self.context.message_id(call_id)
        received = await ask_until_answered(runtime, CLOCK, body, id=message)
        self.context.conversation.when_recorded(lambda: runtime.done(received))
        return checked(received, TriggerState).trigger


def _summary(row: JsonObject) -> JsonObject:
    shown = _row(row)
    keys = ("name", "type", "status", "next_due")
    return {"trigger_id": row["id"], **{key: shown[key] for key in keys}}


def _row(row: JsonObject) -> JsonObject:
    """Return the fields of a trigger that a model needs, with times as text."""
    keys = ("id", "name", "type", "config", "action", "status", "reason", "fired", *TIMES)
    return {key: _shown(key, row[key]) for key in keys if row[key] != ""}


def _shown(key: str, value: Any) -> Any:
    return iso(value) if key in TIMES and isinstance(value, int | float) else value
