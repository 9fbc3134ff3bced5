"""Calls about agents: make, list, pause, resume, stop, archive them, and begin their runs."""

from collections.abc import Sequence

from agiraph.api import Acted, AgentSummary, Archived, CreateAgent, Deleted, NewRun, RunView
from agiraph.client.call import LONG_SECONDS, Call, Verb, delete, get, named, of_agent, part, post
from agiraph.models import AgentStatus, Mode


class AgentCalls:
    """What `/agents` offers. An agent is named by its id or its name."""

    @Verb
    def create_agent(self, request: CreateAgent, *, key: str | None = None) -> Call[AgentSummary]:
        """Create an agent and start it; returns when its coordinator has begun.

        422 for a bad goal, model, budget or input folder; 409 for a name that is taken.
        """
        return post("/agents", request, AgentSummary, timeout_seconds=LONG_SECONDS, key=key)

    @Verb
    def begin_run(
        self, agent: str, request: NewRun, *, key: str | None = None
    ) -> Call[AgentSummary]:
        """Give an agent another goal; returns when its coordinator is in the new run.

        `last_event` of the answer is where to follow its events from. 409 while a run is running,
        422 for a bad model, plan or input folder.
        """
        path = of_agent(agent, "runs")
        return post(path, request, AgentSummary, timeout_seconds=LONG_SECONDS, key=key)

    @Verb
    def runs(self, agent: str) -> Call[list[RunView]]:
        """Return an agent's runs with what came of each, oldest first."""
        return get(of_agent(agent, "runs"), list[RunView])

    @Verb
    def agents(
        self, *, status: Sequence[AgentStatus] = (), mode: Mode | None = None, text: str = ""
    ) -> Call[list[AgentSummary]]:
        """Return all agents, oldest first; or those in a status, in a mode, with a text.

        `text` is looked for in the name and the goal.
        """
        return get("/agents", list[AgentSummary], named(status=list(status), mode=mode, q=text))

    @Verb
    def agent(self, agent: str) -> Call[AgentSummary]:
        """Return one agent; 404 lists the known ones."""
        return get(of_agent(agent), AgentSummary)

    @Verb
    def archive(self, agent: str) -> Call[Archived]:
        """Stop an agent for good and move its folder to `agents/.archive/`; return where it is."""
        return delete(of_agent(agent), Archived, timeout_seconds=LONG_SECONDS)

    @Verb
    def archived(self) -> Call[list[AgentSummary]]:
        """Return the agents in the archive, oldest first."""
        return get("/archive", list[AgentSummary])

    @Verb
    def restore(self, agent: str) -> Call[AgentSummary]:
        """Bring an agent back from the archive; `resume` starts its processes."""
        return post(f"/archive/{part(agent)}/restore", None, AgentSummary)

    @Verb
    def delete(self, agent: str) -> Call[Deleted]:
        """Delete an agent of the archive for good, with everything it wrote."""
        return delete(f"/archive/{part(agent)}", Deleted, timeout_seconds=LONG_SECONDS)

    @Verb
    def pause(self, agent: str) -> Call[Acted]:
        """Let the agent's coordinator and workers stand still at their next yield point."""
        return post(of_agent(agent, "pause"), None, Acted)

    @Verb
    def resume(self, agent: str) -> Call[Acted]:
        """Let a paused agent go on; a stopped or failed one is started again."""
        return post(of_agent(agent, "resume"), None, Acted, timeout_seconds=LONG_SECONDS)

    @Verb
    def stop(self, agent: str) -> Call[Acted]:
        """Stop the agent's processes; its files stay, and `resume` starts it again."""
        return post(of_agent(agent, "stop"), None, Acted, timeout_seconds=LONG_SECONDS)
