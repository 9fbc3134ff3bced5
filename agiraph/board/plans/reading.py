"""The two forms of a plan file: JSON or YAML in, one of them out, errors with their place."""

import json
import types
from typing import Annotated, Any, Final, Union, get_args, get_origin

import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.specs import AnyWorkerType, ContractTerms, NodeTerms
from agiraph.core.yaml_text import read_yaml

MOST_CHARACTERS: Final = 256 * 1024
MOST_VALUES: Final = 20_000

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


def read_form(text: str, name: str) -> GraphFile | CollaborationFile:
    """Return the form that `text` is written in; InvalidInput names file, key and choices."""
    values = _load(text, name)
    if not isinstance(values, dict) or ("nodes" in values) == ("stages" in values):
        raise InvalidInput(
            f"{name}: a plan has either 'nodes' (a graph) or 'stages' (roles in stages)"
        )
    form = GraphFile if "nodes" in values else CollaborationFile
    try:
        return form.model_validate(values)
    except ValidationError as error:
        lines = [f"{name}: {_explain(form, dict(problem))}" for problem in error.errors()]
        raise InvalidInput("\n".join(lines)) from None


def _load(text: str, name: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"{name}: has {len(text)} characters ({MOST_CHARACTERS} are possible)")
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidInput(f"{name}: is nested too deeply") from None
    except ValueError as json_error:
        is_json = text.lstrip()[:1] in ("{", "[")
        try:
            return read_yaml(text, MOST_CHARACTERS, MOST_VALUES)
        except yaml.YAMLError as error:
            if is_json:
                raise InvalidInput(f"{name}: is not JSON ({json_error})") from None
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            problem = getattr(error, "problem", None) or error
            raise InvalidInput(f"{name}:{line}: is not YAML ({problem})") from None


def _explain(form: type[BaseModel], problem: dict[str, Any]) -> str:
    path = problem["loc"]
    place = shown_path(path)
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key (possible: {_possible(form, path[:-1])})"
    if problem["type"] == "missing":
        return f"{place}: is missing (possible here: {_possible(form, path[:-1])})"
    return f"{place}: {problem['msg']} (got {problem['input']!r:.80})"


def shown_path(path: tuple[str | int, ...]) -> str:
    """Return a key path as people write it: `nodes[2].deps[0]`."""
    shown = ""
    for part in path:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else part
    return shown


def _possible(form: type[BaseModel], path: tuple[str | int, ...]) -> str:
    model = form
    for part in path:
        if isinstance(part, str):
            model = _model_in(model.model_fields[part].annotation) or model
    own = [name for name in model.__annotations__ if name in model.model_fields]
    names = dict.fromkeys((*own, *model.model_fields))
    return ", ".join(key for name in names for key in _keys(model, name))


def _keys(model: type[BaseModel], name: str) -> list[str]:
    alias = model.model_fields[name].validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the form inside an annotation such as `tuple[GraphNode, ...]`."""
    if get_origin(annotation) in (tuple, Union, types.UnionType):
        inside = (_model_in(argument) for argument in get_args(annotation))
        return next((model for model in inside if model), None)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None
