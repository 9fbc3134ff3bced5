"""Calls about an agent's triggers."""

from typing import Literal

from agiraph.api import NewTrigger, TriggerView
from agiraph.client.call import Call, Verb, delete, get, of_agent, post


class TriggerCalls:
    """What makes an agent act by itself."""

    @Verb
    def triggers(self, agent: str) -> Call[list[TriggerView]]:
        """Return an agent's triggers, oldest first; of those that have ended the last ones."""
        return get(of_agent(agent, "triggers"), list[TriggerView])

    @Verb
    def add_trigger(
        self, agent: str, trigger: NewTrigger, *, key: str | None = None
    ) -> Call[TriggerView]:
        """Make a trigger; 422 with the reason if it cannot be made like that."""
        return post(of_agent(agent, "triggers"), trigger, TriggerView, key=key)

    @Verb
    def cancel_trigger(self, agent: str, trigger: str) -> Call[TriggerView]:
        """Cancel a trigger, by id or name."""
        return delete(of_agent(agent, "triggers", trigger), TriggerView)

    @Verb
    def act_on_trigger(
        self, agent: str, trigger: str, act: Literal["pause", "resume", "fire"]
    ) -> Call[TriggerView]:
        """Pause, resume or fire a trigger now, by id or name; 409 if it has ended."""
        return post(of_agent(agent, "triggers", trigger, act), None, TriggerView)
