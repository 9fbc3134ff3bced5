"""`agiraph agents` and `agiraph show`: all agents, and one in detail."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from agiraph.core.errors import unknown
from agiraph.core.models import AgentStatus, Mode
from agiraph.http.api import RunView
from cli.formats import format_time
from cli.listing import Column, print_listing, print_record, to_rows
from cli.options import connect, examples, home_option, json_option, run_option

if TYPE_CHECKING:
    from agiraph.http.client import Client

COLUMNS = (
    Column("ID", "id"),
    Column("NAME", "name", spare=4),
    Column("STATUS", "status"),
    Column("NODES", "node_count", align="right", spare=2),
    Column("WORKERS", "worker_count", align="right", spare=2),
    Column("MODEL", "model", spare=3),
    Column("CREATED", "created_at", format_time, spare=1),
    Column("GOAL", "goal", wide=True),
)

RUNS = (
    Column("RUN", "id"),
    Column("STATUS", "status"),
    Column("STARTED", "started_at", format_time, spare=1),
    Column("ENDED", "ended_at", format_time, spare=2),
    Column("MODEL", "model", spare=3),
    Column("GOAL", "goal", wide=True),
)


@click.command(
    epilog=examples(
        "agiraph agents",
        "agiraph agents --status working --status waiting_for_human",
        "agiraph agents --search survey --json",
    )
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(get_args(AgentStatus)),
    multiple=True,
    help="Only agents in this status; repeatable.",
)
@click.option("--mode", type=click.Choice(get_args(Mode)), help="Only agents in this mode.")
@click.option("--search", default="", help="Only agents with this text in their name or goal.")
@home_option
@json_option("a JSON array: id, name, goal, status, run and more")
def agents(
    statuses: tuple[AgentStatus, ...], mode: Mode | None, search: str, home: Path, as_json: bool
) -> None:
    """List agents, oldest first."""
    with connect(home) as client:
        rows = to_rows(client.agents(status=statuses, mode=mode, text=search))
    is_narrowed = bool(statuses or mode or search)
    empty = (
        "no matching agents" if is_narrowed else "no agents yet; create one with: agiraph run GOAL"
    )
    print_listing(rows, COLUMNS, as_json=as_json, empty=empty)


@click.command(
    epilog=examples(
        "agiraph show my-agent", "agiraph show my-agent --runs", "agiraph show my-agent --json"
    )
)
@click.argument("agent")
@click.option("--runs", "lists_runs", is_flag=True, help="List all runs of the agent instead.")
@run_option
@home_option
@json_option("one JSON object: id, name, goal, status, run, result and more (--runs: an array)")
def show(agent: str, lists_runs: bool, run_id: str | None, home: Path, as_json: bool) -> None:
    """Show one agent, by id or name: goal, status, models, run, result."""
    if lists_runs and run_id:
        raise click.UsageError("--runs and --run cannot be used together")
    with connect(home) as client:
        if lists_runs:
            rows = to_rows(client.runs(agent))
            print_listing(rows, RUNS, as_json=as_json, empty="no runs yet")
            return
        record = _run(client, agent, run_id) if run_id else client.agent(agent)
    print_record(to_rows([record])[0], as_json=as_json)


def _run(client: "Client", agent: str, wanted: str) -> RunView:
    """Return one run of an agent; InvalidInput lists the known."""
    runs = client.runs(agent)
    found = next((run for run in runs if run.id == wanted), None)
    if found is None:
        raise unknown("run", wanted, [run.id for run in runs])
    return found
