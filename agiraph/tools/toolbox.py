"""Toolbox: the tools of one entity, and the only way to run them.

Errors that a model can correct (an unknown name, wrong arguments, a refusal, a missing file) are
returned as a readable result marked as an error. Any other error is our bug and is raised: the
entity crashes and its supervisor decides.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.record import misfit_in_words
from agiraph.core.specs import RoleSpec, WorkerSpec
from agiraph.core.turns import ToolCall, ToolSchema, ToolTurn
from agiraph.mcp.catalog import ServedTool
from agiraph.mcp.grants import own_and_served
from agiraph.settings.yaml_text import keys_of, model_at
from agiraph.tools.base import PictureOutput, Tool, ToolParams, as_json, on_one_machine
from agiraph.tools.mcp import McpTool, as_tool, guidance_of
from agiraph.tools.more_tools import find_tools, short_schema, use_tool
from agiraph.tools.ports import EntityKind, ToolContext
from agiraph.tools.table import CORE, CORE_OF_LEADS, TOOLS, unknown_tool

SHOWN_OF_MALFORMED = 200


class Toolbox:
    """The tools that one entity may use, by name, in the order of the table `TOOLS`.

    `core` are the tools that each request describes (None: all), besides essential and MCP tools.
    The others are listed by `find_tools` and called with `use_tool`.
    """

    def __init__(
        self,
        tools: Sequence[Tool[Any]],
        *,
        core: frozenset[str] | None = None,
        is_short: bool = False,
        has_machines: bool = False,
    ) -> None:
        self._given = tuple(tools)
        self._core = core
        self._is_short = is_short
        self._has_machines = has_machines
        self._schemas: tuple[ToolSchema, ...] | None = None
        self._listed = () if is_short else tuple(each.name for each in tools if self._is_rare(each))
        by_name = {tool.name: tool for tool in tools}
        finders: list[Tool[Any]] = []
        if self._listed or is_short:
            finders.append(find_tools(by_name, self._listed))
        if self._listed:
            finders.append(use_tool)
        # MCP tools come last: they may change from node to node, and services cache the beginning.
        served = [tool for tool in tools if isinstance(tool, McpTool)]
        own = [tool for tool in tools if not isinstance(tool, McpTool)]
        self._tools = {tool.name: tool for tool in (*own, *finders, *served)}

    def _is_rare(self, tool: Tool[Any]) -> bool:
        """Whether `find_tools` lists a tool, instead of each request describing it."""
        is_always_shown = tool.is_essential or isinstance(tool, McpTool)
        return self._core is not None and tool.name not in self._core and not is_always_shown

    @classmethod
    def for_entity(
        cls, kind: EntityKind, allowed: Sequence[str] | None = None, *, can_lead: bool = False
    ) -> "Toolbox":
        """Return the tools of a worker or coordinator; `allowed` narrows them (None: all).

        The tools that end an entity's work are always included. Named tools are described in full.
        Raises InvalidInput for an unknown name. MCP tools are not included (`with_served`).
        """
        allowed, _ = own_and_served(allowed)
        its = (tool for tool in TOOLS if kind in tool.kinds or (can_lead and tool.for_leads))
        tools = [tool.for_reader(kind) for tool in its]
        if allowed is None:
            return cls(tools, core=CORE[kind] | CORE_OF_LEADS if can_lead else CORE[kind])
        names = tuple(tool.name for tool in tools)
        for name in allowed:
            if name not in names:
                raise unknown_tool(name, names)
        return cls([tool for tool in tools if tool.is_essential or tool.name in allowed])

    @classmethod
    def for_worker(cls, spec: WorkerSpec | RoleSpec) -> "Toolbox":
        """Return the tools of a worker's specification. Raises InvalidInput for an unknown tool."""
        return cls.for_entity("worker", spec.tools, can_lead=spec.can_lead)

    def without(self, *names: str) -> "Toolbox":
        """Return the toolbox without these tools."""
        return self._with([tool for tool in self._given if tool.name not in names])

    def with_machines(self) -> "Toolbox":
        """Return the toolbox for a home with several machines, which the tools can name."""
        return self._with(self._given, has_machines=True)

    def shortened(self) -> "Toolbox":
        """Return the toolbox with short schemas of all tools, for a small window."""
        return self._with(self._given, is_short=True)

    def with_served(self, served: Sequence[ServedTool]) -> "Toolbox":
        """Return the toolbox with these MCP tools added at the end."""
        return self._with([*self._given, *map(as_tool, served)])

    def _with(self, tools: Sequence[Tool[Any]], **changed: bool) -> "Toolbox":
        terms = {"is_short": self._is_short, "has_machines": self._has_machines, **changed}
        return Toolbox(tools, core=self._core, **terms)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools of this toolbox."""
        return tuple(self._tools)

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the tools that each request describes."""
        return tuple(schema.name for schema in self.schemas())

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the schemas for the provider."""
        if self._schemas is None:  # needed for every call, and expensive to compute
            shown = (tool for name, tool in self._tools.items() if name not in self._listed)
            self._schemas = tuple(map(self._schema, shown))
        return self._schemas

    def _schema(self, tool: Tool[Any]) -> ToolSchema:
        """Return a tool's schema in this toolbox's form; an MCP tool's is unchanged."""
        schema = tool.schema()
        if isinstance(tool, McpTool):
            return schema
        if not self._has_machines:
            schema = schema.model_copy(update={"parameters": on_one_machine(schema.parameters)})
        if not self._is_short:
            return schema
        return schema.model_copy(update={"parameters": short_schema(schema.parameters)})

    def guidance(self) -> str:
        """Return the runbooks of the described tools, as one Markdown text for the system prompt.

        A short toolbox has none: `find_tools` returns them.
        """
        if self._is_short:
            return ""
        own = [
            f"### {tool.name}\n\n{tool.guidance()}"
            for tool in self._given
            if not isinstance(tool, McpTool) and tool.name not in self._listed
        ]
        served = [tool.name for tool in self._given if isinstance(tool, McpTool)]
        return "\n\n".join(filter(None, [*own, guidance_of(served)]))

    def is_idempotent(self, name: str) -> bool:
        """Whether a call that a crash interrupted may be repeated (true for an unknown tool)."""
        tool = self._tools.get(name)
        return tool is None or tool.idempotent

    async def run(self, call: ToolCall, context: ToolContext) -> ToolTurn:
        """Run one call and return its result; a failure becomes an error for the model."""
        try:
            _refuse_malformed(call)  # first: a service may not know the name of an unreadable call
            tool = self._find(call.name)
            if context.prepare is not None:
                await context.prepare(call)
            content = await tool.run(context, _parameters(tool, call))
        except (Refused, OSError) as error:
            return _failed(call, error, context)
        if isinstance(content, PictureOutput):
            shown = _turn(call, content.text)
            return shown.model_copy(update={"pictures": content.pictures})
        return _turn(call, content if isinstance(content, str) else as_json(content))

    async def recover(self, call: ToolCall, context: ToolContext) -> ToolTurn | None:
        """Return the result of a call that a crash interrupted, None if unknown."""
        tool = self._tools.get(call.name)
        if tool is None or tool.recovery is None:
            return None
        try:
            content = await tool.recovery.recover(context, _parameters(tool, call))
        except (Refused, OSError) as error:
            return _failed(call, error, context)
        return None if content is None else _turn(call, content)

    def forget(self, call: ToolCall, context: ToolContext) -> None:
        """Remove the data that `recover` would read, once the call's result is journaled."""
        tool = self._tools.get(call.name)
        if tool is not None and tool.recovery is not None:
            tool.recovery.forget(context)

    def _find(self, name: str) -> Tool[Any]:
        if name not in self._tools:
            raise unknown_tool(name, self.names)
        return self._tools[name]


