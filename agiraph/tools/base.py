"""Tool: one action of a model; its name, its parameters, its runbook and its code."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from agiraph.core.record import Record
from agiraph.core.specs import ABOUT_MACHINES
from agiraph.core.turns import JsonObject, Picture, ToolSchema
from agiraph.mcp.schemas import parameters_of
from agiraph.settings.prompt_folder import read
from agiraph.tools.ports import EntityKind, ToolContext

EVERYONE: frozenset[EntityKind] = frozenset({"worker", "coordinator"})
WORKERS: frozenset[EntityKind] = frozenset({"worker"})
COORDINATORS: frozenset[EntityKind] = frozenset({"coordinator"})


FOR_READER: Final = re.compile(r"(- )?\[(worker|coordinator)\] ")
"""The beginning of a runbook's line that is for one kind of entity."""


class ToolParams(Record):
    """Base of the parameters of all tools; an unknown parameter is refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class NoParams(ToolParams):
    """The parameters of a tool without parameters."""


def _seconds_as_text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Duration = Annotated[str, BeforeValidator(_seconds_as_text)]
"""A duration such as 90s or 10m; a bare number, which models also write, is in seconds."""

P = TypeVar("P", bound=ToolParams)


@dataclass(frozen=True, slots=True)
class PictureOutput:
    """A result with pictures, which are in the entity's store."""

    text: str
    pictures: tuple[Picture, ...]


ToolOutput = str | JsonObject | PictureOutput


@dataclass(frozen=True, slots=True)
class CallRecovery(Generic[P]):
    """Recovery of the result of a non-idempotent tool call after a crash.

    `recover` returns the result of a call that an earlier incarnation started, None if it is
    unknown; `forget` removes the data for `recover`, once that result is journaled.
    """

    recover: Callable[[ToolContext, P], Awaitable[str | None]]
    forget: Callable[[ToolContext], None]


@dataclass(frozen=True, slots=True)
class Tool(Generic[P]):
    """One tool. `run` returns the model's result; it raises Refused, OSError.

    `idempotent`: a second run with the same arguments does no harm, so a call that a crash
    interrupted may be repeated. (Requests to the team are always idempotent: the call's id makes a
    second request the same request.) The default is false. `recovery`: how to find the result of an
    interrupted call that is not idempotent. `for_leads`: workers that may lead have it too.
    `reader`: the kind of entity that its runbook is for; None: all of its lines are shown.
    `is_essential`: an entity needs it to end its work, so it is always in the toolbox.
    """

    name: str
    description: str
    params: type[P]
    run: Callable[[ToolContext, P], Awaitable[ToolOutput]]
    idempotent: bool = False
    kinds: frozenset[EntityKind] = EVERYONE
    for_leads: bool = False
    is_essential: bool = False
    recovery: CallRecovery[P] | None = None
    reader: EntityKind | None = None

    def for_reader(self, kind: EntityKind) -> "Tool[P]":
        """Return the tool whose runbook has the lines for this kind of entity alone."""
        return replace(self, reader=kind)

    def schema(self) -> ToolSchema:
        """Return the name, description and parameters of the tool for a provider's API."""
        return ToolSchema(
            name=self.name, description=self.description, parameters=schema_of(self.params)
        )

    def guidance(self) -> str:
        """Return the runbook from configs/prompts/tools/, which is a part of the system prompt.

        A line that begins with `[worker]` or `[coordinator]` is for this reader alone.
        """
        text = read(f"tools/{self.name}.md").strip()
        return text if self.reader is None else _for_reader(text, self.reader)


def _for_reader(runbook: str, kind: EntityKind) -> str:
    lines = ((line, FOR_READER.match(line)) for line in runbook.splitlines())
    kept = [
        f"{found[1] or ''}{line[found.end() :]}" if found else line
        for line, found in lines
        if found is None or found[2] == kind
    ]
    return "\n".join(kept).strip()


def tool(
    description: str,
    *,
    kinds: frozenset[EntityKind] = EVERYONE,
    idempotent: bool = False,
    for_leads: bool = False,
    is_essential: bool = False,
    recovery: CallRecovery[Any] | None = None,
) -> Callable[[Callable[[ToolContext, P], Awaitable[ToolOutput]]], Tool[P]]:
    """Return a decorator that makes a tool of a function, with its name and `params` type."""

    def make(run: Callable[[ToolContext, P], Awaitable[ToolOutput]]) -> Tool[P]:
        params = run.__annotations__["params"]
        flags = (idempotent, kinds, for_leads, is_essential, recovery)
        return Tool(run.__name__, description, params, run, *flags)

    return make


@cache
def schema_of(params: type[BaseModel]) -> JsonObject:
    """Return the JSON Schema of a parameter model, in the plain form that every provider accepts.

    The schema is computed once (that takes half a millisecond, and every turn uses it): do not
    change it.
    """
    written = params.model_json_schema()
    for part in (written, *written.get("$defs", {}).values()):
        part.pop("description", None)
    schema: JsonObject = _plain(parameters_of(written).schema)
    return schema


def on_one_machine(schema: JsonObject) -> JsonObject:
    """Return a schema without parameters that name machines; the same object if it has none."""
    if ABOUT_MACHINES[-1] not in str(schema):
        return schema
    plain: JsonObject = _without_machines(schema)
    return plain


def _without_machines(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_machines(item) for item in value]
    if not isinstance(value, dict):
        return value
    names = ABOUT_MACHINES if ABOUT_MACHINES[-1] in value else ()
    return {key: _without_machines(one) for key, one in value.items() if key not in names}


def _plain(value: Any) -> Any:
    """Return a schema without titles and empty defaults, with X instead of `X or null`.

    To omit a parameter with an empty default means the same.
    """
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    choices = [option for option in value.get("anyOf", ()) if option != {"type": "null"}]
    if len(choices) == 1:
        value = {k: v for k, v in value.items() if k not in ("anyOf", "default")} | choices[0]
    left_out = {"title"} if isinstance(value.get("title"), str) else set()  # or it is a property
    left_out |= {"default"} if value.get("default", 1) in ("", [], False) else set()
    return {key: _plain(each) for key, each in value.items() if key not in left_out}


def as_json(value: JsonObject) -> str:
    """Return a structured result as JSON text for a model."""
    return json.dumps(value, ensure_ascii=False)
