"""The Agentic Team: its roles and their agents, from `agentic_team` in agents.yaml.

Missing values are taken from the default team: five roles, led by the project manager.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, ValidationError

from agiraph.core.errors import InvalidInput, listed, unknown
from agiraph.core.ids import RESERVED_NAMES
from agiraph.core.record import Record, misfit_in_words

SECTION: Final = "agentic_team"
USER: Final = "user"
"""The recipient of a finished team's message: no role may have this name."""

MOST_TURNS: Final = 200
MOST_ROLES: Final = 24
ROLE_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
NAMED: Final = "a role's name is at most 32 of a-z, 0-9, '_', '-', the first a letter; not 'user'"
AgentKind = Literal["cli", "model"]

DEFAULT_ROLES: Final[Mapping[str, tuple[str, str]]] = {
    "project_manager": (
        "Project Manager (Team Lead)",
        "Initiate work, set priorities, route subtasks, and perform final approval. Hand out "
        "architecture, implementation and verification; finalize accepted work.",
    ),
    "software_architect": (
        "Software Architect",
        "Define architecture and technical design: constraints, interfaces, decomposition. Guide "
        "the implementation: write to the developer or the manager.",
    ),
    "software_developer": (
        "Software Developer",
        "Implement and update source code. Ask QA to validate it, and DevOps whether it can be "
        "deployed.",
    ),
    "qa_engineer": (
        "QA Engineer",
        "Validate behavior and identify regressions: test strategy, defects. Report bugs to the "
        "developer or the manager, and to the manager that it can be released.",
    ),
    "devops_engineer": (
        "DevOps Engineer",
        "Handle deployment, runtime, environment and operational concerns. Tell the manager or "
        "the developer how it can be operated.",
    ),
}
"""Title and responsibilities of each default role."""

DEFAULT_LEAD: Final = "project_manager"
CALLED: Final = {"claude": "claude-code"}
"""External agents that have a second name."""


class Role(Record):
    """One role of a team, and the agent that does its work.

    `agent` is an external agent (claude, codex: `agiraph outside`), or a model as provider/model;
    '' is the model of the run. `fallback` does the turns in which it fails; '' means none. A role
    with a local model only writes text, unless `may_write`: then it has the tools of a worker.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True
    )

    title: str = Field(default="", max_length=200)
    agent: str = Field(default="", max_length=400)
    responsibilities: str = Field(default="", max_length=4000)
    fallback: str = Field(default="", max_length=400)
    may_write: bool = False


class RoleTeamSpec(Record):
    """A team: its roles, its lead, and its limits.

    After `max_turns` turns it ends without a result of its lead. A role that sends the same message
    to the same role more than `repetitions` times is referred to the lead. Each turn includes those
    of the last `transcript_turns` turns that are missing in the conversation of its role.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    lead_role: str = DEFAULT_LEAD
    max_turns: int = Field(default=12, ge=1, le=MOST_TURNS)
    repetitions: int = Field(default=2, ge=1, le=MOST_TURNS)
    transcript_turns: int = Field(default=8, ge=1, le=MOST_TURNS)
    roles: dict[str, Role] = Field(default_factory=dict, max_length=MOST_ROLES)

    def agent_of(self, role: str) -> str:
        """Return the agent of a role as turns name it: 'default' for the run's model, 'user' for
        USER.
        """
        if role == USER:
            return USER
        return self.roles[role].agent or "default"


class EarlierTask(Record):
    """An earlier task of a team, and its result."""

    task: str = Field(max_length=100_000)
    output: str = Field(max_length=100_000)


class RoleTeamTerms(RoleTeamSpec):
    """A team with a task: the team at the start of the task, and its earlier tasks."""

    earlier: tuple[EarlierTask, ...] = ()

    @property
    def spec(self) -> RoleTeamSpec:
        """The team alone, without task and earlier tasks."""
        return RoleTeamSpec(**self.shared_with(RoleTeamSpec))


def roles_of(section: object) -> RoleTeamSpec:
    """Return the team of an `agentic_team` section, with defaults for missing roles and fields.

    Raises InvalidInput, which names each invalid field.
    """
    if not isinstance(section, dict):
        raise InvalidInput(f"{SECTION} must be a mapping, not {section!r:.100}")
    roles = {} if section.get("roles") is None else section["roles"]
    if not isinstance(roles, dict):
        raise InvalidInput(f"{SECTION}.roles must map names to roles, not {roles!r:.100}")
    for name in roles:
        if not isinstance(name, str) or not ROLE_NAME.fullmatch(name) or name == USER:
            raise InvalidInput(f"{SECTION}.roles.{name}: {NAMED}")
        if name in RESERVED_NAMES:
            reserved = ", ".join(sorted(RESERVED_NAMES))
            raise InvalidInput(f"{SECTION}.roles.{name}: the name is reserved (as are {reserved})")
    merged = {**{name: {} for name in DEFAULT_ROLES}, **roles}
    whole = {name: _with_defaults(name, given) for name, given in merged.items()}
    try:
        team = RoleTeamSpec.model_validate({**section, "roles": whole})
    except ValidationError as error:
        raise InvalidInput("\n".join(map(_complaint, error.errors()))) from None
    if team.lead_role not in team.roles:
        raise unknown(f"role in {SECTION}.lead_role", team.lead_role, team.roles)
    return team


def default_role(name: str) -> Role:
    """Return the role of this name without settings: its title and responsibilities are defaults.

    DEFAULT_ROLES has them; another name becomes the title, without responsibilities.
    """
    return Role.model_validate(_with_defaults(name, None))


def _with_defaults(name: object, given: Any) -> Any:
    if given is not None and not isinstance(given, dict):
        return given
    title, responsibilities = DEFAULT_ROLES.get(str(name), (str(name).replace("_", " "), ""))
    return {"title": title, "responsibilities": responsibilities, **(given or {})}


def _complaint(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "[key]")
    what = misfit_in_words(error)
    if error["type"] == "extra_forbidden":
        of_role = "roles" in error["loc"]
        what = f"unknown (known: {listed((Role if of_role else RoleTeamSpec).model_fields)})"
    return f"{SECTION}.{place}: {what}"


def kind_of(agent: str) -> AgentKind:
    """Return whether an agent's name is a model (provider/model; '': the run's) or a command.

    Commands are external agents by name, or paths of programs.
    """
    program = agent.split(" ")[0]
    is_path = program.startswith(("/", "."))
    return "model" if not agent or ("/" in program and not is_path) else "cli"


def command_of(agent: str) -> str:
    """Return the external agent for a name: `claude` is Claude Code."""
    name, space, options = agent.partition(" ")
    return f"{CALLED.get(name, name)}{space}{options}"


def problems_of(team: RoleTeamSpec, unusable: Mapping[str, str]) -> list[str]:
    """Return why a team cannot work, each reason with its roles; [] if it can.

    `unusable` maps each unusable agent to the reason. A role with such an agent can work if its
    fallback is usable.
    """
    roles: dict[str, list[str]] = {}
    for name, role in team.roles.items():
        has_fallback = bool(role.fallback) and role.fallback not in unusable
        if role.agent in unusable and not has_fallback:
            roles.setdefault(unusable[role.agent], []).append(f"'{name}'")
    return [
        f"role{'s' if len(names) > 1 else ''} {', '.join(names)}: {why}"
        for why, names in roles.items()
    ]


def agents_of(team: RoleTeamSpec) -> list[str]:
    """Return every agent that the team names, including fallbacks, each once."""
    named = [agent for role in team.roles.values() for agent in (role.agent, role.fallback)]
    return [agent for agent in dict.fromkeys(named) if agent]
