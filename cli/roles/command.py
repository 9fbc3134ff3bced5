"""`agiraph roles`: a task for a team of roles, and information about that team."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import new_run_id
from agiraph.core.roles import MOST_TURNS, SECTION, Role, RoleTeamSpec
from cli.api_command import api_command
from cli.exits import DONE, FAILED
from cli.options.everywhere import remark
from cli.options.shared import (
    budgets_option,
    connect_to_read,
    examples,
    home_option,
    json_option,
    notes_option,
    text_argument,
)
from cli.output.formats import how_it_works, shown_agent, yes_or_no
from cli.output.listing import Column, Details, Done, Listing, Shown, print_json
from cli.plan import PlanGroup, refuse_agent_as_goal
from cli.run.command import limits_of_run
from cli.run.follow import run_to_the_end
from cli.run.screen import can_prompt
from cli.run.target import RunOptions, given_terms

if TYPE_CHECKING:
    from agiraph.core.money import NamedLimit
    from agiraph.http.api import RoleTeamView
    from agiraph.http.client import Client

ROLES: Final = (
    Column("ROLE", "name"),
    Column("TITLE", "title", spare=2),
    Column("AGENT", "", shown_agent),
    Column("WORKS", "", how_it_works, spare=1),
    Column("FALLBACK", "fallback", spare=3),
    Column("PROBLEM", "problem", wide=True),
)
TURNS: Final = (
    Column("TURN", "turn", align="right"),
    Column("FROM", "from_role"),
    Column("TO", "to_role"),
    Column("AGENT", "from_agent", spare=1),
    Column("MESSAGE", "message", wide=True, wraps=True),
)
ROLE_FIELDS: Final = "name, title, agent, kind, model, fallback, advisory, left_out, problem"
ROLES_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
YAML_WIDTH: Final = 60
"""The width at which a text of `roles config` is wrapped: it fits 80 columns."""


class RolesGroup(PlanGroup):
    """A group whose first word is a subcommand, or else the task of a team."""

    without_subcommand = "run"


model_option = click.option("-m", "--model", help="provider/model of the roles that name no agent.")
folder_option = click.option(
    "-i",
    "--input",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory that the team may read.",
)
max_turns_option = click.option(
    "--max-turns", type=click.IntRange(1, MOST_TURNS), help="[default: as agents.yaml says: 12]"
)
offline_option = click.option(
    "--offline", is_flag=True, help="Only agents that need no network: local models."
)


def roles_option(function: Any) -> Any:
    return click.option(
        "--roles",
        "file",
        type=ROLES_FILE,
        help=f"A YAML file with such an {SECTION} section, instead of agents.yaml.",
    )(function)


def section_of(file: Path | None) -> dict[str, Any] | None:
    """Return the `agentic_team` section of a file, or the whole file if it has none.

    Raises InvalidInput.
    """
    if file is None:
        return None
    from agiraph.models.registry import read_table

    table = read_table(file)
    section = table.get(SECTION, table)
    if not isinstance(section, dict):
        raise InvalidInput(f"{file}: {SECTION} must be a mapping")
    return section


@click.group(
    cls=RolesGroup,
    epilog=examples(
        "agiraph roles 'Count these files' -i . -m script/team",
        "agiraph roles 'Review this folder' -i . --max-turns 6",
        "agiraph roles 'Draft a release plan' --offline",
        "agiraph roles validate",
        "agiraph roles agents",
        "agiraph agentic-shell",
    ),
)
def roles() -> None:
    """Give a task to a team of roles (agiraph roles TASK), or look at that team.

    Five roles, or the roles of `agentic_team` in agents.yaml, pass one message at a time; the lead
    alone ends the work. Each role is a process: a model, or a CLI such as claude or codex.
    """


@roles.command(
    epilog=examples(
        "agiraph roles 'Write a CSV parser with tests' -i .",
        "agiraph roles run 'Draft a release plan' --roles roles.yaml --json",
    )
)
@click.argument("task")
@model_option
@folder_option
@max_turns_option
@offline_option
@roles_option
@budgets_option("Its budget: 2 or $2 (US dollars), 500k-tokens.")
@notes_option
@click.option("-n", "--name", help="The name of the agent.")
@click.option("--agent", help="Give the task to this existing agent.")
@home_option
@json_option("the JSON object of `agiraph run`, with the turns of the roles under `roles`")
@click.pass_context
def run(
    ctx: click.Context,
    task: str,
    model: str | None,
    folder: Path | None,
    max_turns: int | None,
    offline: bool,
    file: Path | None,
    budgets: "tuple[NamedLimit, ...]",
    notes: str | None,
    name: str | None,
    agent: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Give TASK (- for stdin) to the team, watch its turns, and get the answer of its lead.

    Exit: 0 its lead has finished, 1 it has not (its turns are used up, it failed), 2 wrong usage
    or a role without a usable agent, 3 out of budget, 130 Ctrl-C.
    """
    refuse_agent_as_goal(task, home, "roles turns")
    asked = {"section": section_of(file), "max_turns": max_turns, "offline": offline}
    terms = given_terms(
        **limits_of_run(budgets),
        goal=text_argument(task, "TASK"),
        model=model,
        input=str(folder.resolve()) if folder else None,
        when_spent=None if can_prompt() and not as_json else "stop",
        notes=notes,
        name=name,
        run=new_run_id(time.time()),
        roles={key: value for key, value in asked.items() if value not in (None, False)},
    )
    ctx.exit(run_to_the_end(RunOptions(home, terms, agent, None, as_json), resumes=False))


