"""Node changes: new terms or another worker for a node, and a node that repeats another."""

from typing import Annotated

from pydantic import Field

from agiraph.core.ids import WorkerId
from agiraph.core.record import Record
from agiraph.core.specs import TIMEOUT, NodeSpec, ToolNames


class NodeChanges(Record):
    """New terms of a node; None keeps a term. `checks` and `refs` are replaced as a whole."""

    task: str | None = Field(default=None, min_length=1, description="the new task, in full")
    checks: ToolNames = Field(
        default=None, description="all checks that apply from now on, in place of the old ones"
    )
    max_iterations: int | None = Field(
        default=None, ge=1, description="the new limit for model turns"
    )
    timeout_seconds: Annotated[float | None, Field(gt=0)] = Field(
        default=None,
        description="the new time limit, from the start of the node",
        validation_alias=TIMEOUT,
    )
    refs: dict[str, str] | None = Field(
        default=None, description="all refs that apply from now on: a node or its file, by ref name"
    )

    @property
    def named(self) -> tuple[str, ...]:
        """The names of the terms that change."""
        return tuple(name for name, value in self if value is not None)


class NodeRequest(NodeSpec):
    """A node as a model requests it: whole, or as an earlier node with changes.

    With `repeats` each field that is not given has the value of the earlier node.
    """

    task: str = Field(
        default="", description="the work, in full: the worker sees only this; not with `repeats`"
    )
    repeats: str | None = Field(
        default=None, description="an earlier node whose task, checks, limits and refs are copied"
    )
    changes: str = Field(
        default="", description="with `repeats`: what is different; it is added to the task"
    )


class NodeUpdate(Record):
    """The changes of a node so far: their `number`, and the `cause` of the last one.

    `accepted` is the reason for which its result is accepted although checks fail, '' if it is not.
    """

    number: int = 0
    cause: str = ""
    accepted: str = ""


class NodeMove(Record):
    """The new worker or model for a node, chosen by the human or the coordinator.

    `cause` is the message that requested it, `because` the reason.
    """

    cause: str
    worker: WorkerId | None = None
    model: str | None = None
    because: str = ""
