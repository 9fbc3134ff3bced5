"""team: a goal for named roles that work in parallel, in one call."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import slug
from agiraph.sdk.result import Result
from agiraph.sdk.runtime import Runtime, RuntimeOptions
from agiraph.sdk.task import Task


@dataclass(frozen=True, slots=True)
class Role:
    """One worker of a team: its name, its full task (`prompt`), and its title.

    `model` is provider/model, by default the team's; `tools` are the tools that it may use, by
    default all.
    """

    name: str
    prompt: str
    title: str = "worker"
    model: str | None = None
    tools: tuple[str, ...] | None = None


def team(
    goal: str,
    roles: Iterable[Role],
    model_provider: str | None = None,
    **options: Unpack[RuntimeOptions],
) -> Result[str]:
    """Let a team of roles work on a goal; return the coordinator's summary of their results.

    `options` are those of `Runtime`. Raises as `Runtime.run`; InvalidInput for invalid roles.
    """
    return Runtime(model_provider, **options).run(Task(goal, plan=team_plan(roles)))


def team_plan(roles: Iterable[Role]) -> dict[str, Any]:
    """Return the collaboration plan of one stage with these roles."""
    if isinstance(roles, Role):
        raise InvalidInput("the roles of a team are a list (possible: [Role(...), ...])")
    given = [_checked(role) for role in roles]
    if not given:
        raise InvalidInput("a team needs a role")
    rows = [
        {"id": slug(role["name"], fallback="role"), **{k: v for k, v in role.items() if v}}
        for role in given
    ]
    return {"stages": [{"name": "Team", "roles": rows}]}


def _checked(role: Role) -> dict[str, Any]:
    if not isinstance(role, Role):
        raise InvalidInput(f"{role!r:.80} is no role (possible: Role(name, prompt))")
    for field in ("name", "prompt"):
        if not str(getattr(role, field)).strip():
            raise InvalidInput(f"the role '{role.name or role.prompt}' has no {field}")
    return asdict(role)
