"""Reader of both forms of a plan file, JSON or YAML; errors name line and key."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Final

import yaml
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import NestedTooDeep, parse_json
from agiraph.core.record import misfit_in_words
from agiraph.core.specs import AnyWorkerType, ContractTerms, ForEach, Names, PlannedTerms
from agiraph.settings.yaml_text import (
    KeyPath,
    Lines,
    key_lines,
    keys_of,
    model_at,
    nearest,
    parse_yaml,
    read_yaml,
)

MOST_CHARACTERS: Final = 256 * 1024
MOST_VALUES: Final = 20_000
MANAGER: Final = "manager"
EDGE_KEYS: Final = ({"node"}, {"node", "when"})
"""The keys of an entry of `deps` that is more than an id."""

EDGE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"node": {"type": "string", "minLength": 1}, "when": {"type": "string"}},
    "required": ["node"],
    "additionalProperties": False,
}

HALF_A_CHARACTER: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class PlanForm(BaseModel):
    """Base of all parts of a plan file: unknown keys are errors."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", coerce_numbers_to_str=True
    )


class NodeForm(PlannedTerms, PlanForm):
    """The fields that a node and a role have in common."""


def _with_plain_deps(value: Any) -> Any:
    """Return a node's values with only ids in `deps`; malformed values stay unchanged.

    `for_each` may be the expression alone if a node has one dependency. The node with the list is
    added to its `deps`.
    """
    if not isinstance(value, Mapping):
        return value
    key = "dependencies" if "dependencies" in value and "deps" not in value else "deps"
    deps, when, each = value.get(key, ()), value.get("when"), value.get("for_each")
    if not isinstance(deps, list | tuple):
        return value
    edges = [one for one in deps if isinstance(one, Mapping) and set(one) in EDGE_KEYS]
    names = [one["node"] if any(one is edge for edge in edges) else one for one in deps]
    conditions = {one["node"]: one["when"] for one in edges if "when" in one}
    if isinstance(each, str):
        each = {"in": each}
    if isinstance(each, Mapping):
        each = dict(each) if "node" in each or len(names) != 1 else {**each, "node": names[0]}
    source = each.get("node") if isinstance(each, Mapping) else getattr(each, "node", None)
    if source is not None and source not in names:
        names.append(source)
    flow: dict[str, Any] = {key: names} if names else {}
    if conditions:
        flow["when"] = {**conditions, **(when if isinstance(when, Mapping) else {})}
    if each is not None:
        flow["for_each"] = each
    return {**value, **flow}


class GraphNode(NodeForm):
    """A node of a static graph; a node with the role `manager` may lead.

    `deps: [{node: a, when: TEXT}]` and `deps: [a]` with `when: {a: TEXT}` are the same.
    """

    id: Words
    task: Words
    role: Words = "worker"
    deps: Annotated[Sequence[Words], AfterValidator(tuple)] = Field(
        default=(), validation_alias=AliasChoices("deps", "dependencies")
    )
    refs: dict[Words, Words] = Field(default={})
    worker: Words | None = None
    model: Words | None = None
    can_lead: bool | None = None
    when: dict[Words, str] = Field(default={})
    for_each: ForEach | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return _with_plain_deps(value)

    @property
    def leads(self) -> bool:
        """Whether the node's worker may lead: `can_lead`, by default for the role `manager`."""
        return self.role.casefold() == MANAGER if self.can_lead is None else self.can_lead

    @property
    def needs(self) -> tuple[str, ...]:
        """The ids of the nodes that this node waits for: its `deps` and those in its `refs`."""
        heads = (value.partition("/")[0] for value in self.refs.values())
        return tuple(dict.fromkeys((*self.deps, *heads)))


class GraphFile(PlanForm):
    """A static graph: `{"nodes": [{"id", "task", "role", "deps", "checks"}]}`."""

    goal: str | None = None
    nodes: tuple[GraphNode, ...] = Field(min_length=1)


class RoleForm(NodeForm):
    """A role of a stage: one worker and its task there.

    The scopes determine the paths that a role may read and write; `workspace_reads` and
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
    host: Words | None = None
    host_labels: Names = ()
    workspace_reads: tuple[str, ...] = ()
    workspace_writes: tuple[str, ...] = ()


class StageForm(PlanForm):
    """Roles that work in parallel; the next stage needs all of them."""

    name: Words | None = None
    roles: tuple[RoleForm, ...] = Field(min_length=1)


class ContractForm(ContractTerms, PlanForm):
    """The terms of the stages.

    `coordinator_reconvenes`: true, a stage opens when the coordinator has reconvened the previous
    one; false, it must not reconvene; omitted, all stages are on the board from the start.
    """

    max_stages: int | None = Field(default=None, ge=1)
    coordinator_reconvenes: bool | None = None


class CollaborationFile(PlanForm):
    """A collaboration plan: `{"problem_summary", "stages": [{"name", "roles"}], "contract"}`."""

    goal: str | None = Field(default=None, validation_alias=AliasChoices("problem_summary", "goal"))
    stages: tuple[StageForm, ...] = Field(min_length=1)
    contract: ContractForm = ContractForm()


def file_schema() -> dict[str, Any]:
    """Return the JSON Schema of plan files of both forms.

    It contains all alternative names of keys, and the short forms of values.
    """
    forms = TypeAdapter(GraphFile | CollaborationFile).json_schema()
    node, role = (forms["$defs"][form.__name__]["properties"] for form in (GraphNode, RoleForm))
    for properties, name in [*product((node, role), ("checks", "labels")), (role, "host_labels")]:
        properties[name] = _or_one_text(properties[name])
    for properties in (node, role):
        properties["tools"]["anyOf"].append({"type": "string"})
    node["deps"]["items"] = {"anyOf": [node["deps"]["items"], EDGE_SCHEMA]}
    node["for_each"]["anyOf"].append({"type": "string"})
    forms["$defs"]["ForEach"].pop("required")  # implied for one dependency
    for form in (GraphFile, GraphNode, CollaborationFile, RoleForm, StageForm, ContractForm):
        _name_all(form, forms["$defs"][form.__name__])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of Agiraph",
        **forms,
    }


def _or_one_text(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list that also accepts a single text."""
    about = {key: schema[key] for key in schema.keys() & {"default", "description"}}
    return {**about, "anyOf": [schema, {"type": "string"}]}


