"""`agiraph board` and `agiraph workers`: the nodes and the workers of an agent."""

from pathlib import Path
from typing import Any

import click

from cli.formats import entity_name
from cli.listing import Column, print_listing, print_record, to_rows
from cli.options import connect, examples, home_option, json_option, run_option


def _stage(value: Any) -> str:
    return str(value + 1) if isinstance(value, int) else ""


def _labels(value: Any) -> str:
    return ", ".join(value or ())


NODES = (
    Column("NODE", "name"),
    Column("ID", "id", spare=3),
    Column("STATUS", "status"),
    Column("STAGE", "stage", _stage, align="right", spare=2),
    Column("WORKER", "assigned_worker", entity_name),
    Column("LABELS", "labels", _labels, spare=4),
    Column("SUMMARY", "shown", wide=True),
)

WORKERS = (
    Column("WORKER", "name"),
    Column("ID", "id", spare=3),
    Column("STATUS", "status"),
    Column("ROLE", "role", spare=2),
    Column("NODE", "node"),
    Column("MODEL", "model", spare=4),
    Column("STEP", "step", wide=True),
)


@click.command(epilog=examples("agiraph board my-agent", "agiraph board my-agent survey"))
@click.argument("agent")
@click.argument("node", required=False)
@run_option
@home_option
@json_option("a JSON array: id, name, role, task, status, summary and more; with NODE one object")
def board(agent: str, node: str | None, run_id: str | None, home: Path, as_json: bool) -> None:
    """List the nodes of an agent's work board, in the order in which they were created.

    With NODE, a name or an id: show that node in detail, with its checks and their evidence.
    """
    with connect(home) as client:
        if node:
            detail = to_rows([client.node(agent, node, run=run_id)])[0]
            print_record(detail if as_json else _readable(detail), as_json=as_json)
            return
        rows = to_rows(client.board(agent, run=run_id).nodes)
    if not as_json:
        rows = [row | {"shown": _summary(row)} for row in rows]
    print_listing(rows, NODES, as_json=as_json, empty="no nodes yet")


def _readable(detail: dict[str, Any]) -> dict[str, Any]:
    """Return a node for people: lists as lines, evidence as the outcome of each check, and sums."""
    evidence = detail.pop("evidence") or {}
    detail.pop("result_preview", None)
    shown = {key: _lines(value) for key, value in detail.items()}
    ended = [_ended(check) for check in evidence.get("checks", [])]
    sums = [f"{digest}  {path}" for path, digest in evidence.get("artifacts", {}).items()]
    return shown | {"evidence": "\n".join(ended), "sha256": "\n".join(sums)}


def _ended(check: dict[str, Any]) -> str:
    bare = "" if check.get("is_walled") else ", without a sandbox"
    return f"$ {check['command']}  [exit code {check['exit_code']}{bare}]"


def _lines(value: Any) -> Any:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {one}" for key, one in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _summary(row: dict[str, Any]) -> str:
    return str(row.get("reason") or row.get("summary") or row.get("task") or "")


@click.command(epilog=examples("agiraph workers my-agent", "agiraph workers my-agent --json"))
@click.argument("agent")
@run_option
@home_option
@json_option("a JSON array: id, name, type, role, model, status, node and more")
def workers(agent: str, run_id: str | None, home: Path, as_json: bool) -> None:
    """List an agent's workers and what each is doing."""
    with connect(home) as client:
        rows = to_rows(client.workers(agent, run=run_id))
    print_listing(rows, WORKERS, as_json=as_json, empty="no workers yet")
