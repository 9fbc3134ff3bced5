"""Messages of the board to a worker about its node: a sub-node has ended, the node has changed."""

from actors.worker.context import WorkerContext
from agiraph.agent.assignment_changes import changes_in_words, is_update, updated
from agiraph.core.ids import BOARD_NAME
from agiraph.messages.node import NodeUpdatedMessage, SubNodeEnded
from transport.endpoint import Received


def take_sub_node_ended(context: WorkerContext, received: Received, ended: SubNodeEnded) -> None:
    """Queue the message about an ended sub-node; drop it if the node it belongs to has ended."""
    assignment = context.transcript.assignment
    if assignment is None or assignment.node.id != ended.holder:
        context.runtime.done(received)
        return
    verb = "failed" if ended.status == "failed" else "was cancelled"
    content = (
        f"your sub-node '{ended.name}' {verb}: {ended.reason or 'no reason was given'}. "
        "Decide: create it again with a better task; or continue without it, and say so when "
        "you publish; or, if your own spec cannot be met without it, publish your results and "
        "name the missing part."
    )
    context.enqueue(received, BOARD_NAME, content)


def take_update(context: WorkerContext, received: Received, message: NodeUpdatedMessage) -> None:
    """Queue the changes of the current node, which apply once the model sees them.

    A message about another node, or about changes that were applied before, is dropped.
    """
    current, asked = context.transcript.assignment, message.assignment
    if current is None or not is_update(asked, current):
        context.runtime.done(received)
        return
    changed = updated(current, asked)
    if context.deadline is not None:
        context.deadline.set_limit(changed.contract.node_timeout_seconds)
    content = changes_in_words(current.node, changed.node)
    context.enqueue(received, BOARD_NAME, content, assignment=changed)
