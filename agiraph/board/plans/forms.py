"""The two forms of a plan file, as they are written; unknown keys are refused."""

from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from agiraph.core.specs import AnyWorkerType, ContractTerms, NodeTerms

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class PlanForm(BaseModel):
    """A part of a plan file."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class GraphNode(NodeTerms, PlanForm):
    """A node of a static graph."""

    id: Words
    task: Words
    role: Words = "worker"
    deps: tuple[Words, ...] = Field(
        default=(), validation_alias=AliasChoices("deps", "dependencies")
    )
    worker: Words | None = None
    model: Words | None = None


class GraphFile(PlanForm):
    """A static graph: `{"nodes": [{"id", "task", "role", "deps", "checks"}]}`."""

    goal: str | None = None
    nodes: tuple[GraphNode, ...] = Field(min_length=1)


class RoleForm(NodeTerms, PlanForm):
    """A role of a stage: one worker and what it is to do there.

    What a role may read and write follows from the scopes; `workspace_reads` and
    `workspace_writes` are accepted and have no effect.
    """

    id: Words
    task: Words = Field(validation_alias=AliasChoices("prompt", "task"))
    name: Words | None = None
    role: Words = Field(default="worker", validation_alias=AliasChoices("title", "role"))
    type: AnyWorkerType = Field(
        default="harnessed", validation_alias=AliasChoices("node_type", "type")
    )
    model: Words | None = None
    agent_command: Words | None = Field(
        default=None, validation_alias=AliasChoices("agent", "agent_command")
    )
    can_lead: bool = False
    workspace_reads: tuple[str, ...] = ()
    workspace_writes: tuple[str, ...] = ()


class StageForm(PlanForm):
    """Roles that work side by side; the next stage needs all of them."""

    name: Words | None = None
    roles: tuple[RoleForm, ...] = Field(min_length=1)


class ContractForm(ContractTerms, PlanForm):
    """What the stages promise.

    `coordinator_reconvenes`: true, a stage opens when the coordinator has reconvened the one
    before; false, it must not reconvene; left out, all stages are on the board from the start.
    """

    max_stages: int | None = Field(default=None, ge=1)
    coordinator_reconvenes: bool | None = None


class CollaborationFile(PlanForm):
    """A collaboration plan: `{"problem_summary", "stages": [{"name", "roles"}], "contract"}`."""

    goal: str | None = Field(default=None, validation_alias=AliasChoices("problem_summary", "goal"))
    stages: tuple[StageForm, ...] = Field(min_length=1)
    contract: ContractForm = ContractForm()
