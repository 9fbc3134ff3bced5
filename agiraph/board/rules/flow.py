"""Rules of flow: whether a node runs, by conditions on its dependencies, and how often.

A node is decided once, as soon as all its dependencies have ended as completed or skipped. An edge
counts if its dependency was completed and its condition (`when`, an expression over the
dependency's result) is true. A node is skipped if none of its edges counts; it fails if a condition
cannot be evaluated. A node with `for_each` is then replaced by one copy for each item of the list:
the copies become the dependencies of all nodes that depend on it.

Decisions are journaled, together with the results on which they are based.
"""

import json
import re
from typing import Any

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent
from agiraph.board.names import find_node, free_name, new_id
from agiraph.board.rules.runs import require_running
from agiraph.core.expressions import ExpressionFailed, evaluate
from agiraph.core.ids import NodeId
from agiraph.core.models import WorkNode
from agiraph.core.specs import ForEach

SEEN_CHARACTERS = 500
NO_RESULT = "; '{name}' published no result.json that can be read, so its result is null"


class _Undecidable(Exception):
    """The conditions of a node cannot be evaluated; the node fails with this text as its reason."""


def decide_node(board: Board, command: c.DecideNode, now: float) -> tuple[BoardEvent, ...]:
    """Decide whether a node runs, is skipped, or becomes several; () if that is done already."""
    require_running(board)
    node = find_node(board, command.node)
    if not board.is_undecided(node) or board.waiting_for(node):
        return ()
    try:
        edges = node.edges or {
            one: _counts(board, node, board.nodes[one]) for one in node.dependencies
        }
        decided: tuple[BoardEvent, ...] = ()
        if node.when and not node.edges:
            seen = {one: _seen(board.nodes[one]) for one in node.when}
            decided = (e.NodeConditionsDecided(ts=now, node_id=node.id, edges=edges, seen=seen),)
        if edges and not any(edges.values()):
            return (*decided, e.NodeSkipped(ts=now, node_id=node.id, reason=_why(board, node)))
        if node.for_each is None:
            return decided
        return (*decided, *_expanded(board, node, node.for_each, edges, now))
    except _Undecidable as error:
        return (e.NodeFailed(ts=now, node_id=node.id, reason=str(error)),)


def refs_of(board: Board, node: WorkNode) -> dict[str, str]:
    """Return the refs of a node, without refs to dependencies that were skipped or do not count."""
    idle = [
        board.nodes[one]
        for one in node.dependencies
        if not node.edges.get(one, board.nodes[one].status != "skipped")
    ]
    folders = {other.folder for other in idle}
    return {n: path for n, path in node.refs.items() if path.split("/")[1] not in folders}


def _counts(board: Board, node: WorkNode, other: WorkNode) -> bool:
    condition = node.when.get(other.id)
    if other.status != "completed" or condition is None:
        return other.status != "skipped"
    return bool(_answer(condition, other, "the condition of its edge from"))


def _answer(expression: str, other: WorkNode, what: str) -> Any:
    try:
        return evaluate(expression, other.value)
    except ExpressionFailed as error:
        hint = NO_RESULT.format(name=other.name) if other.value is None else ""
        why = f"{what} '{other.name}', {expression!r}, has no answer: {error}{hint}"
        raise _Undecidable(why) from None


def _seen(node: WorkNode) -> str:
    text = json.dumps(node.value, ensure_ascii=False)
    return text if len(text) <= SEEN_CHARACTERS else f"{text[:SEEN_CHARACTERS]} ..."


def _why(board: Board, node: WorkNode) -> str:
    told = []
    for other in (board.nodes[one] for one in node.dependencies):
        is_skipped = other.status == "skipped"
        told.append(
            f"'{other.name}' was skipped"
            if is_skipped
            else f"{node.when[other.id]!r} is false for '{other.name}'"
        )
    return "; ".join(told)


# --- one node for each item ----------------------------------------------------------------------


def _expanded(
    board: Board, node: WorkNode, each: ForEach, edges: dict[NodeId, bool], now: float
) -> tuple[BoardEvent, ...]:
    """Return the events that replace a node by copies, one per item, or skip it without items."""
    source = board.nodes[NodeId(each.node)]
    if not edges.get(source.id, False):
        reason = f"there is nothing to do it for: '{source.name}' was skipped or does not count"
        return (e.NodeSkipped(ts=now, node_id=node.id, reason=reason),)
    items = _answer(each.items, source, "its for_each over")
    if not isinstance(items, list):
        kind = type(items).__name__
        raise _Undecidable(f"its for_each over '{source.name}', {each.items!r}, is no list: {kind}")
    if not items:
        reason = f"there is nothing to do it for: {each.items!r} of '{source.name}' is empty"
        return (e.NodeSkipped(ts=now, node_id=node.id, reason=reason),)
    made = [one.id for one in board.nodes.values() if one.copy_of == node.id]  # kept after a crash
    _require_room(board, each, source, len(items) - len(made))
    taken_ids, taken = set(board.nodes), {one.name for one in board.nodes.values()}
    created: list[e.NodeCreated] = []
    decided = node.model_copy(update={"edges": edges if node.when else {}})
    for number, item in enumerate(items[len(made) :], start=len(made) + 1):
        copy = _copy(board, decided, each, number, item, taken, taken_ids)
        taken_ids.add(copy.id)
        taken.add(copy.name)
        created.append(e.NodeCreated(ts=now, node=copy))
    copies = (*made, *(one.node.id for one in created))
    return (*created, e.NodeExpanded(ts=now, node_id=node.id, copies=copies))


def _require_room(board: Board, each: ForEach, source: WorkNode, wanted: int) -> None:
    run = require_running(board)
    room = run.max_nodes - (len(board.nodes) - run.cycle_nodes)
    if wanted > room:
        raise _Undecidable(
            f"its for_each over '{source.name}', {each.items!r}, has {wanted} items, and the run "
            f"has room for {max(0, room)} more nodes (run.max_nodes: {run.max_nodes})"
        )


def _copy(
    board: Board,
    node: WorkNode,
    each: ForEach,
    number: int,
    item: Any,
    taken: set[str],
    taken_ids: set[NodeId],
) -> WorkNode:
    run, cause = require_running(board), f"{node.cause}#{number}"
    node_id = NodeId(new_id(run.id, cause, taken_ids))
    name = free_name(f"{node.name}-{number}", taken)
    placed: dict[str, Any] = {
        "id": node_id,
        "name": name,
        "task": _task(node.task, each.item, item),
        "cause": cause,
        "when": {},
        "for_each": None,
        "copy_of": node.id,
    }
    return node.model_copy(update=placed)


def _task(task: str, called: str, item: Any) -> str:
    """Return the task of one copy: `{called}` and `{called.field}` are replaced by the item.

    An object, a list, or an item without a placeholder is added below the task as JSON.
    """
    places = re.compile(r"\{" + re.escape(called) + r"((?:\.\w+|\[\d+\])*)\}")
    filled = places.sub(lambda place: _shown(_field(item, called, place.group(1))), task)
    is_whole = bool(places.search(task)) and not isinstance(item, dict | list)
    if is_whole:
        return filled
    shown = json.dumps(item, ensure_ascii=False, indent=2)
    return f"{filled.rstrip()}\n\n## {called}\n\n```json\n{shown}\n```"


def _field(item: Any, called: str, path: str) -> Any:
    try:
        return evaluate(f"result{path}", item)
    except ExpressionFailed as error:
        raise _Undecidable(f"its task asks for {{{called}{path}}}: {error}") from None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
