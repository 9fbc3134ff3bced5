"""Causality: the events that a firing has caused, derived from the event log alone.

A trigger never wakes itself: it ignores all effects of its own firing, or of a firing caused by it.

The actions of a coordinator between reading a firing and becoming idle are caused by that firing;
so is every node that it creates meanwhile, and all events of such a node and of its sub-nodes,
regardless of their worker. When the coordinator waits or is idle, its next actions are caused by
the event that ends the wait: the node that ended (with its lineage), or a message from outside
(with none).

The lineage of an event are the ids of the triggers that caused it. The fold is pure, its state is
stored with the triggers, and the events are applied in the log's order.
"""

from pydantic import Field

from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME
from agiraph.core.models import Event
from agiraph.core.record import Record

Lineage = tuple[str, ...]

MACHINERY = ("trigger.", "entity.", "child.", "worker.")
ENDS = frozenset({"node.completed", "node.failed", "node.cancelled"})
RESTS = "end_cycle"
WAITS = "wait"
NODES_KEPT = 2000


class Causality(Record):
    """The causality of the events so far.

    `acting`: the lineage of the coordinator's present actions. `woke`: the lineage of the nodes
    that ended since its last stimulus. `last`: the lineage of its actions before it became idle;
    its actions after that, and its messages to the human, have the same lineage. `nodes`: the
    lineage of each node.
    """

    acting: Lineage = ()
    woke: Lineage = ()
    last: Lineage = ()
    last_node: Lineage = ()
    is_resting: bool = True
    nodes: dict[str, Lineage] = Field(default_factory=dict)


def follow(causality: Causality, event: Event) -> tuple[Causality, Lineage]:
    """Apply one event; return the causality after it and the event's lineage."""
    stated = _stated(event)
    if stated and event.type not in ("node.created", "message.received"):
        return causality, stated
    if event.type.startswith("worker."):
        return causality, _joined(causality.acting, causality.last_node)
    if event.node_id is not None:
        return _follow_node(causality, event)
    name = event.entity.rpartition("/")[2]
    if name == COORDINATOR_NAME:
        return _follow_coordinator(causality, event)
    if name == HUMAN_NAME and event.type == "message.received":
        return causality, causality.last if causality.is_resting else causality.acting
    return causality, ()


def is_activity(event: Event) -> bool:
    """Whether an event is an activity of the agent, not of the runtime.

    A message to the human counts when it is sent, not again when it arrives.
    """
    if event.type == "message.received" and event.entity == HUMAN_NAME:
        return False
    return not event.type.startswith(MACHINERY)


def _follow_node(causality: Causality, event: Event) -> tuple[Causality, Lineage]:
    known = causality.nodes.get(str(event.node_id), ())
    if event.type == "node.created":
        parent = causality.nodes.get(str(event.data.get("parent_node")), ())
        known = _stated(event) or _joined(causality.acting, parent)
        if known:
            causality = _changed(
                causality, nodes=_kept({**causality.nodes, str(event.node_id): known})
            )
    if event.type in ENDS:
        causality = _changed(causality, woke=_joined(causality.woke, known))
    return _changed(causality, last_node=known), known


def _follow_coordinator(causality: Causality, event: Event) -> tuple[Causality, Lineage]:
    match event.type:
        case "message.received":
            return _on_message(causality, event)
        case "model.answered" if not event.data.get("interrupted"):
            return _on_answer(causality, event)
        case "tool.result" if event.data.get("tool") == WAITS:
            return _changed(causality, acting=causality.woke, woke=()), causality.acting
        case "tool.result" if event.data.get("tool") == RESTS and not event.data.get("is_error"):
            return _changed(
                causality, acting=(), last=causality.acting, is_resting=True
            ), causality.acting
        case _:
            return causality, causality.last if causality.is_resting else causality.acting


def _on_message(causality: Causality, event: Event) -> tuple[Causality, Lineage]:
    """Return the causality after a message to the coordinator, and the event's lineage.

    A firing is added to the lineage of the present actions. The further actions of an idle
    coordinator have the lineage of the message alone.
    """
    firing = _stated(event)
    if firing:
        acting = _joined(() if causality.is_resting else causality.acting, firing)
        return _changed(causality, acting=acting, is_resting=False), acting
    acting = () if causality.is_resting else causality.acting
    return _changed(causality, acting=acting, is_resting=False), ()


def _on_answer(causality: Causality, event: Event) -> tuple[Causality, Lineage]:
    """Return the state after a coordinator's answer, and the triggers that caused the answer.

    An answer of an idle coordinator is attributed to the ended nodes; without calls the coordinator
    is idle again.
    """
    acting = causality.woke if causality.is_resting else causality.acting
    if event.data.get("calls"):
        return _changed(causality, acting=acting, woke=(), is_resting=False), acting
    return _changed(causality, acting=(), woke=(), last=acting, is_resting=True), acting


def _stated(event: Event) -> Lineage:
    """Return the lineage that an event itself states."""
    lineage = event.data.get("lineage")
    return tuple(map(str, lineage)) if isinstance(lineage, list | tuple) else ()


def _changed(causality: Causality, **changes: object) -> Causality:
    return causality.model_copy(update=changes)


def _joined(one: Lineage, other: Lineage) -> Lineage:
    return tuple(dict.fromkeys((*one, *other)))


def _kept(nodes: dict[str, Lineage]) -> dict[str, Lineage]:
    return dict(list(nodes.items())[-NODES_KEPT:])
