"""The members of a team: who each is, what it does, since when, at what cost. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.http.api import BoardView, EntityView
from cli.sanitize import one_line, short_name

# A sign for each state, so that it can be seen without colours.
SIGNS: Final = {
    "busy": "●",
    "ready": "●",
    "starting": "◌",
    "backing_off": "◌",
    "idle": "○",
    "parked": "○",
    "exited": "·",
    "stopped": "■",
    "stopping": "■",
    "paused": "‖",
    "waiting_for_human": "?",
    "waiting_for_nodes": "…",
    "failed": "✗",
}


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One entity of the team. `key` is its address without the agent."""

    key: str
    name: str
    address: str
    state: str
    doing: str = ""
    since: float | None = None
    tokens: int = 0
    cost_usd: float | None = None
    mailbox: int = 0
    node: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Return what it is called, in small letters."""
        return frozenset({self.key.casefold(), self.name.casefold()})

    @property
    def sign(self) -> str:
        """Return one character for its state."""
        return SIGNS.get(self.state, "·")


def members_of(
    agent: str, rows: Iterable[EntityView], board: BoardView | None
) -> tuple[MemberRow, ...]:
    """Return the members of one agent's team, the coordinator first, then workers by name."""
    nodes = {
        node.assigned_worker: node.name
        for node in (board.nodes if board else ())
        if node.assigned_worker and node.status in ("assigned", "running", "blocked")
    }
    found = [_member(row, nodes) for row in rows if row.address.startswith(f"{agent}/")]
    return tuple(sorted(found, key=lambda one: (one.key != COORDINATOR_NAME, one.name, one.key)))


def _member(row: EntityView, nodes: dict[str, str]) -> MemberRow:
    key = row.address.partition("/")[2]
    name = COORDINATOR_NAME if key == COORDINATOR_NAME else one_line(row.name, 40)
    if name == row.address:
        name = short_name(key)
    return MemberRow(
        key=key,
        name=name,
        address=row.address,
        state=row.state,
        doing=one_line(row.doing or row.step, 120),
        since=row.doing_since,
        tokens=row.tokens,
        cost_usd=row.cost_usd,
        mailbox=row.mailbox,
        node=one_line(nodes.get(row.name, ""), 40),
    )
