"""Calls about an agent's triggers."""

from typing import Literal

from agiraph.http.api import CreateTriggerRequest, TriggerView
from agiraph.http.client.call import ApiCall, ApiMethod, delete, get, of_agent, post


class TriggerCalls:
    """What makes an agent act by itself."""

    @ApiMethod
    def triggers(self, agent: str) -> ApiCall[list[TriggerView]]:
        """Return an agent's triggers, oldest first; of those that have ended the last ones."""
        return get(of_agent(agent, "triggers"), list[TriggerView])

    @ApiMethod
    def add_trigger(
        self, agent: str, trigger: CreateTriggerRequest, *, key: str | None = None
    ) -> ApiCall[TriggerView]:
        """Make a trigger; 422 with the reason if it cannot be made like that."""
        return post(of_agent(agent, "triggers"), trigger, TriggerView, key=key)

    @ApiMethod
    def cancel_trigger(self, agent: str, trigger: str) -> ApiCall[TriggerView]:
        """Cancel a trigger, by id or name."""
        return delete(of_agent(agent, "triggers", trigger), TriggerView)

    @ApiMethod
    def act_on_trigger(
        self, agent: str, trigger: str, act: Literal["pause", "resume", "fire"]
    ) -> ApiCall[TriggerView]:
        """Pause, resume or fire a trigger now, by id or name; 409 if it has ended."""
        return post(of_agent(agent, "triggers", trigger, act), None, TriggerView)
