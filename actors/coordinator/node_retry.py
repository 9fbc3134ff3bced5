"""Node retry: the human has a failed node tried again, also in a run that had failed."""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from agiraph.board import commands as c
from agiraph.board.names import find_node
from agiraph.core.errors import IllegalTransition, Refused
from agiraph.core.ids import HUMAN_NAME
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.node import RetryNodeMessage
from transport.endpoint import Received

TOLD = (
    "I have node '{node}' tried again, which had failed: {reason}{because}\n"
    "It is on the board again, for its next attempt. {run}Wait for it, and use its result."
)
RUN_GOES_ON = "The run, which had failed, goes on with what is not completed. "


async def retry_node(
    context: CoordinatorContext,
    board_service: BoardService,
    received: Received,
    body: RetryNodeMessage,
) -> None:
    """Have the board try a node again and tell the model; or say why that is not possible."""
    was_running = board_service.board.is_running
    try:
        if context.pause_switch.is_paused:
            raise IllegalTransition(f"agent '{context.args.agent.name}' is paused: resume it first")
        node = find_node(board_service.board, body.node)
        cause = received.header.id.hex()
        board_service.execute(c.RetryNode(node.id, cause, body.because))
    except Refused as error:
        refusal = RefusedReply(reason=str(error), kind=type(error).__name__)
        await context.runtime.reply(received, refusal)
        context.runtime.done(received)
        return
    await context.runtime.reply(received, Ok())
    told = TOLD.format(
        node=node.name,
        reason=board_service.board.nodes[node.id].failed_before or "no reason was given",
        because=f"\nWhat is different now: {body.because}" if body.because else "",
        run="" if was_running else RUN_GOES_ON,
    )
    context.enqueue(received, HUMAN_NAME, told)
