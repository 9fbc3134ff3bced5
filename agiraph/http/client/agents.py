"""Calls for agents: creation, control, runs, triggers and budgets."""

from collections.abc import Sequence
from typing import Literal

from agiraph.core.models import AgentStatus, RunStatus
from agiraph.core.money import Period
from agiraph.core.specs import Mode
from agiraph.http import api
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    agent_path,
    call,
    new_key,
    reader,
    segment,
)

INPUT_SECONDS = 600.0
"""The home reads its copy of a folder to find missing files, and writes many small files."""


class AgentCalls:
    """Agents, runs, triggers, budgets. An agent is named by its id or its name."""

    @call("POST /agents", seconds=LONG_SECONDS)
    def create_agent(
        self, request: api.CreateAgentRequest, *, key: str | None = None
    ) -> api.AgentView:
        """Create an agent and start it; returns when its coordinator has begun.

        422 for a bad goal, model, budget or input folder; 409 for a name that is taken.
        """

    @call("POST /agents/check", seconds=LONG_SECONDS, is_repeatable=True)
    def check_agent(self, request: api.CheckAgentRequest) -> api.AgentCheckView:
        """Return whether an agent could be created from a request, its problems and its cost.

        Nothing is created. 422 only for a malformed request, with the fields.
        """

    @call("POST /agents/{agent}/runs", seconds=LONG_SECONDS)
    def begin_run(
        self, agent: str, request: api.StartRunRequest, *, key: str | None = None
    ) -> api.AgentView:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is the cursor from which to follow its events. 409 while a run is
        running, 422 for a bad model, plan or input folder.
        """

    @call("GET /runs", names={"statuses": "status"})
    def find_runs(
        self,
        q: str = "",
        *,
        statuses: Sequence[RunStatus] = (),
        order: api.RunOrder = "newest",
        limit: int = 50,
    ) -> api.RunsPageView:
        """Return the runs of all agents that contain these words, and the number of all matches."""

    @call("PUT /inputs", seconds=INPUT_SECONDS)
    def declare_input(self, request: api.DeclareInputRequest) -> api.InputView:
        """Declare an input folder of this machine; the answer lists the missing files."""

    @ApiMethod
    def send_input(self, input: str, at: int, content: bytes) -> ApiCall[api.InputView]:
        """Send the missing bytes of a declared input folder from position `at` on.

        After the last bytes the answer has the `path` that is the `input` of a run. 409 if `at` is
        not the next position: declare the folder again.
        """
        return ApiCall(
            "PUT",
            f"/inputs/{segment(input)}",
            reader(api.InputView),
            query={"at": at},
            timeout_seconds=INPUT_SECONDS,
            headers={"Content-Type": "application/octet-stream"},
            content=content,
        )

    @call("GET /agents/{agent}/runs")
    def runs(self, agent: str) -> list[api.RunView]:
        """Return an agent's runs with their outcomes, oldest first."""

    @call("GET /agents", names={"text": "q"})
    def agents(
        self,
        *,
        status: Sequence[AgentStatus] = (),
        mode: Mode | None = None,
        text: str = "",
        has_roles: bool | None = None,
        mine: bool = False,
    ) -> list[api.AgentView]:
        """Return all agents, oldest first; or only those with a status, a mode, a text.

        `text` is searched in the name and the goal. `has_roles`: whether the current run is an
        Agentic Team's; `mine`: only agents that this client's token has created.
        """

    @call("GET /agents/{agent}")
    def agent(self, agent: str) -> api.AgentView:
        """Return one agent; 404 lists the known agents."""

    @call("DELETE /agents/{agent}", seconds=LONG_SECONDS)
    def archive(self, agent: str) -> api.ArchivedView:
        """Stop an agent for good and move its folder to `agents/.archive/`; return its path."""

    @call("GET /archive")
    def archived(self) -> list[api.AgentView]:
        """Return the agents in the archive, oldest first."""

    @call("POST /archive/{agent}/restore")
    def restore(self, agent: str) -> api.AgentView:
        """Restore an agent from the archive; `resume` starts its processes."""

    @call("DELETE /archive/{agent}", seconds=LONG_SECONDS)
    def delete(self, agent: str, *, forget: bool = False) -> api.DeletedView:
        """Delete an archived agent for good, with all its files.

        Its lessons stay in the knowledge database, unless `forget` is set.
        """

    @call("POST /agents/{agent}/pause")
    def pause(self, agent: str) -> api.SteeredView:
        """Pause the agent's coordinator and workers at their next yield point."""

    @call("POST /agents/{agent}/resume", seconds=LONG_SECONDS)
    def resume(self, agent: str) -> api.SteeredView:
        """Continue a paused agent; a stopped or failed agent is started again."""

    @call("POST /agents/{agent}/stop", seconds=LONG_SECONDS)
    def stop(self, agent: str) -> api.SteeredView:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""

    @call("GET /agents/{agent}/triggers")
    def triggers(self, agent: str) -> list[api.TriggerView]:
        """Return an agent's triggers, oldest first; of ended triggers only the last."""

    @call("POST /agents/{agent}/triggers")
    def add_trigger(
        self, agent: str, trigger: api.CreateTriggerRequest, *, key: str | None = None
    ) -> api.TriggerView:
        """Create a trigger; 422 with the reason if that is not possible."""

    @call("POST /agents/{agent}/triggers/check", is_repeatable=True)
    def check_trigger(self, agent: str, trigger: api.CreateTriggerRequest) -> api.TriggerPlanView:
        """Return when a trigger would fire, without creating it; 422 describes its problems."""

    @call("DELETE /agents/{agent}/triggers/{trigger}")
    def cancel_trigger(self, agent: str, trigger: str) -> api.TriggerView:
        """Cancel a trigger, by id or name."""

    @call("POST /agents/{agent}/triggers/{trigger}/{act}")
    def act_on_trigger(
        self, agent: str, trigger: str, act: Literal["pause", "resume", "fire"]
    ) -> api.TriggerView:
        """Pause, resume or fire a trigger now, by id or name; 409 if it has ended."""

    @call("GET /budgets")
    def budgets(self, agent: str | None = None) -> list[api.BudgetView]:
        """Return the budgets of one agent, its triggers and its current run, or of all agents."""

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
        """Set the budget of an agent, or of one of its triggers: in total, or for each day (UTC).

        A unit that is None stays unchanged; "none" means unlimited, also where the settings have a
        limit. Entities that asked for more continue. Raises ApiError: 404 lists the known, 422 for
        an invalid limit, and for dollars if the price of the agent's model is unknown.
        """
        body = api.SetBudgetRequest(usd=usd, tokens=tokens)
        path = _budget_path(agent, trigger, period)
        return ApiCall("PATCH", path, reader(api.BudgetView), body=body)

    @ApiMethod
    def remove_budget(
        self, agent: str, *, period: Period = "total", trigger: str | None = None
    ) -> ApiCall[api.BudgetView]:
        """Reset a budget to that of the settings, if any; return the budget now in force."""
        path = _budget_path(agent, trigger, period)
        return ApiCall("DELETE", path, reader(api.BudgetView), key=new_key())


def _budget_path(agent: str, trigger: str | None, period: Period) -> str:
    whose = () if trigger is None else ("triggers", trigger)
    return agent_path(agent, *whose, "budgets", period)
