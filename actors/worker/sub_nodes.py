"""Sub nodes: what a worker hears of the sub-nodes that it put on the board."""

from actors.entity.messenger import EntityContext
from agiraph.agent.inbox import IncomingMessage
from agiraph.core.ids import BOARD_NAME
from agiraph.messages import SubNodeEnded
from transport.endpoint import Received


def hear_of_sub_node(worker: EntityContext, received: Received, ended: SubNodeEnded) -> None:
    """Let word of an ended sub-node wait for the next yield point; drop it if nobody needs it."""
    runtime, assignment = worker.runtime, worker.transcript.assignment
    if assignment is None or assignment.node.id != ended.holder:
        runtime.done(received)
        return
    worker.inbox.put(
        IncomingMessage(
            id=received.header.id.hex(),
            from_name=BOARD_NAME,
            content=word_of(ended),
            mode="steer",
            done=lambda: runtime.done(received),
        )
    )


def word_of(ended: SubNodeEnded) -> str:
    """Return what the model is told."""
    verb = "failed" if ended.status == "failed" else "was cancelled"
    return (
        f"your sub-node '{ended.name}' {verb}: {ended.reason or 'no reason was given'}. Decide: "
        "create it anew with a better task, go on without it and say so when you publish, or, if "
        "your own spec cannot be met without it, publish what you have and name what is missing."
    )
