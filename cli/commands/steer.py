"""`agiraph pause`, `resume`, `stop`, `restart`, `kill`: steer one entity or a whole agent."""

from pathlib import Path

import click

from agiraph.http.api import EntityAct
from cli.listing import Column, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option

COLUMNS = (Column("ADDRESS", "address"), Column("STATE", "state"))


def _command(act: EntityAct, what: str) -> click.Command:
    """Return the command of one act; `what` is its help."""

    @click.command(
        act,
        help=what,
        epilog=examples(f"agiraph {act} my-agent", f"agiraph {act} my-agent/alice-3fa9c1"),
    )
    @click.argument("entity")
    @home_option
    @json_option("a JSON array: address, state")
    def command(entity: str, home: Path, as_json: bool) -> None:
        with connect(home) as client:
            rows = to_rows(client.act(entity, act).entities)
        print_listing(rows, COLUMNS, as_json=as_json, empty=f"nothing to {act}")

    return command


pause = _command(
    "pause",
    "Pause ENTITY at its next step, until it is resumed.\n\n"
    "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name, which means its "
    "coordinator and all its workers.",
)
resume = _command(
    "resume",
    "Resume a paused ENTITY; a stopped agent is started again where it was.\n\n"
    "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name.",
)
stop = _command(
    "stop",
    "Stop ENTITY within five seconds, whatever it is doing; it can be resumed where it was.\n\n"
    "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name, which means its "
    "coordinator and all its workers.",
)
restart = _command(
    "restart",
    "Stop the process of ENTITY and start it again; it continues where it was.\n\n"
    "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name.",
)
kill = _command(
    "kill",
    "Kill the process of ENTITY (SIGKILL); the supervisor starts it again.\n\n"
    "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name.",
)
