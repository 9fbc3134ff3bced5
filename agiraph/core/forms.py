"""Forms: which keys nested pydantic models take, for errors that name what was possible."""

import types
from typing import Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from agiraph.core.yaml_text import KeyPath


def keys_of(model: type[BaseModel], name: str) -> list[str]:
    """Return the keys that a field may be given by, the usual one first."""
    alias = model.model_fields[name].validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]


def model_at(form: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    """Return the model of the value at a path, or of the nearest value around it."""
    model = form
    for part in path:
        field = model.model_fields.get(str(part))
        model = (_model_in(field.annotation) if field else None) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `tuple[GraphNode, ...]`."""
    if get_origin(annotation) in (tuple, Union, types.UnionType):
        inside = (_model_in(argument) for argument in get_args(annotation))
        return next((model for model in inside if model), None)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None
