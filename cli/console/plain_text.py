"""Plain texts of the console: budgets, folders and files, the board, the tree. Pure.

In the tree the system's processes are below the supervisor, an agent's workers below its
coordinator; a worker whose node is a part of another worker's node is below that worker.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import COORDINATOR_NAME, SUPERVISOR
from agiraph.core.money import Unit, shown
from agiraph.http.api import (
    BoardView,
    BudgetView,
    EntityView,
    FileContentView,
    FileEntryView,
    FolderView,
)
from cli.console.entities import entity_name
from cli.output.formats import format_size
from cli.sanitize import one_line, printable

BINARY_LIMIT: Final = 256


# --- budgets -------------------------------------------------------------------------------------


def format_budget(one: BudgetView) -> str:
    """Return a budget in one line: owner, limits, spent and remaining amounts."""
    per = "a day" if one.period == "day" else "in all"
    limits = "; ".join(
        f"{shown(limit, unit)} {per} ({shown(spent, unit)} spent, {shown(left, unit)} left)"
        for unit, limit, spent, left in limits_of(one)
    )
    by = "" if one.is_own or not limits else ", by the settings"
    return f"{owner_of(one)}: {limits or f'no limit {per}'}{by}"


def owner_of(one: BudgetView) -> str:
    """Return the owner of a budget: the agent, and its trigger or run."""
    match one.scope:
        case "trigger":
            return f"{one.agent_name}, trigger {one.name or one.key}"
        case "run":
            return f"{one.agent_name}, run {one.key}"
        case _:
            return one.agent_name


def limits_of(one: BudgetView) -> list[tuple[Unit, float, float, float]]:
    """Return (unit, limit, spent, left) for each limit of a budget."""
    limits: list[tuple[Unit, float, float, float]] = []
    if one.usd is not None and one.left_usd is not None:
        limits.append(("usd", one.usd, one.spent_usd, one.left_usd))
    if one.tokens is not None and one.left_tokens is not None:
        limits.append(("tokens", one.tokens, one.spent_tokens, one.left_tokens))
    return limits


# --- files and the board -------------------------------------------------------------------------


def format_path(found: FolderView | FileContentView) -> str:
    """Return a folder as one line per entry, or a file's text."""
    if isinstance(found, FileContentView):
        return format_file(found)
    rows = [f"{entry_size(entry):>8}  {entry_name(entry)}" for entry in found.entries]
    if found.is_truncated:
        rows.append("          … and more")
    return "\n".join(rows) or "an empty folder"


def entry_name(entry: FileEntryView) -> str:
    """Return an entry's name; a folder's name ends with '/', a link's with '@'."""
    mark = {"folder": "/", "link": "@"}.get(entry.kind, "")
    return one_line(entry.name) + mark


def entry_size(entry: FileEntryView) -> str:
    """Return a file's size; '' for a folder."""
    return format_size(entry.size) if entry.kind == "file" else ""


def format_file(file: FileContentView) -> str:
    """Return a file's text without control characters; the first bytes of a binary file."""
    if file.encoding == "base64":
        begins = base64.b64decode(file.content)[:BINARY_LIMIT]
        return f"binary, {file.size:,} bytes; the first ones:\n{begins.hex(' ', 4)}"
    more = f"\n… ({file.size:,} bytes in all)" if file.is_truncated else ""
    return printable(file.content).expandtabs(4) + more


def format_board(board: BoardView) -> str:
    """Return one line for each node."""
    rows = [
        f"  {node.status:<10} {one_line(node.name):<24} "
        f"{one_line(node.assigned_worker or '-'):<14} "
        f"{one_line(node.reason or node.summary or node.task, 80)}"
        for node in board.nodes
    ]
    return "\n".join(rows) or "no nodes yet"


# --- the tree of entities ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One entity in a tree: `depth` below the root, `lead` is the branch drawn before its name."""

    row: EntityView
    depth: int
    lead: str = ""


def format_tree(rows: Iterable[TreeRow]) -> str:
    """Return the tree as lines."""
    lines = [
        f"{one.lead}{entity_name(one.row)}  {one.row.state}  {one_line(one.row.doing, 60)}".rstrip()
        for one in rows
    ]
    return "\n".join(lines) or "no entities"


def tree_of(
    agent: str | None, rows: Iterable[EntityView], board: BoardView | None
) -> list[TreeRow]:
    """Return the entities of one agent (None: all, with the system's), parents first."""
    wanted = [row for row in rows if agent is None or row.address.startswith(f"{agent}/")]
    addresses = {row.address for row in wanted}
    parents = _without_cycles({row.address: _parent(row, wanted, board) for row in wanted})
    children: dict[str | None, list[EntityView]] = {}
    for row in wanted:
        parent = parents[row.address]
        is_there = parent in addresses and parent != row.address
        children.setdefault(parent if is_there else None, []).append(row)
    return _branches(children, None, 0, "")


def _branches(
    children: dict[str | None, list[EntityView]], parent: str | None, depth: int, indent: str
) -> list[TreeRow]:
    found: list[TreeRow] = []
    siblings = children.get(parent, [])
    for number, row in enumerate(siblings):
        is_last = number == len(siblings) - 1
        lead = "" if depth == 0 else indent + ("└ " if is_last else "├ ")
        found.append(TreeRow(row, depth, lead))
        below = "" if depth == 0 else indent + ("  " if is_last else "│ ")
        found += _branches(children, row.address, depth + 1, below)
    return found


def _without_cycles(parents: dict[str, str]) -> dict[str, str]:
    """Return parents by address without cycles: two workers may work for each other."""
    straight: dict[str, str] = {}
    for address, parent in parents.items():
        above: str | None = parent
        while above is not None and above != address:
            above = straight.get(above)
        agent = address.partition("/")[0]
        straight[address] = f"{agent}/{COORDINATOR_NAME}" if above == address else parent
    return straight


def _parent(row: EntityView, rows: list[EntityView], board: BoardView | None) -> str:
    agent, slash, inner = row.address.partition("/")
    if not slash or agent in ("tools", "console", "host") or inner == COORDINATOR_NAME:
        return SUPERVISOR
    nodes = board.nodes if board else ()
    held = {node.assigned_worker: node.parent_node for node in nodes}
    holders = {node.name: node.assigned_worker for node in nodes}
    boss = holders.get(held.get(row.name) or "")
    if boss and boss != row.name:
        for other in rows:
            if other.name == boss and other.address.startswith(f"{agent}/"):
                return other.address
    return f"{agent}/{COORDINATOR_NAME}"
