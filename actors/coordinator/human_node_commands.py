"""Commands of the human on nodes: retry a node, cancel it, give it to another worker.

The board decides; the model is notified. A command that is delivered again after a crash changes
nothing more, and is answered again.
"""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.board.names import find_node
from agiraph.core.errors import IllegalTransition, Refused
from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import WorkNode
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.node import CancelByHuman, MoveByHuman, RetryNodeMessage
from transport.endpoint import Received

HumanNodeCommand = RetryNodeMessage | CancelByHuman | MoveByHuman

FAILED = "I have node '{node}' tried again, which had failed: {reason}"
RETRIED = (
    "{which}{because}\n"
    "It is on the board again, for its next attempt. {run}Wait for it, and use its result."
)
COMPLETED = "I have node '{node}' done again, which was completed."
RUN_GOES_ON = "The run, which had failed, continues with its unfinished nodes. "
DIFFERENT = "\nWhat is different now: {because}"
CANCELLED = (
    "I have cancelled node '{node}'{because}. Nodes that need it fail. Continue without it, or do "
    "that work in another way."
)
MOVED = (
    "I have given node '{node}' to {to}{because}. It is the same node, in its next attempt: wait "
    "for it, and use its result."
)


async def carry_out(
    context: CoordinatorContext,
    board_service: BoardService,
    received: Received,
    order: HumanNodeCommand,
) -> None:
    """Execute the human's order on the board and notify the model, or answer with the refusal."""
    before = board_service.board
    try:
        node = find_node(before, order.node)
        if isinstance(order, RetryNodeMessage) and context.pause_switch.is_paused:
            raise IllegalTransition(f"agent '{context.args.agent.name}' is paused: resume it first")
        board_service.execute(_command(node, order, received.header.id.hex()))
    except Refused as error:
        refusal = RefusedReply(reason=str(error), kind=type(error).__name__)
        await context.runtime.reply(received, refusal)
        context.runtime.done(received)
        return
    if context.spec.leader == "plan":  # no model waits for the node
        await context.runtime.reply(received, Ok())
        context.runtime.done(received)
        return
    # At once: a `wait` that this order has ended must not be answered before its reason is known.
    context.enqueue(received, HUMAN_NAME, _in_words(before, board_service.board, node, order))
    await context.runtime.reply(received, Ok())


def _command(node: WorkNode, order: HumanNodeCommand, cause: str) -> c.Command:
    match order:
        case RetryNodeMessage():
            return c.RetryNode(node.id, cause, order.because)
        case CancelByHuman():
            because = f": {order.because}" if order.because else ""
            return c.CancelNode(node.id, f"cancelled by the human{because}", by="human")
        case MoveByHuman():
            return c.MoveNode(node.id, cause, order.worker, order.model, order.because)


def _in_words(before: Board, board: Board, node: WorkNode, order: HumanNodeCommand) -> str:
    """Return the text about the order for the model."""
    because = f", because: {order.because}" if order.because else ""
    match order:
        case RetryNodeMessage():
            return RETRIED.format(
                which=_which(node, board),
                because=DIFFERENT.format(because=order.because) if order.because else "",
                run="" if before.is_running else RUN_GOES_ON,
            )
        case CancelByHuman():
            return CANCELLED.format(node=node.name, because=because)
        case MoveByHuman(worker=worker, model=model):
            named = next((one.name for one in board.team if one.id == worker), worker)
            to = " with ".join(filter(None, (named or "a worker", model)))
            return MOVED.format(node=node.name, to=to, because=because)


def _which(node: WorkNode, board: Board) -> str:
    text = COMPLETED if node.status == "completed" else FAILED
    reason = board.nodes[node.id].failed_before or "no reason was given"
    return text.format(node=node.name, reason=reason)
