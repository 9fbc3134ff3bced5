"""`agiraph board` and `agiraph workers`: the nodes and the workers of an agent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from agiraph.core.hosts import is_other_machine
from agiraph.core.titles import SENTENCE_END
from cli.api_command import api_command
from cli.options.shared import run_option
from cli.output.formats import as_is, entity_name, format_goal
from cli.output.listing import Column, Details, JsonObject, Listing, Shown, to_rows

if TYPE_CHECKING:
    from agiraph.http.client import Client


def _stage(value: Any) -> str:
    return str(value + 1) if isinstance(value, int) else ""


def _labels(value: Any) -> str:
    return ", ".join(value or ())


def summary_of(row: JsonObject, steps: Mapping[str, str]) -> str:
    """Return why a node ended, else the step of its worker, else its task's first sentence."""
    ended = row.get("reason") or row.get("summary")
    step = steps.get(str(row.get("assigned_worker")), "") if row["status"] == "running" else ""
    return str(ended or step or format_goal(SENTENCE_END.split(as_is(row.get("task")), 1)[0]))


NODES = (
    Column("NODE", "name"),
    Column("ID", "id", spare=3),
    Column("STATUS", "status"),
    Column("STAGE", "stage", _stage, align="right", spare=2),
    Column("WORKER", "assigned_worker", entity_name),
    Column("LABELS", "labels", _labels, spare=4),
    Column("SUMMARY", "", wide=True),
)
BEHIND_WORKER = [column.key for column in NODES].index("assigned_worker") + 1

WORKERS = (
    Column("WORKER", "name"),
    Column("ID", "id", spare=3),
    Column("STATUS", "status"),
    Column("ROLE", "role", spare=2),
    Column("NODE", "node"),
    Column("HOST", "host"),
    Column("MODEL", "model", spare=4),
    Column("STEP", "step", wide=True),
)


@api_command(
    "agiraph board my-agent",
    "agiraph board my-agent survey",
    json="a JSON array: id, name, role, task, status, summary and more; with NODE one object",
)
@click.argument("agent")
@click.argument("node", required=False)
@run_option
def board(client: "Client", agent: str, node: str | None, run_id: str | None) -> Shown:
    """List the nodes of the work board of AGENT, an id or a name, in the order of their creation.

    With NODE, a name or an id: show that node in detail, with its checks and their evidence.
    """
    if node:
        detail = client.node(agent, node, run=run_id)
        return Details(detail, _readable(to_rows([detail])[0]))
    nodes = client.board(agent, run=run_id).nodes
    team = client.workers(agent, run=run_id)
    hosts = {one.name: one.host for one in team}
    steps = {one.name: one.doing or one.step for one in team}
    columns = [*NODES[:-1], replace(NODES[-1], show=lambda row: summary_of(row, steps))]
    if any(map(is_other_machine, hosts.values())):
        columns.insert(
            BEHIND_WORKER, Column("HOST", "assigned_worker", lambda name: hosts.get(name, ""))
        )
    return Listing(nodes, columns, "no nodes yet")


def _readable(detail: JsonObject) -> JsonObject:
    """Return a node for people: lists as lines, each check with its outcome, sums of usage."""
    evidence = detail.pop("evidence") or {}
    detail.pop("result_preview", None)
    detail["stage"] = _stage(detail["stage"])
    detail["optional"] = "yes" if detail["optional"] else ""
    shown = {key: _lines(value) for key, value in detail.items()}
    ended = [_ended(check) for check in evidence.get("checks", [])]
    sums = [f"{digest}  {path}" for path, digest in evidence.get("artifacts", {}).items()]
    return shown | {"evidence": "\n".join(ended), "sha256": "\n".join(sums)}


def _ended(check: JsonObject) -> str:
    bare = "" if check.get("is_walled") else ", without a sandbox"
    return f"$ {check['command']}  [exit code {check['exit_code']}{bare}]"


def _lines(value: Any) -> Any:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {one}" for key, one in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else value


@api_command(
    "agiraph workers my-agent",
    "agiraph workers my-agent --json",
    json="a JSON array: id, name, type, role, model, status, node and more",
)
@click.argument("agent")
@run_option
def workers(client: "Client", agent: str, run_id: str | None) -> Shown:
    """List the workers of AGENT, an id or a name, and the activity of each."""
    found = client.workers(agent, run=run_id)
    are_far = any(is_other_machine(one.host) for one in found)
    columns = [one for one in WORKERS if are_far or one.key != "host"]
    return Listing(found, columns, "no workers yet")