def _name_all(form: type[BaseModel], schema: dict[str, Any]) -> None:
    """Add the alternative names of keys to a form's schema; a required key may have any of them."""
    wanted = schema.pop("required", [])
    for name in form.model_fields:
        first, *others = keys_of(form, name)
        schema["properties"] |= dict.fromkeys(others, schema["properties"][first])
        if others and first in wanted:
            wanted.remove(first)
            schema.setdefault("anyOf", []).extend({"required": [key]} for key in (first, *others))
    if wanted:
        schema["required"] = wanted


class WrongAt(InvalidInput):
    """An invalid value at `path` in a plan of the right form."""

    def __init__(self, path: KeyPath, text: str) -> None:
        super().__init__(text)
        self.path = path


def read_form(text: str, name: str) -> GraphFile | CollaborationFile:
    """Return the form of a plan's text.

    Raises InvalidInput, which names file, line, key and choices.
    """
    values = _load(text, name)
    if not isinstance(values, dict) or ("nodes" in values) == ("stages" in values):
        raise InvalidInput(
            f"{name}: a plan has either 'nodes' (a graph) or 'stages' (roles in stages)"
        )
    form = GraphFile if "nodes" in values else CollaborationFile
    try:
        return form.model_validate(values)
    except ValidationError as error:
        raise explained(form, text, name, misfits(form, error)) from None


def misfits(form: type[BaseModel], error: ValidationError) -> list[tuple[KeyPath, str]]:
    """Return the values that do not match a form, each with its place and the possible values."""
    found = [(problem["loc"], _explain(form, dict(problem))) for problem in error.errors()]
    # A list is also reported as too short if one of its items was already reported.
    return [
        (path, why)
        for path, why in found
        if not any(len(path) < len(other) and other[: len(path)] == path for other, _ in found)
    ]


def explained(
    form: type[BaseModel], text: str, name: str, problems: Sequence[tuple[KeyPath, str]]
) -> InvalidInput:
    """Return the error with each problem on a line, with file, line and key."""
    lines = _lines(text)
    told = []
    for path, why in problems:
        written = _as_written(form, path, lines)
        line = nearest(written, lines)
        told.append(f"{name}:{line}: " if line else f"{name}: ")
        told[-1] += f"{shown_path(written)}: {why}"
    return InvalidInput("\n".join(told))


def _load(text: str, name: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"{name}: has {len(text)} characters ({MOST_CHARACTERS} are possible)")
    try:
        return parse_json(text)
    except NestedTooDeep:
        raise InvalidInput(f"{name}: is nested too deeply") from None
    except ValueError as error:
        try:
            return parse_yaml(text, name, MOST_CHARACTERS, MOST_VALUES)
        except InvalidInput:
            if _is_json(text):
                raise InvalidInput(_json_problem(error, name)) from None
            raise


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _json_problem(error: ValueError, name: str) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"{name}: is not JSON ({error})"
    return f"{name}:{error.lineno}: is not JSON ({error.msg}, column {error.colno})"


def _lines(text: str) -> Lines:
    """Return the lines of the keys of a valid text; {} for JSON that is not valid YAML."""
    if _is_json(text):
        text = HALF_A_CHARACTER.sub(r"\\u0020", text.replace("\t", " "))
    try:
        read_yaml(text, MOST_CHARACTERS, MOST_VALUES)  # first: it bounds the input
        return key_lines(text)
    except yaml.YAMLError:
        return {}


def _as_written(form: type[BaseModel], path: KeyPath, lines: Lines) -> KeyPath:
    """Return a path with each key by its name in the file."""
    written: KeyPath = ()
    for place, part in enumerate(path):
        model = model_at(form, path[:place])
        known = isinstance(part, str) and part in model.model_fields
        names: Sequence[str | int] = keys_of(model, str(part)) if known else ()
        written += (next((name for name in names if (*written, name) in lines), part),)
    return written


def _explain(form: type[BaseModel], problem: dict[str, Any]) -> str:
    around = problem["loc"][:-1]
    if problem["type"] == "extra_forbidden":
        return f"unknown key (possible: {_possible(form, around)})"
    if problem["type"] == "missing":
        return f"is missing (possible here: {_possible(form, around)})"
    return f"{misfit_in_words(problem)} (got {problem['input']!r:.80})"


def shown_path(path: KeyPath) -> str:
    """Return a key path as people write it: `nodes[2].deps[0]`."""
    shown = ""
    for part in path:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else part
    return shown


def _possible(form: type[BaseModel], path: KeyPath) -> str:
    model = model_at(form, path)
    own = [name for name in model.__annotations__ if name in model.model_fields]
    names = dict.fromkeys((*own, *model.model_fields))
    return ", ".join(key for name in names for key in keys_of(model, name))
