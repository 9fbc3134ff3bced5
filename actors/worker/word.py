"""Word: what a worker tells its coordinator of a node: once, however often it is told."""

from actors.runtime import Runtime
from agiraph.ids import AgentId, coordinator_address, derived_message_id
from agiraph.messages import FailNode, NodeStarted
from agiraph.models import Assignment

LEFT_NAMED = 100


async def tell_started(runtime: Runtime, agent: AgentId, assignment: Assignment) -> None:
    """Say that a node is begun."""
    body = NodeStarted(node_id=assignment.node.id, attempt=assignment.attempt)
    key = f"start.{assignment.node.id}.{assignment.attempt}"
    message = derived_message_id(runtime.address, key)
    await runtime.send(coordinator_address(agent), body, id=message)


async def tell_failed(
    runtime: Runtime, agent: AgentId, assignment: Assignment, reason: str, left: tuple[str, ...]
) -> None:
    """Say that a node will not be done, why, and which files stand in its folder."""
    body = FailNode(
        node_id=assignment.node.id,
        attempt=assignment.attempt,
        reason=reason,
        left=left[:LEFT_NAMED],
    )
    key = f"fail.{assignment.node.id}.{assignment.attempt}"
    message = derived_message_id(runtime.address, key)
    await runtime.send(coordinator_address(agent), body, id=message)
