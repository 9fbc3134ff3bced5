"""Calls about agents: their life, their runs, their triggers and their budgets."""

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
"""The home reads what it has of a folder, to know what it lacks, and writes many small files."""


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
        """Return whether an agent could be created so, what is wrong, and what it may take.

        Nothing is created. 422 only for what is no such request, with the fields.
        """

    @call("POST /agents/{agent}/runs", seconds=LONG_SECONDS)
    def begin_run(
        self, agent: str, request: api.StartRunRequest, *, key: str | None = None
    ) -> api.AgentView:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is where to follow its events from. 409 while a run is running,
        422 for a bad model, plan or input folder.
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
        """Return the runs of all agents that have these words, and how many there are in all."""

    @call("PUT /inputs", seconds=INPUT_SECONDS)
    def declare_input(self, request: api.DeclareInputRequest) -> api.InputView:
        """Declare an input folder of this machine; the answer says what the home lacks of it."""

    @ApiMethod
    def send_input(self, input: str, at: int, content: bytes) -> ApiCall[api.InputView]:
        """Send the bytes from `at` on of what a declared input folder lacks.

        With the last ones the answer has the `path` that is the `input` of a run. 409 if these are
        not the next ones: declare it again.
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
        """Return an agent's runs with what came of each, oldest first."""

    @call("GET /agents", names={"text": "q"})
    def agents(
        self,
        *,
        status: Sequence[AgentStatus] = (),
        mode: Mode | None = None,
        text: str = "",
        has_team: bool | None = None,
        mine: bool = False,
    ) -> list[api.AgentView]:
        """Return all agents, oldest first; or those in a status, in a mode, with a text.

        `text` is looked for in the name and the goal. `has_team`: whether the current run is an
        Agentic Team's; `mine`: only what this client's token has created.
        """

    @call("GET /agents/{agent}")
    def agent(self, agent: str) -> api.AgentView:
        """Return one agent; 404 lists the known ones."""

    @call("DELETE /agents/{agent}", seconds=LONG_SECONDS)
    def archive(self, agent: str) -> api.ArchivedView:
        """Stop an agent for good and move its folder to `agents/.archive/`; return where it is."""

    @call("GET /archive")
    def archived(self) -> list[api.AgentView]:
        """Return the agents in the archive, oldest first."""

    @call("POST /archive/{agent}/restore")
    def restore(self, agent: str) -> api.AgentView:
        """Bring an agent back from the archive; `resume` starts its processes."""

    @call("DELETE /archive/{agent}", seconds=LONG_SECONDS)
    def delete(self, agent: str, *, forget: bool = False) -> api.DeletedView:
        """Delete an agent of the archive for good, with all its files.

        What it taught stays in the context database, unless it is to `forget` that.
        """

    @call("POST /agents/{agent}/pause")
    def pause(self, agent: str) -> api.SteeredView:
        """Let the agent's coordinator and workers stand still at their next yield point."""

    @call("POST /agents/{agent}/resume", seconds=LONG_SECONDS)
    def resume(self, agent: str) -> api.SteeredView:
        """Let a paused agent go on; a stopped or failed one is started again."""

    @call("POST /agents/{agent}/stop", seconds=LONG_SECONDS)
    def stop(self, agent: str) -> api.SteeredView:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""

    @call("GET /agents/{agent}/triggers")
    def triggers(self, agent: str) -> list[api.TriggerView]:
        """Return an agent's triggers, oldest first; of those that have ended the last ones."""

    @call("POST /agents/{agent}/triggers")
    def add_trigger(
        self, agent: str, trigger: api.CreateTriggerRequest, *, key: str | None = None
    ) -> api.TriggerView:
        """Make a trigger; 422 with the reason if it cannot be made like that."""

    @call("POST /agents/{agent}/triggers/check", is_repeatable=True)
    def check_trigger(self, agent: str, trigger: api.CreateTriggerRequest) -> api.TriggerPlanView:
        """Return when a trigger would fire, without making it; 422 with what is wrong with it."""

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
        """Return the budgets of one agent, its triggers and its current run, or of all of them."""

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
        path = _budget_path(agent, trigger, period)
        return ApiCall("PATCH", path, reader(api.BudgetView), body=body)

    @ApiMethod
    def remove_budget(
        self, agent: str, *, period: Period = "total", trigger: str | None = None
    ) -> ApiCall[api.BudgetView]:
        """Let the budget of the settings hold again, if they have one; return what holds now."""
        path = _budget_path(agent, trigger, period)
        return ApiCall("DELETE", path, reader(api.BudgetView), key=new_key())


def _budget_path(agent: str, trigger: str | None, period: Period) -> str:
    whose = () if trigger is None else ("triggers", trigger)
    return agent_path(agent, *whose, "budgets", period)
