"""Task: a goal for a team, its readable input, and the format of its answer."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from pydantic import BaseModel, ValidationError

from agiraph.board.plans.graph import Graph
from agiraph.board.plans.plan import parse_plan
from agiraph.core.errors import InvalidInput
from agiraph.core.json_text import parse_json
from agiraph.core.money import NamedLimit, parse_budget
from agiraph.sdk.errors import OutputInvalid
from agiraph.storage.home import expanded

if TYPE_CHECKING:
    from agiraph.sdk.result import Result

Out = TypeVar("Out")
Model = TypeVar("Model", bound=BaseModel)
OutputFormat = Literal["markdown", "json"]


class Task(Generic[Out]):
    """A goal, `prompt`, and the terms on which a team works on it.

    `output_format` is the format of `Result.output`: "markdown" (text), "json" (a parsed value), or
    a pydantic model, whose instance it is then. `input` is a folder that the team may read; `plan`
    a `Graph`, the text of a plan file, or a mapping of the same form. `budget` is in US dollars, or
    a text such as "500k-tokens"; `timeout` in seconds. `model` overrides the model of the runtime.
    Raises InvalidInput for invalid arguments.
    """

    @overload
    def __init__(
        self: "Task[str]",
        prompt: str,
        output_format: Literal["markdown"] = "markdown",
        *,
        input: str | os.PathLike[str] | None = None,
        plan: str | Mapping[str, Any] | Graph | None = None,
        name: str | None = None,
        model: str | None = None,
        budget: float | str | None = None,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Task[Any]",
        prompt: str,
        output_format: Literal["json"],
        *,
        input: str | os.PathLike[str] | None = None,
        plan: str | Mapping[str, Any] | Graph | None = None,
        name: str | None = None,
        model: str | None = None,
        budget: float | str | None = None,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Task[Model]",
        prompt: str,
        output_format: type[Model],
        *,
        input: str | os.PathLike[str] | None = None,
        plan: str | Mapping[str, Any] | Graph | None = None,
        name: str | None = None,
        model: str | None = None,
        budget: float | str | None = None,
        timeout: float | None = None,
    ) -> None: ...
    def __init__(
        self,
        prompt: str,
        output_format: OutputFormat | type[BaseModel] = "markdown",
        *,
        input: str | os.PathLike[str] | None = None,
        plan: str | Mapping[str, Any] | Graph | None = None,
        name: str | None = None,
        model: str | None = None,
        budget: float | str | None = None,
        timeout: float | None = None,
    ) -> None:
        if not isinstance(prompt, str):
            raise InvalidInput(f"the prompt of a task is a text, not {prompt!r:.80}")
        if not prompt.strip():
            raise InvalidInput("the prompt of a task is empty")
        self.prompt: str = prompt
        self.output_format: OutputFormat | type[BaseModel] = output_format
        self.schema: dict[str, Any] | None = _schema_of(output_format)
        self.input: Path | None = None if input is None else expanded(input).resolve()
        self.plan: str | None = _text_of(plan)
        self.name: str | None = name
        self.model: str | None = model
        self.budget: NamedLimit = limit_of(budget)
        self.timeout: float | None = seconds_of(timeout)
        self.terms: dict[str, Any] = {}
        """Further fields of the request."""

    def read(self, answer: str, result: "Result[Any] | None" = None) -> Out:
        """Return the answer text of a run in this task's output format.

        Raises OutputInvalid, which carries `result`, if the text does not fit the format.
        """
        wanted: Any = self.output_format
        try:
            if wanted == "markdown":
                return answer  # type: ignore[return-value]  # Out is str then
            if wanted == "json":
                value: Out = parse_json(answer)
                return value
            made: Out = wanted.model_validate_json(answer)
            return made
        except (ValueError, ValidationError) as error:
            raise OutputInvalid(
                f"the answer does not fit the requested type: {error}", result
            ) from None


def _schema_of(wanted: OutputFormat | type[BaseModel]) -> dict[str, Any] | None:
    """Return the JSON Schema that an answer must fit; None for text, {} for any JSON."""
    if wanted == "markdown":
        return None
    if wanted == "json":
        return {}
    if isinstance(wanted, type) and issubclass(wanted, BaseModel):
        return wanted.model_json_schema()
    raise InvalidInput(
        f"unknown output_format {wanted!r} (possible: 'markdown', 'json', a pydantic model class)"
    )


def _text_of(plan: str | Mapping[str, Any] | Graph | None) -> str | None:
    """Return the text of a valid plan. Raises InvalidInput that names each mistake."""
    if plan is None:
        return None
    if isinstance(plan, Graph):
        plan.validate()
        text = plan.to_json()
    elif isinstance(plan, str):
        text = plan
    elif isinstance(plan, Mapping):
        text = _json_of(plan)
    else:
        raise InvalidInput(
            f"{plan!r:.80} is no plan (possible: a Graph, the text of a plan file, a mapping)"
        )
    parse_plan(text)
    return text


def _json_of(plan: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(plan))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"the plan contains a value that no plan file can contain: {error}"
        ) from None


def seconds_of(timeout: float | None) -> float | None:
    """Return a timeout in seconds. Raises InvalidInput."""
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise InvalidInput(f"timeout is {timeout!r}, and must be above 0 (seconds)")
    return timeout


def limit_of(budget: float | str | None) -> NamedLimit:
    """Return the budget of a run; a number is in US dollars, None is no limit.

    Raises InvalidInput.
    """
    return NamedLimit() if budget is None else parse_budget(str(budget))
