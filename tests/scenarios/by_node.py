"""A brain whose workers play the node they hold, whoever it was given to."""

from collections.abc import Mapping, Sequence

from agiraph.core.turns import AssistantTurn, UserTurn
from tests.fakes.model_server import Brain, Reply, Script, SeenRequest

Plays = Sequence[Reply | Brain]
HEAD = "# Assignment: "


def node_of(seen: SeenRequest) -> str:
    """Return the name of the node that a worker holds; empty for a coordinator."""
    return _place_of(seen)[0]


def step_of(seen: SeenRequest) -> int:
    """Return how many answers it has given on that node."""
    return _place_of(seen)[1]


def by_node(coordinator: Plays, nodes: Mapping[str, Plays]) -> Brain:
    """Return a brain that plays the steps of a coordinator, and of whoever holds each node."""

    def work(seen: SeenRequest) -> Reply:
        name, step = _place_of(seen)
        if name not in nodes or step >= len(nodes[name]):
            raise LookupError(f"there is no step {step} of node {name!r}")
        chosen = nodes[name][step]
        return chosen(seen) if callable(chosen) else chosen

    return Script({"coordinator": coordinator, "*": work})


def _place_of(seen: SeenRequest) -> tuple[str, int]:
    name, step = "", 0
    for turn in seen.turns:
        if isinstance(turn, UserTurn) and HEAD in turn.content:
            name, step = turn.content.split(HEAD, 1)[1].splitlines()[0].strip(), 0
        elif isinstance(turn, AssistantTurn):
            step += 1
    return name, step
