"""Plan stages: the nodes of one stage of a plan file, and when enough are completed; pure.

A plan's stages are on the board as one stage, because they are filled in up front. The plan's
policy for continuing (`checkpoint_policy`) applies to each of them separately: as soon as enough
nodes of a plan stage are completed, the nodes that depend on it may start, and its other nodes are
cancelled.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from agiraph.core.models import WorkNode
from agiraph.core.specs import CheckpointPolicy

ALL: Final = "all_must_complete"
WHY = {"any": "any of its nodes was enough", "majority": "a majority of its nodes was enough"}


def plan_stage_of(nodes: Iterable[WorkNode], node: WorkNode) -> tuple[WorkNode, ...]:
    """Return the nodes in the same plan stage as `node`, including `node` itself."""
    if node.enough == ALL:
        return (node,)
    return tuple(
        one for one in nodes if (one.plan_stage, one.stage) == (node.plan_stage, node.stage)
    )


def is_enough(plan_stage: Sequence[WorkNode]) -> bool:
    """Whether enough nodes are completed for the policy of the plan."""
    completed = sum(node.status == "completed" for node in plan_stage)
    return suffice(plan_stage[0].enough, completed, len(plan_stage))


def can_be_enough(plan_stage: Sequence[WorkNode]) -> bool:
    """Whether enough nodes can still be completed for the policy of the plan."""
    possible = sum(node.status not in ("failed", "cancelled", "skipped") for node in plan_stage)
    return suffice(plan_stage[0].enough, possible, len(plan_stage))


def suffice(policy: CheckpointPolicy, count: int, of: int) -> bool:
    """Whether `count` of `of` nodes satisfy a policy."""
    match policy:
        case "any":
            return count >= 1
        case "majority":
            return count * 2 > of
        case "all_must_complete":
            return count == of


def stragglers(nodes: Sequence[WorkNode]) -> tuple[tuple[WorkNode, str], ...]:
    """Return the nodes that their plan now continues without, each with the reason."""
    late = [node for node in nodes if node.enough != ALL and not node.has_ended]
    return tuple(
        (node, f"stage '{node.plan_stage}' went on without it: {WHY[node.enough]}")
        for node in late
        if is_enough(plan_stage_of(nodes, node))
    )
