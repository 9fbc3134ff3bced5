"""`agiraph agents`, `show`, `archive`, `restore`: agents and the archive."""

from typing import TYPE_CHECKING, get_args

import click

from agiraph.core.models import AgentStatus
from agiraph.core.naming import meant
from agiraph.core.specs import Mode
from cli.api_command import api_command
from cli.options.shared import run_option
from cli.output.formats import format_goal, format_time
from cli.output.listing import Column, Details, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.api import RunView
    from agiraph.http.client import Client

COLUMNS = (
    Column("ID", "id"),
    Column("NAME", "name", spare=4),
    Column("STATUS", "status"),
    Column("NODES", "node_count", align="right", spare=2),
    Column("WORKERS", "worker_count", align="right", spare=2),
    Column("MODEL", "model", spare=3),
    Column("CREATED", "created_at", format_time, spare=1),
    Column("GOAL", "goal", format_goal, wide=True),
)
RUNS = (
    Column("RUN", "id"),
    Column("STATUS", "status"),
    Column("STARTED", "started_at", format_time, spare=1),
    Column("ENDED", "ended_at", format_time, spare=2),
    Column("MODEL", "model", spare=3),
    Column("GOAL", "goal", format_goal, wide=True),
)


@api_command(
    "agiraph agents",
    "agiraph agents --status working --status waiting_for_human",
    "agiraph agents --search survey --json",
    json="a JSON array: id, name, goal, status, run and more",
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(get_args(AgentStatus)),
    metavar="STATUS",
    multiple=True,
    help=f"Only agents in this status: {', '.join(get_args(AgentStatus))}; repeatable.",
)
@click.option("--mode", type=click.Choice(get_args(Mode)), help="Only agents in this mode.")
@click.option("--search", default="", help="Only agents with this text in their name or goal.")
def agents(
    client: "Client", statuses: tuple[AgentStatus, ...], mode: Mode | None, search: str
) -> Shown:
    """List agents, oldest first."""
    found = client.agents(status=statuses, mode=mode, text=search)
    is_narrowed = bool(statuses or mode or search)
    none = "no agents yet; create one with: agiraph run GOAL"
    return Listing(found, COLUMNS, "no matching agents" if is_narrowed else none)


@api_command(
    "agiraph show my-agent",
    "agiraph show my-agent --runs",
    "agiraph show my-agent --json",
    json="one JSON object: id, name, goal, status, run, result and more (--runs: an array)",
)
@click.argument("agent")
@click.option("--runs", "lists_runs", is_flag=True, help="List all runs of the agent instead.")
@run_option
def show(client: "Client", agent: str, lists_runs: bool, run_id: str | None) -> Shown:
    """Show AGENT, an id or a name: goal, status, models, run, result."""
    if lists_runs and run_id:
        raise click.UsageError("--runs and --run cannot be used together")
    if lists_runs:
        return Listing(client.runs(agent), RUNS, "no runs yet")
    if run_id:
        return Details(run_of(client, agent, run_id))
    found = client.agent(agent)
    named_by_reason = {"outage", "standstill"} if found.outage is not None else set()
    return Details(found, found.model_dump(mode="json", exclude=named_by_reason))


def run_of(client: "Client", agent: str, wanted: str) -> "RunView":
    """Return the run of an agent whose id begins with `wanted`. Raises InvalidInput."""
    runs = {run.id: run for run in client.runs(agent)}
    return runs[meant("run", wanted, [(id, id) for id in runs])]


@api_command(
    "agiraph archive my-agent",
    "agiraph archive",
    "agiraph restore x",
    json="one JSON object: id, path (without AGENT: an array of agents)",
)
@click.argument("agent", required=False)
def archive(client: "Client", agent: str | None) -> Shown:
    """Stop AGENT and move it to the archive; without AGENT, list the archive.

    Its questions are withdrawn. `agiraph restore` restores it, `agiraph rm` deletes it.
    """
    if agent is None:
        return Listing(client.archived(), COLUMNS, "the archive is empty")
    return Details(client.archive(agent))


@api_command(
    "agiraph restore my-agent",
    "agiraph resume my-agent",
    json="one JSON object: id, name, status and more",
)
@click.argument("agent")
def restore(client: "Client", agent: str) -> Shown:
    """Restore AGENT from the archive; `agiraph resume` then starts it again."""
    back = client.restore(agent)
    return Done(back, f"{back.name} is restored ({back.status})")
