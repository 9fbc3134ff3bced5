"""Calls about agents: make, list, pause, resume, stop, archive them, and begin their runs."""

from collections.abc import Sequence

from agiraph.core.models import AgentStatus, Mode
from agiraph.http.api import (
    AgentView,
    ArchivedView,
    CreateAgentRequest,
    DeletedView,
    RunView,
    StartRunRequest,
    SteeredView,
)
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    delete,
    get,
    named,
    of_agent,
    part,
    post,
)


class AgentCalls:
    """What `/agents` offers. An agent is named by its id or its name."""

    @ApiMethod
    def create_agent(
        self, request: CreateAgentRequest, *, key: str | None = None
    ) -> ApiCall[AgentView]:
        """Create an agent and start it; returns when its coordinator has begun.

        422 for a bad goal, model, budget or input folder; 409 for a name that is taken.
        """
        return post("/agents", request, AgentView, timeout_seconds=LONG_SECONDS, key=key)

    @ApiMethod
    def begin_run(
        self, agent: str, request: StartRunRequest, *, key: str | None = None
    ) -> ApiCall[AgentView]:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is where to follow its events from. 409 while a run is running,
        422 for a bad model, plan or input folder.
        """
        path = of_agent(agent, "runs")
        return post(path, request, AgentView, timeout_seconds=LONG_SECONDS, key=key)

    @ApiMethod
    def runs(self, agent: str) -> ApiCall[list[RunView]]:
        """Return an agent's runs with what came of each, oldest first."""
        return get(of_agent(agent, "runs"), list[RunView])

    @ApiMethod
    def agents(
        self, *, status: Sequence[AgentStatus] = (), mode: Mode | None = None, text: str = ""
    ) -> ApiCall[list[AgentView]]:
        """Return all agents, oldest first; or those in a status, in a mode, with a text.

        `text` is looked for in the name and the goal.
        """
        return get("/agents", list[AgentView], named(status=list(status), mode=mode, q=text))

    @ApiMethod
    def agent(self, agent: str) -> ApiCall[AgentView]:
        """Return one agent; 404 lists the known ones."""
        return get(of_agent(agent), AgentView)

    @ApiMethod
    def archive(self, agent: str) -> ApiCall[ArchivedView]:
        """Stop an agent for good and move its folder to `agents/.archive/`; return where it is."""
        return delete(of_agent(agent), ArchivedView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def archived(self) -> ApiCall[list[AgentView]]:
        """Return the agents in the archive, oldest first."""
        return get("/archive", list[AgentView])

    @ApiMethod
    def restore(self, agent: str) -> ApiCall[AgentView]:
        """Bring an agent back from the archive; `resume` starts its processes."""
        return post(f"/archive/{part(agent)}/restore", None, AgentView)

    @ApiMethod
    def delete(self, agent: str) -> ApiCall[DeletedView]:
        """Delete an agent of the archive for good, with everything it wrote."""
        return delete(f"/archive/{part(agent)}", DeletedView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def pause(self, agent: str) -> ApiCall[SteeredView]:
        """Let the agent's coordinator and workers stand still at their next yield point."""
        return post(of_agent(agent, "pause"), None, SteeredView)

    @ApiMethod
    def resume(self, agent: str) -> ApiCall[SteeredView]:
        """Let a paused agent go on; a stopped or failed one is started again."""
        return post(of_agent(agent, "resume"), None, SteeredView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def stop(self, agent: str) -> ApiCall[SteeredView]:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""
        return post(of_agent(agent, "stop"), None, SteeredView, timeout_seconds=LONG_SECONDS)