@api_command("agiraph roles agents --json", json=f"a JSON array: {ROLE_FIELDS}", group=roles)
@model_option
@offline_option
def agents(client: "Client", model: str | None, offline: bool) -> Shown:
    """List the roles, and the agent of each."""
    found = _checked(client, model=model, offline=offline)
    for problem in () if found.roles else found.problems:
        remark(problem)
    return Listing(found.roles, ROLES, "no roles")


@api_command(
    "agiraph roles config > roles.yaml     # for --roles roles.yaml",
    json="one JSON object: lead_role, max_turns, repetitions, transcript_turns, roles, problems",
    group=roles,
)
def config(client: "Client") -> Shown:
    """Show the team as agents.yaml and the defaults make it, in the form of that file."""
    found = client.roles()
    if found.roles:
        return Done(found, _section_text(found), "\n".join(found.problems))
    return Done(found, "", "\n".join(found.problems), has_failed=True)


def _section_text(found: "RoleTeamView") -> str:
    """Return a team as the section of agents.yaml from which it can be read."""
    import yaml

    bounds = {name: getattr(found, name) for name in RoleTeamSpec.model_fields if name != "roles"}
    roles = {
        role.name: {name: value for name in Role.model_fields if (value := getattr(role, name))}
        for role in found.roles
    }
    section = {SECTION: bounds | {"roles": roles}}
    written = yaml.safe_dump(section, sort_keys=False, allow_unicode=True, width=YAML_WIDTH)
    return str(written).rstrip()


@roles.command(
    epilog=examples("agiraph roles validate", "agiraph roles validate --roles roles.yaml --offline")
)
@model_option
@offline_option
@roles_option
@home_option
@json_option("one JSON object, as for `config`; `problems` is empty if the team can work")
@click.pass_context
def validate(
    ctx: click.Context,
    model: str | None,
    offline: bool,
    file: Path | None,
    home: Path,
    as_json: bool,
) -> None:
    """Check that each role has an agent that can work here; exit 1 if one has none."""
    section = section_of(file)
    with connect_to_read(home) as client:
        found = _checked(client, section, model, offline=offline)
    if as_json:
        Details(found).print(as_json=True)
    elif found.problems:
        for problem in found.problems:
            remark(problem)
    else:
        click.echo(f"{len(found.roles)} roles can work, led by {found.lead_role}")
    ctx.exit(FAILED if found.problems else DONE)


@roles.command(epilog=examples("agiraph roles health", "agiraph roles health --json"))
@model_option
@home_option
@json_option("one JSON object: is_valid, can_work_offline, agents, problems")
@click.pass_context
def health(ctx: click.Context, model: str | None, home: Path, as_json: bool) -> None:
    """Check whether the team can work now, with the network and without; exit 1 if it cannot."""
    from agiraph.http.mcp_server.results import roles_health

    with connect_to_read(home) as client:
        now = _checked(client, model=model)
        found = roles_health(now, _checked(client, model=model, offline=True))
    if as_json:
        Details(found).print(as_json=True)
    else:
        Listing(found.agents, ROLES[:-1], "no roles").print(as_json=False)
        click.echo(f"the team can work: {yes_or_no(found.is_valid)}")
        click.echo(f"without the network: {yes_or_no(found.can_work_offline)}")
        for problem in found.problems:
            remark(problem)
    ctx.exit(DONE if found.is_valid else FAILED)


def _checked(
    client: "Client",
    section: dict[str, Any] | None = None,
    model: str | None = None,
    *,
    offline: bool = False,
) -> "RoleTeamView":
    from agiraph.http.api import CheckRolesRequest

    return client.check_roles(CheckRolesRequest(section=section, model=model, offline=offline))


@roles.command(
    epilog=examples(
        "agiraph roles turns my-agent", "agiraph roles turns my-agent --json | jq .edges"
    )
)
@click.argument("agent")
@home_option
@json_option("one JSON object: agent, run, task, status, roles, turns, edges, role, final_output")
@click.pass_context
def turns(ctx: click.Context, agent: str, home: Path, as_json: bool) -> None:
    """List the messages between the roles of AGENT's team."""
    with connect_to_read(home) as client:
        found = client.role_turns(agent)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        Listing(found.turns, TURNS, "no turn has ended yet").print(as_json=False)
        remark(found.status)
    ctx.exit(DONE)
