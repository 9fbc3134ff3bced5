"""Calls about agents: their life, their runs, their triggers and their budgets."""

from collections.abc import Sequence
from typing import Literal

from agiraph.core.models import AgentStatus, Mode
from agiraph.core.money import Period
from agiraph.http import api
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    agent_path,
    delete,
    get,
    post,
    repeatable,
    segment,
)


class AgentCalls:
    """Agents, runs, triggers, budgets. An agent is named by its id or its name."""

    @ApiMethod
    def create_agent(
        self, request: api.CreateAgentRequest, *, key: str | None = None
    ) -> ApiCall[api.AgentView]:
        """Create an agent and start it; returns when its coordinator has begun.

        422 for a bad goal, model, budget or input folder; 409 for a name that is taken.
        """
        return post("/agents", api.AgentView, request, timeout_seconds=LONG_SECONDS, key=key)

    @ApiMethod
    def begin_run(
        self, agent: str, request: api.StartRunRequest, *, key: str | None = None
    ) -> ApiCall[api.AgentView]:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is where to follow its events from. 409 while a run is running,
        422 for a bad model, plan or input folder.
        """
        path = agent_path(agent, "runs")
        return post(path, api.AgentView, request, timeout_seconds=LONG_SECONDS, key=key)

    @ApiMethod
    def runs(self, agent: str) -> ApiCall[list[api.RunView]]:
        """Return an agent's runs with what came of each, oldest first."""
        return get(agent_path(agent, "runs"), list[api.RunView])

    @ApiMethod
    def agents(
        self, *, status: Sequence[AgentStatus] = (), mode: Mode | None = None, text: str = ""
    ) -> ApiCall[list[api.AgentView]]:
        """Return all agents, oldest first; or those in a status, in a mode, with a text.

        `text` is looked for in the name and the goal.
        """
        return get("/agents", list[api.AgentView], status=list(status), mode=mode, q=text)

    @ApiMethod
    def agent(self, agent: str) -> ApiCall[api.AgentView]:
        """Return one agent; 404 lists the known ones."""
        return get(agent_path(agent), api.AgentView)

    @ApiMethod
    def archive(self, agent: str) -> ApiCall[api.ArchivedView]:
        """Stop an agent for good and move its folder to `agents/.archive/`; return where it is."""
        return delete(agent_path(agent), api.ArchivedView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def archived(self) -> ApiCall[list[api.AgentView]]:
        """Return the agents in the archive, oldest first."""
        return get("/archive", list[api.AgentView])

    @ApiMethod
    def restore(self, agent: str) -> ApiCall[api.AgentView]:
        """Bring an agent back from the archive; `resume` starts its processes."""
        return post(f"/archive/{segment(agent)}/restore", api.AgentView)

    @ApiMethod
    def delete(self, agent: str) -> ApiCall[api.DeletedView]:
        """Delete an agent of the archive for good, with everything it wrote."""
        return delete(f"/archive/{segment(agent)}", api.DeletedView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def pause(self, agent: str) -> ApiCall[api.SteeredView]:
        """Let the agent's coordinator and workers stand still at their next yield point."""
        return post(agent_path(agent, "pause"), api.SteeredView)

    @ApiMethod
    def resume(self, agent: str) -> ApiCall[api.SteeredView]:
        """Let a paused agent go on; a stopped or failed one is started again."""
        return post(agent_path(agent, "resume"), api.SteeredView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def stop(self, agent: str) -> ApiCall[api.SteeredView]:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""
        return post(agent_path(agent, "stop"), api.SteeredView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def triggers(self, agent: str) -> ApiCall[list[api.TriggerView]]:
        """Return an agent's triggers, oldest first; of those that have ended the last ones."""
        return get(agent_path(agent, "triggers"), list[api.TriggerView])

    @ApiMethod
    def add_trigger(
        self, agent: str, trigger: api.CreateTriggerRequest, *, key: str | None = None
    ) -> ApiCall[api.TriggerView]:
        """Make a trigger; 422 with the reason if it cannot be made like that."""
        return post(agent_path(agent, "triggers"), api.TriggerView, trigger, key=key)

    @ApiMethod
    def cancel_trigger(self, agent: str, trigger: str) -> ApiCall[api.TriggerView]:
        """Cancel a trigger, by id or name."""
        return delete(agent_path(agent, "triggers", trigger), api.TriggerView)

    @ApiMethod
    def act_on_trigger(
        self, agent: str, trigger: str, act: Literal["pause", "resume", "fire"]
    ) -> ApiCall[api.TriggerView]:
        """Pause, resume or fire a trigger now, by id or name; 409 if it has ended."""
        return post(agent_path(agent, "triggers", trigger, act), api.TriggerView)

    @ApiMethod
    def budgets(self, agent: str | None = None) -> ApiCall[list[api.BudgetView]]:
        """Return the budgets of one agent, its triggers and its current run, or of all of them."""
        return get("/budgets", list[api.BudgetView], agent=agent)

    @ApiMethod
    def set_budget(
        self,
        agent: str,
        *,
        usd: float | Literal["none"] | None = None,
        tokens: int | Literal["none"] | None = None,
        period: Period = "total",
        trigger: str | None = None,
    ) -> ApiCall[api.BudgetView]:
        """Let an agent, or one trigger of it, spend so much: in all, or on each day of UTC.

        What is None stays as it is; "none" is no bound, also where the settings have one. Entities
        that asked for more continue. Raises ApiError: 404 lists the known, 422 for what is no
        limit, and for dollars if the price of the agent's model is not known.
        """
        body = api.SetBudgetRequest(usd=usd, tokens=tokens)
        return repeatable("PATCH", _budget_path(agent, trigger, period), api.BudgetView, body)

    @ApiMethod
    def remove_budget(
        self, agent: str, *, period: Period = "total", trigger: str | None = None
    ) -> ApiCall[api.BudgetView]:
        """Let the budget of the settings hold again, if they have one; return what holds now."""
        return delete(_budget_path(agent, trigger, period), api.BudgetView)


def _budget_path(agent: str, trigger: str | None, period: Period) -> str:
    whose = () if trigger is None else ("triggers", trigger)
    return agent_path(agent, *whose, "budgets", period)
