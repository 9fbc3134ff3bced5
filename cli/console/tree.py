"""The tree of entities: who was started by whom. Pure.

The system's processes stand under the supervisor, an agent's workers under its coordinator; a
worker whose node is a part of another worker's node stands under that worker.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agiraph.core.ids import COORDINATOR_NAME, SUPERVISOR
from agiraph.http.api import BoardView, EntityView
from cli.console.event_text import short_name
from cli.console.sanitize import one_line


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One entity in its place: `depth` from the root, `is_last` among its siblings."""

    row: EntityView
    depth: int
    lead: str = ""

    @property
    def name(self) -> str:
        """Return what it is called, without control characters."""
        key = self.row.address.partition("/")[2] or self.row.address
        named = key if key == COORDINATOR_NAME else self.row.name
        return one_line(short_name(key) if named == self.row.address else named, 40)


def grown(agent: str | None, rows: Iterable[EntityView], board: BoardView | None) -> list[TreeRow]:
    """Return the entities of one agent (None: of all, and the system's), parents first."""
    wanted = [row for row in rows if agent is None or row.address.startswith(f"{agent}/")]
    addresses = {row.address for row in wanted}
    parents = _without_rings({row.address: _parent(row, wanted, board) for row in wanted})
    children: dict[str | None, list[EntityView]] = {}
    for row in wanted:
        parent = parents[row.address]
        is_there = parent in addresses and parent != row.address
        children.setdefault(parent if is_there else None, []).append(row)
    return _twigs(children, None, 0, "")


def told_tree(entries: Iterable[TreeRow]) -> str:
    """Return the tree as lines."""
    lines = [
        f"{entry.lead}{entry.name}  {entry.row.state}  {one_line(entry.row.doing, 60)}".rstrip()
        for entry in entries
    ]
    return "\n".join(lines) or "no entity"


def _twigs(
    children: dict[str | None, list[EntityView]],
    parent: str | None,
    depth: int,
    indent: str,
) -> list[TreeRow]:
    found: list[TreeRow] = []
    siblings = children.get(parent, [])
    for number, row in enumerate(siblings):
        is_last = number == len(siblings) - 1
        lead = "" if depth == 0 else indent + ("└ " if is_last else "├ ")
        found.append(TreeRow(row, depth, lead))
        below = "" if depth == 0 else indent + ("  " if is_last else "│ ")
        found += _twigs(children, row.address, depth + 1, below)
    return found


def _without_rings(parents: dict[str, str]) -> dict[str, str]:
    """Return parents of which nobody is their own: two workers may work for each other's nodes."""
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
    held = {node.assigned_worker: node.parent_node for node in (board.nodes if board else ())}
    holders = {node.name: node.assigned_worker for node in (board.nodes if board else ())}
    boss = holders.get(held.get(row.name) or "")
    if boss and boss != row.name:
        for other in rows:
            if other.name == boss and other.address.startswith(f"{agent}/"):
                return other.address
    return f"{agent}/{COORDINATOR_NAME}"
