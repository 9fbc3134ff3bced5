"""The two forms of a plan file, as they are written; unknown keys are refused."""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class PlanForm(BaseModel):
    """A part of a plan file."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class GraphNode(PlanForm):
    """A node of a static graph."""

    id: Words
    task: Words
    role: Words = "worker"
    deps: tuple[Words, ...] = Field(
        default=(), validation_alias=AliasChoices("deps", "dependencies")
    )
    worker: Words | None = None
    model: Words | None = None
    checks: tuple[Words, ...] = ()


class GraphFile(PlanForm):
    """A static graph: `{"nodes": [{"id", "task", "role", "deps", "checks"}]}`."""

    goal: str | None = None
    nodes: tuple[GraphNode, ...] = Field(min_length=1)


class RoleForm(PlanForm):
    """A role of a stage: one worker and what it is to do there.

    What a role may read and write follows from the scopes; `workspace_reads` and
    `workspace_writes` are accepted and have no effect.
    """

    id: Words
    prompt: Words
    name: Words | None = None
    title: Words | None = None
    node_type: Literal["api", "agentic"] = "api"
    model: Words | None = None
    agent: Words | None = None
    workspace_reads: tuple[str, ...] = ()
    workspace_writes: tuple[str, ...] = ()
    checks: tuple[Words, ...] = ()


class StageForm(PlanForm):
    """Roles that work side by side; the next stage needs all of them."""

    name: Words | None = None
    roles: tuple[RoleForm, ...] = Field(min_length=1)


class ContractForm(PlanForm):
    """What the stages promise. `all_must_checkpoint` is the older name of `all_must_complete`."""

    max_stages: int | None = Field(default=None, ge=1)
    checkpoint_policy: Literal["all_must_checkpoint", "all_must_complete", "majority", "any"] = (
        "all_must_complete"
    )
    coordinator_reconvenes: bool = True
    max_iterations_per_node: int | None = Field(default=None, ge=1)
    timeout_seconds: float | None = Field(default=None, gt=0)


class CollaborationFile(PlanForm):
    """A collaboration plan: `{"problem_summary", "stages": [{"name", "roles"}], "contract"}`."""

    goal: str | None = Field(default=None, validation_alias=AliasChoices("problem_summary", "goal"))
    stages: tuple[StageForm, ...] = Field(min_length=1)
    contract: ContractForm = ContractForm()
