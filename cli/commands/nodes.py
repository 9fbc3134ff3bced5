"""`agiraph retry`, `cancel`, `assign`: a person's changes to a node of the board."""

from typing import TYPE_CHECKING

import click

from cli.api_command import api_command
from cli.output.listing import Done, Shown
from cli.sanitize import one_line

if TYPE_CHECKING:
    from agiraph.http.client import Client

REASON_SHOWN = 300
WATCH = "watch it: agiraph attach {agent}"


@api_command(
    "agiraph retry my-agent report",
    "agiraph retry my-agent report --because 'the file is there now'",
    json="one JSON object: the node, as `agiraph board AGENT NODE --json` prints it",
)
@click.argument("agent")
@click.argument("node")
@click.option("--because", default="", help="The reason to try again; the coordinator reads it.")
def retry(client: "Client", agent: str, node: str, because: str) -> Shown:
    """Try a failed NODE of AGENT again, in its folder and with the reason of its failure.

    Nodes that failed only because of it are tried again with it. A failed run continues; a
    completed run and a closed stage do not. A completed node is done once more if no node has
    started with its result; its published files are kept.
    """
    before = client.node(agent, node)
    again = client.retry_node(agent, node, because)
    failed = one_line(again.failed_before, REASON_SHOWN) or "for no stated reason"
    why = "" if before.status == "completed" else f"; it had failed: {failed}"
    return Done(again, f"{again.name} is tried again{why}", WATCH.format(agent=agent))


@api_command(
    "agiraph cancel my-agent report",
    "agiraph cancel my-agent report --because 'we have it already'",
    json="one JSON object: the node, as `agiraph board AGENT NODE --json` prints it",
)
@click.argument("agent")
@click.argument("node")
@click.option("--because", default="", help="Why; the coordinator reads it.")
def cancel(client: "Client", agent: str, node: str, because: str) -> Shown:
    """Cancel NODE of AGENT, which has not ended. Nodes that need it fail."""
    cancelled = client.cancel_node(agent, node, because)
    return Done(cancelled, f"{cancelled.name} is {cancelled.status}")


@api_command(
    "agiraph assign my-agent report --to alice",
    "agiraph assign my-agent report -m anthropic/claude-opus-4-5",
    json="one JSON object: the node, as `agiraph board AGENT NODE --json` prints it",
)
@click.argument("agent")
@click.argument("node")
@click.option("--to", "worker", help="A worker of the team, by name or id.")
@click.option("-m", "--model", help="provider/model: a worker that has it, else a new one.")
@click.option("--because", default="", help="Why; the coordinator and the next worker read it.")
def assign(
    client: "Client", agent: str, node: str, worker: str | None, model: str | None, because: str
) -> Shown:
    """Give NODE of AGENT to another worker, or to a worker with another model.

    A node at work continues there in its next attempt, in its folder, as soon as its worker has
    stopped. A failed node is tried again.
    """
    if worker is None and model is None:
        raise click.UsageError("name a worker (--to), a model (--model), or both")
    moved = client.assign_node(agent, node, worker=worker, model=model, because=because)
    to = " with ".join(filter(None, (worker or "a worker", model)))
    when = " as soon as its worker has released it" if moved.move else ""
    return Done(moved, f"{moved.name} goes to {to}{when}", WATCH.format(agent=agent))
