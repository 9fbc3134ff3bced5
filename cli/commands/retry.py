"""`agiraph retry`: a failed node is tried again, and a run that had failed goes on."""

from typing import TYPE_CHECKING

import click

from cli.api_command import api_command
from cli.listing import Done, Shown
from cli.sanitize import one_line

if TYPE_CHECKING:
    from agiraph.http.client import Client

REASON_SHOWN = 300


@api_command(
    "agiraph retry my-agent report",
    "agiraph retry my-agent report --because 'the file is there now'",
    json="one JSON object: the node, as `agiraph board AGENT NODE --json` prints it",
)
@click.argument("agent")
@click.argument("node")
@click.option("--because", default="", help="What is different now; the coordinator reads it.")
def retry(client: "Client", agent: str, node: str, because: str) -> Shown:
    """Try NODE of AGENT again, which has failed, in its folder and with the reason of its failure.

    Nodes that failed only because of it come back with it. A run that has failed goes on; one that
    was completed, and a stage that was closed, do not.
    """
    again = client.retry_node(agent, node, because)
    failed = one_line(again.failed_before, REASON_SHOWN) or "for no stated reason"
    remark = f"watch it: agiraph attach {agent}"
    return Done(again, f"{again.name} is tried again; it had failed: {failed}", remark)
