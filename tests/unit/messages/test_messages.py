"""Messages: every type has one name, a known prefix, one place in the table, and travels well."""

import importlib
import inspect
import pkgutil
import typing
from typing import Any

import msgpack
import pytest
from pydantic import BaseModel

from agiraph import messages
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.body import MessageBody

PREFIXES = {
    *("control", "child", "text", "board", "node", "model", "tool", "question", "run"),
    *("trigger", "event", "file", "files", "shared", "knowledge", "door", "host"),
}

SPECIAL = {"digest": "0" * 64, "question_id": "q-7", "items": "result", "item": "each"}


def sample(annotation: Any) -> Any:
    """Return some value that fits an annotation, filled in rather than empty."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return inside[-1]
    if origin is typing.Annotated:
        return sample(inside[0])
    if origin is tuple:
        return (sample(inside[0]),) if inside[-1] is ... else tuple(map(sample, inside))
    if origin is dict:
        return {sample(inside[0]): sample(inside[1])}
    if inside:  # a union: its first member that is not None
        return sample(next(one for one in inside if one is not type(None)))
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return sample_of(annotation)
    if isinstance(annotation, typing.NewType):
        return sample(annotation.__supertype__)
    return {str: "ü", int: 7, float: 2.5, bool: True, bytes: b"\0\xff", Any: [1, "x"]}[annotation]


def sample_of(model: type[BaseModel]) -> BaseModel:
    """Return a record with every field set."""
    hints = typing.get_type_hints(model, include_extras=True)
    return model.model_validate(
        {name: SPECIAL.get(name) or sample(hints[name]) for name in model.model_fields}
    )


def test_every_type_is_in_the_table_once() -> None:
    for module in pkgutil.iter_modules(messages.__path__, "agiraph.messages."):
        importlib.import_module(module.name)
    bodies = {
        body for body in MessageBody.__subclasses__() if body.__module__.startswith("agiraph.")
    }
    assert set(MESSAGES) == bodies
    types = [message.TYPE for message in MESSAGES]
    assert len(types) == len(set(types))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.TYPE)
def test_message_type_has_a_known_prefix_and_a_docstring(message: type[MessageBody]) -> None:
    assert message.TYPE.partition(".")[0] in PREFIXES
    assert message.__doc__
    assert message.__doc__ != MessageBody.__doc__


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.TYPE)
def test_a_message_survives_the_wire(message: type[MessageBody]) -> None:
    body = sample_of(message)
    packed = msgpack.packb(body.model_dump(mode="python"), use_bin_type=True)
    assert message.model_validate(msgpack.unpackb(packed, raw=False)) == body


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.TYPE)
def test_a_newer_field_does_not_disturb_an_older_reader(message: type[MessageBody]) -> None:
    body = sample_of(message)
    assert message.model_validate({**body.model_dump(), "from_the_future": 1}) == body


def test_messages_that_must_not_be_lost_are_durable() -> None:
    durable = {message.TYPE for message in MESSAGES if message.DURABLE}
    for prefix in ("text", "node.", "question."):
        assert {m.TYPE for m in MESSAGES if m.TYPE.startswith(prefix)} <= durable
    assert {"model.delta", "child.beat", "control.stop"}.isdisjoint(durable)
