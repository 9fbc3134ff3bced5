"""`agiraph rm` and `prune`: delete agents with all their files, named or because they are old."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agiraph.core.models import ENDED_AGENT
from agiraph.core.naming import meant
from cli.api_command import api_command
from cli.exits import DONE
from cli.options.everywhere import remark
from cli.options.shared import (
    connect,
    connect_to_read,
    duration,
    examples,
    home_option,
    json_option,
)
from cli.output.formats import format_goal, format_size, format_time
from cli.output.listing import Column, Done, Listing, Shown

if TYPE_CHECKING:
    from agiraph.http.api import AgentView, DeletedView
    from agiraph.http.client import Client

OF_PRUNING = "a JSON array of the agents to delete, with --yes deleted: id, name, freed_bytes"
OLD = (
    Column("ID", "id"),
    Column("STATUS", "status"),
    Column("ENDED", "updated_at", format_time),
    Column("NODES", "node_count", align="right", spare=1),
    Column("GOAL", "goal", format_goal, wide=True),
)


@api_command(
    "agiraph rm my-agent",
    "agiraph rm my-agent other-agent --yes",
    "agiraph rm my-agent --force --forget",
    json="a JSON array: id, name, freed_bytes, taught, forgotten",
)
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("-f", "--force", is_flag=True, help="Delete agents at work too, and do not ask.")
@click.option("--forget", is_flag=True, help="Remove their notes, too (agiraph knowledge).")
def rm(client: "Client", agents: tuple[str, ...], yes: bool, force: bool, forget: bool) -> Shown:
    """Delete each AGENT, at home or in the archive, with all its files.

    Its notes stay in the knowledge database, unless --forget is given. This cannot be undone. All
    names are checked first: if one is unknown or still at work, none is deleted.
    """
    live = {one.id: one for one in client.agents()}
    known = live | {one.id: one for one in client.archived()}
    names = [(name, one.id) for one in known.values() for name in (one.name, one.id)]
    chosen = [known[meant("agent", agent, names)] for agent in dict.fromkeys(agents)]
    at_work = [one for one in chosen if one.id in live and one.status not in ENDED_AGENT]
    if at_work and not force:
        rows = ", ".join(f"{one.id} is {one.status}" for one in at_work)
        raise click.ClickException(f"{rows}: `agiraph stop` it first, or delete it with --force")
    if not (yes or force):
        connect(click.get_current_context().params["home"]).close()  # fails early
        whom = ", ".join(f"'{one.name}' ({one.id})" for one in chosen)
        _confirm(f"Delete {whom} with all files permanently?")
    return _deleted([_delete(client, one, is_live=one.id in live, forget=forget) for one in chosen])


delete = rm


@click.command(
    epilog=examples(
        "agiraph prune --older-than 30d",
        "agiraph prune --older-than 30d --dry-run",
        "agiraph prune --older-than 0s --yes",
    )
)
@click.option(
    "--older-than",
    "seconds",
    type=duration(least=0),
    required=True,
    help="Only agents of which nothing has changed for this time, such as 12h, 30d.",
)
@click.option("--dry-run", is_flag=True, help="List the agents that would be deleted; delete none.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@home_option
@json_option(OF_PRUNING)
@click.pass_context
def prune(
    ctx: click.Context, seconds: float, dry_run: bool, yes: bool, home: Path, as_json: bool
) -> None:
    """List the agents that ended long ago, and delete them with all their files once confirmed.

    Agents that have not ended, have triggers, or are in the archive are kept. With --json nothing
    is deleted without --yes.
    """
    with (connect_to_read if dry_run else connect)(home) as client:
        before = time.time() - seconds
        old = [agent for agent in client.agents() if _is_old(agent, before)]
        awaited = [agent for agent in old if _has_triggers(client, agent)]
        for agent in awaited:
            remark(f"{agent.id} is kept: it has triggers (`agiraph triggers {agent.id}`)")
        old = [agent for agent in old if agent not in awaited]
        is_asked = not (yes or dry_run or as_json)
        if not as_json:
            Listing(old, OLD, "no agents to delete").print(as_json=False)
        if old and is_asked:
            noun = "agent" if len(old) == 1 else "agents"
            _confirm(f"Delete {len(old)} {noun} permanently?")
        if not old or dry_run or (as_json and not yes):
            if as_json:
                Listing(old, OLD, "").print(as_json=True)
            ctx.exit(DONE)
        # An agent may have been given another goal while the person decided.
        left = [agent for agent in old if _is_old(client.agent(agent.id), before)]
        freed = [_delete(client, agent, is_live=True) for agent in left]
    ctx.exit(_deleted(freed).print(as_json=as_json))


def _confirm(question: str) -> None:
    """Ask for confirmation. Raises ClickException (exit code 1) if the answer is no."""
    if not click.confirm(question, err=True):
        raise click.ClickException("nothing was deleted")


def _is_old(agent: "AgentView", before: float) -> bool:
    return agent.status in ENDED_AGENT and agent.updated_at <= before


def _has_triggers(client: "Client", agent: "AgentView") -> bool:
    return any(trigger.status in ("active", "paused") for trigger in client.triggers(agent.id))


def _delete(
    client: "Client", agent: "AgentView", *, is_live: bool, forget: bool = False
) -> "DeletedView":
    return client.delete(client.archive(agent.id).id if is_live else agent.id, forget=forget)


def _deleted(deleted: "Iterable[DeletedView]") -> Done:
    rows = list(deleted)
    lines = [f"deleted {one.id} ({format_size(one.freed_bytes)})" for one in rows]
    if taught := sum(one.taught for one in rows):
        whose = "their" if len(rows) > 1 else "its"
        lines.append(f"the notes of {whose} work stay in the knowledge database ({_nodes(taught)})")
    if forgotten := sum(one.forgotten for one in rows):
        lines.append(f"{_nodes(forgotten)} removed from the knowledge database")
    if len(rows) > 1:
        total = format_size(sum(one.freed_bytes for one in rows))
        lines.append(f"{len(rows)} agents deleted, {total} freed")
    return Done(rows, "\n".join(lines))


def _nodes(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"
