"""The embedded model: plays a playbook with the real tools; needs no key and no network.

It stores nothing between calls. Which step is next is read from the conversation, so it continues
after a crash, a message in between or a change of process. It is a script, and says so.
"""

import asyncio
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined
from jinja2.sandbox import SandboxedEnvironment

from agiraph.core.config import configs_folder
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, ToolCall, Usage
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.embedded.playbook import (
    REPLY_STEP,
    Playbook,
    PlaybookRole,
    PlaybookStep,
    load_playbook,
)
from agiraph.llm.embedded.script_state import (
    MARK,
    ScriptedEntity,
    ScriptState,
    StepVisit,
    call_id,
    caller_of,
    read_state,
)

CHARACTERS_PER_TOKEN = 4
STREAMED_AT_ONCE = 40
MOST_COMPILED = 1024
OVER = "My script ends here; I am a script and have nothing to add."

Names = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """What a step says and calls, before it has ids."""

    step: str
    say: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()
    think_seconds: float = 0


class ScriptProvider:
    """The provider `script`: `script/NAME` plays `NAME.yaml` of a folder, as it is at each call."""

    def __init__(self, playbooks_folder: Path) -> None:
        self._folder = playbooks_folder
        self._renderer = TemplateRenderer(playbooks_folder)

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Answer with the next step of the role that calls. Raises ProviderError."""
        name = request.model.removeprefix("script/")
        playbook = load_playbook(self._folder, name)
        try:
            role, answer, visit = self._decide(playbook, request)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise ProviderError("bad_request", f"playbook {name}: {error}") from error
        await asyncio.sleep(answer.think_seconds)
        await _stream(answer.say, on_text)
        return _response(request, role, answer, visit)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _decide(self, playbook: Playbook, request: ModelRequest) -> tuple[str, ScriptedAnswer, int]:
        who = caller_of(request)
        name, role = playbook.role_for(who.role, who.kind)
        state = read_state(request.turns, name)
        renderer = self._renderer
        tools = [tool.name for tool in request.tools]
        names = _names(renderer, who, role, state, tools)
        reply = _reply(renderer, playbook, state, names)
        answer = reply or next_answer(renderer, role, state, names)
        visit = sum(one.step == answer.step for one in state.visits)
        return name, answer, visit


class TemplateRenderer:
    """Templates and expressions of a playbook, in jinja's sandbox; `source` reads from `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._jinja = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
        self._jinja.globals["source"] = self._source
        self._jinja.filters["quoted"] = shlex.quote
        compiled = partial(self._jinja.compile_expression, undefined_to_none=False)
        self._template = lru_cache(MOST_COMPILED)(self._jinja.from_string)
        self._expression = lru_cache(MOST_COMPILED)(compiled)

    def text(self, template: str, names: Names) -> str:
        """Return a template filled in."""
        return self._template(template).render(names)

    def value(self, expression: str, names: Names) -> Any:
        """Return the value of an expression, a list for what jinja only iterates."""
        value = self._expression(expression)(**names)
        if isinstance(value, Undefined):
            raise ValueError(f"undefined name in: {expression}")
        return list(value) if isinstance(value, Iterator) else value

    def filled(self, given: Any, names: Names) -> Any:
        """Return arguments with every text in them filled in, `=` and `json:` texts by value."""
        if isinstance(given, str):
            if given.startswith("="):
                return self.value(given[1:].strip(), names)
            text = self.text(given, names)
            return json.loads(text.removeprefix("json:")) if given.startswith("json:") else text
        if isinstance(given, dict):
            return {key: self.filled(value, names) for key, value in given.items()}
        return [self.filled(item, names) for item in given] if isinstance(given, list) else given

    def _source(self, name: str) -> str:
        file = (self._folder / name).resolve()
        if not file.is_relative_to(self._folder) or not file.is_file():
            raise ValueError(f"there is no file '{name}' among the playbooks")
        return file.read_text(encoding="utf-8")  # plain: shipped with the package


def next_answer(
    renderer: TemplateRenderer, role: PlaybookRole, state: ScriptState, names: Names
) -> ScriptedAnswer:
    """Return the step to make now: the last one again until it is done, else the next one."""
    for step in _from_here(renderer, role, state, names):
        if not renderer.value(step.when, names):
            continue
        answer = _answer(renderer, step, names)
        if answer.say or answer.calls:
            return answer
    return ScriptedAnswer("", OVER)


