"""Reading a plan's text: JSON or YAML in, one of the two forms out, errors with their place."""

import json
import types
from typing import Any, Final, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import AliasChoices, BaseModel, ValidationError

from agiraph.board.plans.forms import CollaborationFile, GraphFile, PlanForm
from agiraph.core.errors import InvalidInput
from agiraph.core.yaml_text import read_yaml

MOST_CHARACTERS: Final = 256 * 1024
MOST_VALUES: Final = 20_000

SomeForm = TypeVar("SomeForm", bound=PlanForm)


def read_form(text: str, name: str) -> GraphFile | CollaborationFile:
    """Return the form that `text` is written in; InvalidInput names file, key and choices."""
    values = _load(text, name)
    if not isinstance(values, dict) or ("nodes" in values) == ("stages" in values):
        raise InvalidInput(
            f"{name}: a plan has either 'nodes' (a graph) or 'stages' (roles in stages)"
        )
    if "nodes" in values:
        return _check(GraphFile, values, name)
    return _check(CollaborationFile, values, name)


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


def _check(form: type[SomeForm], values: dict[str, Any], name: str) -> SomeForm:
    try:
        return form.model_validate(values)
    except ValidationError as error:
        lines = [f"{name}: {_explain(form, dict(problem))}" for problem in error.errors()]
        raise InvalidInput("\n".join(lines)) from None


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