def _turn(call: ToolCall, content: str, *, is_error: bool = False) -> ToolTurn:
    return ToolTurn(call_id=call.id, name=call.name, content=content, is_error=is_error)


def _failed(call: ToolCall, error: Exception, context: ToolContext) -> ToolTurn:
    return _turn(call, _explain(error, context), is_error=True)


def _refuse_malformed(call: ToolCall) -> None:
    if call.malformed is not None:
        shown = call.malformed[:SHOWN_OF_MALFORMED]
        raise InvalidInput(f"the arguments of {call.name} are not a JSON object: {shown!r}")


def _parameters(tool: Tool[Any], call: ToolCall) -> ToolParams:
    _refuse_malformed(call)
    try:
        params: ToolParams = tool.params.model_validate(call.arguments)
    except ValidationError as error:
        raise InvalidInput(_wrong_arguments(tool, error)) from None
    return params


def _wrong_arguments(tool: Tool[Any], error: ValidationError) -> str:
    problems = "; ".join(_problem(tool.params, dict(problem)) for problem in error.errors())
    fields = tool.params.model_fields.items()
    possible = ", ".join(name if field.is_required() else f"{name}?" for name, field in fields)
    return f"wrong arguments for {tool.name}({possible}): {problems}"


def _problem(params: type[ToolParams], problem: dict[str, Any]) -> str:
    """Return the place and the problem of a wrong argument; for an unknown field similar names."""
    place, why = problem["loc"], misfit_in_words(problem)
    if problem["type"] == "extra_forbidden":
        form = model_at(params, place[:-1])
        keys = [keys_of(form, name) for name in form.model_fields]
        aliases = [key for _, *others in keys for key in others]
        why = str(unknown("field", str(place[-1]), [first for first, *_ in keys], aliases))
    return f"{'.'.join(map(str, place)) or 'arguments'}: {why}"


def _explain(error: Exception, context: ToolContext) -> str:
    """Return an error's text in which files are named in the model's spelling."""
    if not isinstance(error, OSError):
        return str(error)
    named = error.filename if isinstance(error.filename, str) else None
    reason = error.strerror or str(error) or type(error).__name__
    return f"'{context.scope.shown(Path(named))}': {reason}" if named else reason