def _from_here(
    renderer: TemplateRenderer, role: PlaybookRole, state: ScriptState, names: Names
) -> tuple[PlaybookStep, ...]:
    ids = [step.id for step in role.steps]
    made = [visit for visit in state.visits if visit.step in ids]
    if not made:
        return role.steps
    at = ids.index(made[-1].step)
    is_done = _is_done(renderer, role.steps[at], made, names)
    return role.steps[at + 1 :] if is_done else role.steps[at:]


def _is_done(
    renderer: TemplateRenderer, step: PlaybookStep, made: list[StepVisit], names: Names
) -> bool:
    visits = [visit for visit in made if visit.step == step.id]
    if len(visits) >= step.at_most:
        return True
    return bool(renderer.value(step.until, names | {"ok": visits[-1].ok}))


def _answer(renderer: TemplateRenderer, step: PlaybookStep, names: Names) -> ScriptedAnswer:
    calls: list[tuple[str, JsonObject]] = []
    for call in step.calls:
        items = [None] if call.each is None else renderer.value(call.each, names)
        for item in items:
            calls.append((call.tool, renderer.filled(call.arguments, names | {"item": item})))
    say = renderer.text(step.say, names).strip()
    return ScriptedAnswer(step.id, say, tuple(calls), step.think_seconds)


def _reply(
    renderer: TemplateRenderer, playbook: Playbook, state: ScriptState, names: Names
) -> ScriptedAnswer | None:
    """Return the reply to messages since the last answer, None if none needs one."""
    made = [visit.step for visit in state.visits if visit.step != REPLY_STEP]
    about = {"step": made[-1] if made else "the first step"}
    calls = tuple(
        ("send_message", {"to": message.sender, "content": content})
        for message in state.unanswered
        if message.sender in playbook.replies
        and (
            content := renderer.text(
                playbook.replies[message.sender], names | about | {"message": message}
            )
        )
    )
    return ScriptedAnswer(REPLY_STEP, calls=calls) if calls else None


def _names(
    renderer: TemplateRenderer,
    who: ScriptedEntity,
    role: PlaybookRole,
    state: ScriptState,
    tools: list[str],
) -> Names:
    """Return what templates and expressions can name."""
    did: dict[str, list[Any]] = {step.id: [] for step in role.steps}
    did |= {visit.step: list(visit.results) for visit in state.visits}
    names: Names = {
        "me": who.me,
        "role": who.role,
        "goal": state.goal,
        "assignment": state.assignment,
        "messages": state.messages,
        "did": SimpleNamespace(**did),
        "tools": tools,
        "sample": str(configs_folder() / "sample"),
    }
    for name, given in role.let.items():
        names[name] = renderer.filled(given, names)
    return names


async def _stream(text: str, on_text: OnText) -> None:
    for start in range(0, len(text), STREAMED_AT_ONCE):
        on_text(text[start : start + STREAMED_AT_ONCE])
        await asyncio.sleep(0)


def _response(
    request: ModelRequest, role: str, answer: ScriptedAnswer, visit: int
) -> ModelResponse:
    calls = tuple(
        ToolCall(
            id=call_id(request, role, answer.step, visit, index), name=tool, arguments=arguments
        )
        for index, (tool, arguments) in enumerate(answer.calls)
    )
    return ModelResponse(
        text=answer.say or None,
        tool_calls=calls,
        stop_reason="tool_use" if calls else "end_turn",
        usage=_usage(request, answer),
        model=request.model,
        provider_data=None if calls else {MARK: [role, answer.step]},
    )


def _usage(request: ModelRequest, answer: ScriptedAnswer) -> Usage:
    """Return a rough count of tokens, for metering; it costs nothing."""
    asked = len(request.system) + sum(len(turn.model_dump_json()) for turn in request.turns)
    said = len(answer.say) + sum(len(str(call)) for call in answer.calls)
    return Usage(
        input_tokens=asked // CHARACTERS_PER_TOKEN,
        output_tokens=max(1, said // CHARACTERS_PER_TOKEN),
        cost_usd=0.0,
    )
