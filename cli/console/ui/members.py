"""Members: the rows at the side, one an entity: who it is, what it does, since when, at what cost.

Pure. Made from the rows of `GET /entities`, in the order: coordinator, workers by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.http.api import BoardView, EntityView
from cli.console.event_text import short_name
from cli.console.sanitize import one_line

EVERYONE: Final = "*"

# A sign for each state, so that it can be told without colours.
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
class TeamMember:
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
) -> tuple[TeamMember, ...]:
    """Return the members of one agent's team."""
    nodes = {
        node.assigned_worker: node.name
        for node in (board.nodes if board else ())
        if node.assigned_worker and node.status in ("assigned", "running", "blocked")
    }
    found = [_member(row, nodes) for row in rows if row.address.startswith(f"{agent}/")]
    return tuple(sorted(found, key=lambda one: (one.key != COORDINATOR_NAME, one.name, one.key)))


def _member(row: EntityView, nodes: dict[str, str]) -> TeamMember:
    key = row.address.partition("/")[2]
    name = COORDINATOR_NAME if key == COORDINATOR_NAME else one_line(row.name, 40)
    if name == row.address:
        name = short_name(key)
    return TeamMember(
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


def age(seconds: float) -> str:
    """Return a length of time in at most four characters: `7s`, `12m`, `3h`, `2d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def tokens_told(tokens: int) -> str:
    """Return a number of tokens in at most five characters: `812`, `12.3k`, `4.5M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 100_000:
        return f"{tokens / 1000:.1f}k"
    return f"{tokens / 1000:.0f}k" if tokens < 1_000_000 else f"{tokens / 1e6:.1f}M"


def money_told(cost: float | None) -> str:
    """Return dollars, the smallest with four digits; nothing for an unknown price."""
    if cost is None:
        return ""
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:,.2f}"
