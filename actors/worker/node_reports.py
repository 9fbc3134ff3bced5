"""Node reports: what a worker tells its coordinator of a node: once, however often it is told."""

from actors.runtime.runtime import Runtime
from agiraph.core.ids import AgentId, coordinator_address, derived_message_id
from agiraph.core.models import Assignment
from agiraph.messages import FailNodeMessage, NodeStartedMessage

LEFT_NAMED = 100


async def tell_started(runtime: Runtime, agent: AgentId, assignment: Assignment) -> None:
    """Say that a node is begun."""
    body = NodeStartedMessage(node_id=assignment.node.id, attempt=assignment.attempt)
    key = f"start.{assignment.node.id}.{assignment.attempt}"
    message = derived_message_id(runtime.address, key)
    await runtime.send(coordinator_address(agent), body, id=message)


async def tell_failed(
    runtime: Runtime, agent: AgentId, assignment: Assignment, reason: str, left: tuple[str, ...]
) -> None:
    """Say that a node will not be done, why, and which files stand in its folder."""
    body = FailNodeMessage(
        node_id=assignment.node.id,
        attempt=assignment.attempt,
        reason=reason,
        left=left[:LEFT_NAMED],
    )
    key = f"fail.{assignment.node.id}.{assignment.attempt}"
    message = derived_message_id(runtime.address, key)
    await runtime.send(coordinator_address(agent), body, id=message)
