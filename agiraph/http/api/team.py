"""The Agentic Team, as the HTTP API takes and shows it."""

from typing import Any, Literal

from pydantic import Field

from agiraph.agentic_team.engine import Ending, TeamEdge, TeamTurn
from agiraph.core.team import MOST_TURNS, AgentKind, EarlierTask, Role
from agiraph.http.api.base import ApiRequest, ApiView


class TeamRequest(ApiRequest):
    """That a run is the work of a team of roles.

    The team is that of `agentic_team` in agents.yaml, or of such a `section` instead. `max_turns`
    overrides its own. `offline`: of agents those that need no network. `earlier` are the tasks
    before, which its roles are shown.
    """

    section: dict[str, Any] | None = None
    max_turns: int | None = Field(default=None, ge=1, le=MOST_TURNS)
    offline: bool = False
    earlier: tuple[EarlierTask, ...] = Field(default=(), max_length=100)


class TeamRoleView(Role, ApiView):
    """A role, and the agent that does its work; `problem` says why that cannot.

    `is_default`: it is one of those that every team has. `kind` is cli (an external agent) or
    model; `model` is the model's name, that of a run if the role names none. An `advisory` role
    only writes text. With `left_out` the role's own agent needs the network, and `agent` takes its
    place.
    """

    name: str
    is_lead: bool = False
    is_default: bool = False
    kind: AgentKind = "model"
    model: str = ""
    is_local: bool = False
    advisory: bool = False
    left_out: str = ""
    problem: str = ""


class TeamRolesView(ApiView):
    """The team that agents.yaml has, and whether it can work; `problems` say why it cannot.

    `etag` is that of agents.yaml, for `PUT /team`; '' for a team that was only checked.
    """

    lead_role: str = ""
    max_turns: int = 0
    repetitions: int = 0
    transcript_turns: int = 0
    roles: tuple[TeamRoleView, ...] = ()
    problems: tuple[str, ...] = ()
    is_offline: bool = False
    etag: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the team can work."""
        return not self.problems


class CheckTeamRequest(ApiRequest):
    """A team to look at: that of agents.yaml, or such a `section`; `model`: that of a run.

    `named_only`: only the agents that it names are checked, not the model of a run that is to come.
    """

    section: dict[str, Any] | None = None
    offline: bool = False
    model: str | None = None
    named_only: bool = False


class SaveTeamRequest(ApiRequest):
    """The team as it should be in agents.yaml: a whole `agentic_team` section.

    What it leaves out is as by default; so is what it says as it is by default, and that is not
    written.
    """

    section: dict[str, Any]


class TeamRunView(ApiView):
    """What an agent's team has said in a run, who wrote to whom, whose turn it is, how it ended.

    `times` is when each of the turns ended, in seconds since the epoch.
    """

    agent: str
    run: str
    task: str
    status: Literal["running", "finalized", "max_turns", "lead_failed", "stopped"]
    lead_role: str
    max_turns: int
    roles: dict[str, Role]
    turns: tuple[TeamTurn, ...] = ()
    times: tuple[float, ...] = ()
    edges: tuple[TeamEdge, ...] = ()
    role: str = ""
    ending: Ending | None = None
    final_output: str | None = None
