"""Functions as tools: `@tool` marks them, and a process of their own serves them.

The process (`tool_server`) is a server of tools like any other: its calls have approvals, timeouts,
interruption and journaled outcomes, and its crash affects no other process.
"""

import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints, overload

from pydantic import TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from agiraph.core.errors import InvalidInput
from agiraph.mcp.registered import code_of, register, unregister
from agiraph.settings.mcp_servers import McpServerConfig

Function = TypeVar("Function", bound=Callable[..., Any])
MARK: Final = "__agiraph_tool__"
PARK_SECONDS: Final = 10.0
MISSING: Final = "'{}' is not installed: pip install 'agiraph[python]'"


@dataclass(frozen=True, slots=True)
class FunctionTerms:
    """How a function may be called; `repeatable`: a second call has no further effect."""

    repeatable: bool = False


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, repeatable: bool = False) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None, /, *, repeatable: bool = False
) -> Function | Callable[[Function], Function]:
    """Mark a typed function, plain or `async`, as a tool of teams; it is returned unchanged.

    Its parameters need type hints and its docstring a description: models read both. With
    `repeatable` it is called again if its process dies during a call. Raises InvalidInput.
    """

    def mark(function: Function) -> Function:
        _check(function)
        setattr(function, MARK, FunctionTerms(repeatable))
        return function

    return mark if function is None else mark(function)


def _check(function: Callable[..., Any]) -> None:
    if not inspect.isroutine(function):
        raise InvalidInput(f"@agiraph.tool marks functions, and {function!r:.80} is none")
    name = function.__name__
    if not (inspect.getdoc(function) or "").strip():
        raise InvalidInput(f"the tool '{name}' needs a docstring that describes it")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.annotation is inspect.Parameter.empty:
            raise InvalidInput(f"parameter '{parameter.name}' of the tool '{name}' needs a type")
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InvalidInput(f"the tool '{name}' may not have *{parameter.name}")


def terms_of(function: Callable[..., Any]) -> FunctionTerms:
    """Return the terms of a marked function. Raises InvalidInput if it has no `@tool`."""
    terms = getattr(function, MARK, None)
    if not isinstance(terms, FunctionTerms):
        raise InvalidInput(f"{function!r} is no tool: mark it with @agiraph.tool")
    return terms


def check_tools(functions: Sequence[Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    """Return the functions of a runtime after checking that they can be served.

    Raises InvalidInput.
    """
    if callable(functions):
        raise InvalidInput("tools are a list of functions (possible: tools=[function])")
    for function in functions:
        terms_of(function)
        _check_types(function)
    names = [function.__name__ for function in functions]
    if len({*names}) < len(names):
        raise InvalidInput(f"two tools have one name: {', '.join(names)}")
    for missing in ("mcp", "cloudpickle") if names else ():
        if importlib.util.find_spec(missing) is None:
            raise InvalidInput(MISSING.format(missing))
    return tuple(functions)


def _check_types(function: Callable[..., Any]) -> None:
    """Raise InvalidInput for a parameter that no JSON Schema can describe to a model."""
    called = function.__name__
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidInput(f"the types of the tool '{called}' cannot be read: {error}") from None
    for name, hint in hints.items():
        try:
            if name != "return":
                TypeAdapter(hint).json_schema()
        except (PydanticUserError, PydanticUndefinedAnnotation):
            shown = getattr(hint, "__name__", repr(hint))
            raise InvalidInput(
                f"parameter '{name}' of the tool '{called}' is a {shown}, which a model cannot give"
                " (possible: JSON types, enumerations, dataclasses, pydantic models)"
            ) from None


@contextmanager
def served(home: Path, functions: Sequence[Callable[..., Any]]) -> Iterator[tuple[str, ...]]:
    """Register a server of these functions in a home; yield a tuple with its name.

    They have been checked (`check_tools`); without functions no server is registered. Raises
    InvalidInput.
    """
    if not functions:
        yield ()
        return
    code = _pickled(functions)
    unique = hashlib.blake2b(code + os.urandom(8), digest_size=3).hexdigest()
    name = f"python-{unique}"
    repeatable = tuple(f.__name__ for f in functions if terms_of(f).repeatable)
    settings = McpServerConfig(
        command=sys.executable,
        args=("-P", "-m", "agiraph.sdk.tool_server", str(code_of(home, name))),
        env={"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path)},
        cwd=os.getcwd(),
        repeatable=repeatable,
        park_after_seconds=PARK_SECONDS,
    )
    register(home, name, settings, code)
    try:
        yield (name,)
    finally:
        unregister(home, name)


def _pickled(functions: Sequence[Callable[..., Any]]) -> bytes:
    """Return functions pickled: those of modules by name, others with their code."""
    import cloudpickle

    try:
        pickled: bytes = cloudpickle.dumps(list(functions))
    except Exception as error:  # any error that a captured object's own pickling raises
        raise InvalidInput(f"the tools cannot be sent to their process: {error}") from None
    return pickled
