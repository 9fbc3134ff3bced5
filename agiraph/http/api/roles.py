"""The Agentic Team: records of the HTTP API."""

from typing import Any, Literal

from pydantic import Field

from agiraph.core.roles import MOST_TURNS, AgentKind, EarlierTask, Role
from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.roles.engine import Ending, RoleEdge, RoleTurn


class RoleTeamRequest(ApiRequest):
    """The request that a team of roles does the work of a run.

    The team is `agentic_team` of agents.yaml, or the given `section` instead. `max_turns` overrides
    the team's value. `offline`: use only agents that need no network. `earlier` are previous tasks,
    which its roles are shown.
    """

    section: dict[str, Any] | None = None
    max_turns: int | None = Field(default=None, ge=1, le=MOST_TURNS)
    offline: bool = False
    earlier: tuple[EarlierTask, ...] = Field(default=(), max_length=100)


class RoleView(Role, ApiView):
    """A role and its agent; `problem` is why the agent cannot work.

    `is_default`: every team has this role. `kind` is cli (an external agent) or model; `model` is
    the model's name, by default the run's. An `advisory` role only writes text. `left_out` is the
    role's own agent if that needs the network and `agent` replaces it.
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


class RoleTeamView(ApiView):
    """The team of agents.yaml and whether it can work; `problems` say why it cannot.

    `etag` is the etag of agents.yaml, for `PUT /roles`; '' for a team that was only checked.
    """

    lead_role: str = ""
    max_turns: int = 0
    repetitions: int = 0
    transcript_turns: int = 0
    roles: tuple[RoleView, ...] = ()
    problems: tuple[str, ...] = ()
    is_offline: bool = False
    etag: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether the team can work."""
        return not self.problems


class CheckRolesRequest(ApiRequest):
    """A team to check: that in agents.yaml, or a `section`; `model`: the model of a run.

    `named_only`: check only the agents that it names, not the model of a future run.
    """

    section: dict[str, Any] | None = None
    offline: bool = False
    model: str | None = None
    named_only: bool = False


class SaveRolesRequest(ApiRequest):
    """The team to write into agents.yaml: a whole `agentic_team` section.

    Omitted values are defaults; values that equal their default are not written.
    """

    section: dict[str, Any]


class RoleTeamRunView(ApiView):
    """The turns of an agent's team in a run, its messages by role, the next role, and the end.

    `times` is when each of the turns ended, in seconds since the epoch.
    """

    agent: str
    run: str
    task: str
    status: Literal["running", "finalized", "max_turns", "lead_failed", "stopped"]
    lead_role: str
    max_turns: int
    roles: dict[str, Role]
    turns: tuple[RoleTurn, ...] = ()
    times: tuple[float, ...] = ()
    edges: tuple[RoleEdge, ...] = ()
    role: str = ""
    ending: Ending | None = None
    final_output: str | None = None
