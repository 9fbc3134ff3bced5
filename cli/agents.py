"""`agiraph agents` and `agiraph show`: all agents, and one with all that is known of it."""

from pathlib import Path

import click

from cli.listing import Column, clock_time, print_listing, print_record, to_rows
from cli.options import connect, examples, home_option, json_option

COLUMNS = (
    Column("ID", "id"),
    Column("NAME", "name", spare=4),
    Column("STATUS", "status"),
    Column("NODES", "node_count", align="right", spare=2),
    Column("WORKERS", "worker_count", align="right", spare=2),
    Column("MODEL", "model", spare=3),
    Column("CREATED", "created_at", clock_time, spare=1),
    Column("GOAL", "goal", wide=True),
)


@click.command(epilog=examples("agiraph agents", "agiraph agents --json"))
@home_option
@json_option("a JSON array: id, name, goal, status, run and more")
def agents(home: Path, as_json: bool) -> None:
    """List all agents, oldest first."""
    with connect(home) as client:
        rows = to_rows(client.agents())
    print_listing(rows, COLUMNS, as_json=as_json, empty="no agent yet: agiraph run GOAL")


@click.command(epilog=examples("agiraph show my-agent", "agiraph show my-agent --json"))
@click.argument("agent")
@home_option
@json_option("one JSON object: id, name, goal, status, run, result and more")
def show(agent: str, home: Path, as_json: bool) -> None:
    """Show one agent, by id or name: goal, status, models, run, result."""
    with connect(home) as client:
        record = client.agent(agent)
    print_record(to_rows([record])[0], as_json=as_json)
