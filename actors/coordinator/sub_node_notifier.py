"""SubNodeNotifier: word to the worker of a parent node that a sub-node of it ended without a
result.

Which words are due follows from the board's history, and each has an id of its own: after a crash
all that are still of use are sent again, and none arrives twice.
"""

from collections.abc import Iterable

from actors.runtime.runtime import Runtime
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.sub_nodes import notifications_due
from agiraph.core.ids import AgentId, RunId, derived_message_id, worker_address
from agiraph.core.models import WorkNode
from agiraph.messages.node import SubNodeEnded

Word = tuple[WorkNode, WorkNode]


class SubNodeNotifier:
    """Sends word of ended sub-nodes in one run."""

    def __init__(self, runtime: Runtime, agent: AgentId, run: RunId) -> None:
        """Speak for the coordinator of `agent`."""
        self._runtime = runtime
        self._agent = agent
        self._run = run

    async def send_word(self, board: Board, node: WorkNode, above: WorkNode) -> None:
        """Tell the worker that holds `above` how `node` of this board ended."""
        assert above.assigned_worker is not None
        body = SubNodeEnded(
            holder=above.id,
            node_id=node.id,
            name=node.name,
            status=node.status,
            reason=node.reason or "",
        )
        key = f"{board.key(self._run)}.word.{node.id}.{above.id}.{above.attempt}"
        message = derived_message_id(self._runtime.address, key)
        to = worker_address(self._agent, above.assigned_worker)
        await self._runtime.send(to, body, id=message)


def words_left(board: Board, history: Iterable[e.BoardEvent]) -> list[Word]:
    """Return the words that may have been lost in a crash and are still of use."""
    lost = [node for node in board.nodes.values() if node.status in ("failed", "cancelled")]
    if not board.is_running or not any(node.parent_node for node in lost):
        return []
    return [
        (node, board.nodes[above.id])
        for node, above in notifications_due(history)
        if not board.nodes[above.id].has_ended
    ]
