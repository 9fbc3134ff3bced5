"""The codec: pydantic models to msgpack maps and back, by the TYPE of each model."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any, cast

import msgpack
from pydantic import BaseModel, ValidationError

from transport.errors import MalformedBody, UnknownType

ODD_NUMBER = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]|\xca[\x7f\xff][\x80-\xff]", re.DOTALL)
"""The beginning of infinity and NaN in msgpack, with 64 and with 32 bits."""


class Codec:
    """Writes and reads the bodies of a closed set of models.

    Each model has the class variables TYPE (its name on the wire) and, if it must survive crashes,
    DURABLE = True. `refusal` is the model with IS_REFUSAL = True, if there is one: it has a field
    `reason`, answers any request, and replaces an answer that cannot be sent.
    """

    def __init__(self, models: Iterable[type[BaseModel]]) -> None:
        self._models: dict[str, type[BaseModel]] = {}
        self.refusal: type[BaseModel] | None = None
        for model in models:
            name = type_of(model)
            if name in self._models:
                raise ValueError(f"two models are called {name}")
            self._models[name] = model
            if getattr(model, "IS_REFUSAL", False):
                self.refusal = model

    @property
    def types(self) -> tuple[str, ...]:
        """The names of all types that can be read, in the order of registration."""
        return tuple(self._models)

    def encode(self, body: BaseModel) -> bytes:
        """Return the body's bytes. Raises UnknownType; MalformedBody if a value cannot be
        encoded.
        """
        name = type_of(type(body))
        if self._models.get(name) is not type(body):
            raise UnknownType(f"{type(body).__name__} ({name}) is not registered")
        try:
            # A lone surrogate (an odd file name) must not fail the message that quotes it.
            packed = msgpack.packb(
                body.model_dump(mode="python"),
                use_bin_type=True,
                unicode_errors="replace",
                default=_plain,
            )
            _refuse_odd_numbers(packed)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise MalformedBody(f"{name} cannot be written: {error}") from error
        return cast(bytes, packed)

    def decode(self, type_name: str, body: bytes) -> BaseModel:
        """Return the body as its model. Raises UnknownType or MalformedBody."""
        model = self._models.get(type_name)
        if model is None:
            raise UnknownType(f"unknown type '{type_name}'")
        try:
            _refuse_odd_numbers(body)
            return model.model_validate(msgpack.unpackb(body))
        except ValidationError as error:
            raise MalformedBody(f"{type_name} does not fit: {_brief(error)}") from error
        except (
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
            msgpack.UnpackException,
        ) as error:
            raise MalformedBody(f"{type_name} is not msgpack: {error}") from error


def _refuse_odd_numbers(body: bytes) -> None:
    """Raise ValueError for a number that is not finite: it has no form in JSON.

    Every such number has this beginning, but a text may have it too: most bodies need no second
    pass.
    """
    if ODD_NUMBER.search(body) and not _is_finite(msgpack.unpackb(body)):
        raise ValueError("it has a number that is not finite")


def _is_finite(value: Any) -> bool:
    match value:
        case dict():
            return all(map(_is_finite, value)) and all(map(_is_finite, value.values()))
        case list():
            return all(map(_is_finite, value))
        case float():
            return isfinite(value)
    return True


def type_of(model: type[BaseModel]) -> str:
    """Return a model's name on the wire."""
    return cast(str, model.TYPE)  # type: ignore[attr-defined]


def is_durable(model: type[BaseModel]) -> bool:
    """Whether messages of this model are stored until they are handled."""
    return bool(getattr(model, "DURABLE", False))


def _plain(value: Any) -> Any:
    """Return a value of a type unknown to msgpack in a form that pydantic can parse."""
    match value:
        case Enum():
            return value.value
        case datetime() | date():
            return value.isoformat()
        case PurePath():
            return str(value)
        case set() | frozenset():
            return sorted(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no form on the wire")


def _brief(error: ValidationError) -> str:
    """Return the first error without the value, which may be text that logs must not contain."""
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}"
