"""`agiraph ps`, `top`, the acts that steer an entity (`pause` ... `kill`), and `dead` letters."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.hosts import is_other_machine
from agiraph.core.ids import SUPERVISOR
from agiraph.http.api import EntityAct
from agiraph.storage.disk_space import has_room
from cli.api_command import api_command, api_group
from cli.commands.console import is_screen
from cli.console.entities import SORTS, ordered, top_rows
from cli.exits import START_ONE
from cli.options.everywhere import remark
from cli.options.remote import is_elsewhere
from cli.options.shared import cli_context, duration, examples, home_option, json_option
from cli.output.formats import (
    format_age,
    format_count,
    format_money,
    format_percent,
    format_size,
    format_time,
    state_label,
    with_estimate,
)
from cli.output.listing import Column, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.client import Client

WAITING = "processes that write wait until there is room"
PROCESSES = (
    Column("ADDRESS", "address"),
    Column("KIND", "kind", spare=6),
    Column("STATE", "state", state_label),
    Column("HOST", "host"),
    Column("PID", "pid", align="right"),
    Column("RESTARTS", "restarts", format_count, align="right", spare=3),
    Column("CPU", "cpu", format_percent, align="right", spare=5),
    Column("MEMORY", "memory_bytes", format_size, align="right", spare=4),
    Column("MAIL", "mailbox", format_count, align="right", spare=2),
    Column("TOKENS", "", with_estimate("tokens", format_count), align="right", spare=1),
    Column("COST", "", with_estimate("cost_usd", format_money), align="right"),
    Column("DOING", "doing", wide=True),
)
ENTITIES = (
    Column("ENTITY", "label"),
    Column("STATE", "state", state_label),
    Column("CPU", "cpu", format_percent, align="right"),
    Column("MEMORY", "memory", format_size, align="right", spare=2),
    Column("MAIL", "mail", format_count, align="right", spare=1),
    Column("AGE", "age", format_age, align="right"),
    Column("TOKENS", "", with_estimate("tokens", format_count), align="right"),
    Column("COST", "", with_estimate("cost", format_money), align="right"),
    Column("DOING", "doing", wide=True),
)
STEERED = (Column("ADDRESS", "address"), Column("STATE", "state"))
DEAD = (
    Column("ID", "id"),
    Column("TO", "to"),
    Column("FROM", "from", spare=2),
    Column("TYPE", "type"),
    Column("SINCE", "at", format_time, spare=1),
    Column("CAUSE", "cause", wide=True),
)


@api_command(
    "agiraph ps",
    "agiraph ps my-agent",
    "agiraph ps --json",
    json="a JSON array: address, kind, name, state, pid, cpu, tokens and more",
)
@click.argument("agent", required=False)
def ps(client: "Client", agent: str | None) -> Shown:
    """List every entity: services, coordinators and workers.

    With AGENT (an id or a name): only its coordinator and workers. Without a supervisor nothing
    runs: these are the entities that it had.
    """
    found = client.entities()
    are_far = any(is_other_machine(one.host) for one in found)
    columns = [one for one in PROCESSES if are_far or one.key != "host"]
    home = click.get_current_context().params["home"]
    if any((one.address, one.state) == (SUPERVISOR, "stopped") for one in found):
        remark(f"agiraph: no supervisor runs on home {home}, so nothing runs; {START_ONE}")
    if agent is not None:
        prefix = f"{client.agent(agent).id}/"
        found = [entity for entity in found if entity.address.startswith(prefix)]
    if not (is_elsewhere() or has_room(home)):
        remark(f"agiraph: the disk of {home} is full: {WAITING}")
    return Listing(found, columns, "no entities")


@click.command(
    epilog=examples("agiraph top", "agiraph top my-agent --sort tokens", "agiraph top --once")
)
@click.argument("agent", required=False)
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="entity",
    show_default=True,
    help="The column to sort by.",
)
@click.option(
    "--every", "every_seconds", type=duration(least=0.2), default="1s", show_default=True,
    help="Time between refreshes.",
)  # fmt: skip
@click.option(
    "--once", "--plain", is_flag=True, help="Print one table [default: if this is not a terminal]."
)
@home_option
@json_option("a JSON array: the rows of `agiraph ps`, sorted")
def top(
    agent: str | None, sort: str, every_seconds: float, once: bool, home: Path, as_json: bool
) -> None:
    """Watch every entity: state, CPU, memory, mail, age of its step, tokens, cost.

    Left and right change the sorting; Enter opens the console on an entity; p pauses, r resumes,
    i interrupts, s stops, k kills, q quits. With AGENT: only its coordinator and workers.
    """
    connect = cli_context().connect
    with connect(home) as client:
        chosen = client.agent(agent).id if agent else None
        if as_json or once or not is_screen():
            found = {entity.address: entity for entity in client.entities()}
            rows = ordered(top_rows(list(found.values()), time.time(), chosen), sort)
            shown = [{key: getattr(row, key) for key in row.__slots__} for row in rows]
            records = [found[row.address] for row in rows]
            Listing(records, ENTITIES, "no entities", shown).print(as_json=as_json)
            return
    from cli.console.ui.main import show_top

    show_top(lambda: connect(home), chosen, sort, every_seconds)


# --- steering ------------------------------------------------------------------------------------

AN_ENTITY = "ENTITY is an address as `agiraph ps` lists it, or an agent's id or name"
A_TEAM = f"{AN_ENTITY}, which means its coordinator and all its workers."


def _steering(act: EntityAct, effect: str, entity: str = f"{AN_ENTITY}.") -> click.Command:
    """Return the command for one act on an entity."""

    @api_command(
        f"agiraph {act} my-agent",
        f"agiraph {act} my-agent/alice-3fa9c1",
        json="a JSON array: address, state",
        name=act,
        help=f"{effect}\n\n{entity}",
    )
    @click.argument("entity")
    def command(client: "Client", entity: str) -> Shown:
        return Listing(client.act(entity, act).entities, STEERED, f"nothing to {act}")

    return command


pause = _steering("pause", "Pause ENTITY at its next step, until it is resumed.", A_TEAM)
resume = _steering(
    "resume", "Resume a paused ENTITY; a stopped agent is started again where it was."
)
step = _steering(
    "step", "Let a paused ENTITY do one step (an answer of its model, or one call of a tool)."
)
interrupt = _steering(
    "interrupt",
    "Cancel the current step of ENTITY, a model's answer or a tool call; it is informed and "
    "continues. To say why, use `agiraph send --mode interrupt`.",
    A_TEAM,
)
stop = _steering(
    "stop",
    "Stop ENTITY within five seconds, whatever it is doing; it can be resumed where it was.",
    A_TEAM,
)
restart = _steering(
    "restart", "Stop the process of ENTITY and start it again; it continues where it was."
)
kill = _steering("kill", "Kill the process of ENTITY (SIGKILL); the supervisor starts it again.")


# --- dead letters --------------------------------------------------------------------------------


@api_group(
    "agiraph dead",
    "agiraph dead retry ID",
    json="a JSON array: id, agent, to, from, type, cause, at, size",
)
def dead(client: "Client") -> Shown:
    """List the dead letters: messages that each crashed their receiver three times."""
    return Listing(client.dead_letters(), DEAD, "no dead letters")


@api_command(
    "agiraph dead retry d-3fa9c1d20b7e",
    json="one JSON object: the letter that was sent back",
    group=dead,
)
@click.argument("letter")
def retry(client: "Client", letter: str) -> Shown:
    """Send LETTER to its receiver again, with three new attempts."""
    sent = client.retry_dead_letter(letter)
    return Done(sent, f"sent to {sent.to} again")
