"""The embedded model: plays a playbook with the real tools; needs no key and no network.

It stores nothing between calls. The next step is derived from the conversation, so it continues
after a crash, a message in between or a change of process. It is a script, and says so.
"""

import asyncio
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import StrictUndefined, TemplateError, Undefined
from jinja2.sandbox import SandboxedEnvironment

from agiraph.core.json_text import parse_json
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, ToolCall, Usage
from agiraph.llm.base import OnAnswer, OnText, ProviderError, unmetered
from agiraph.llm.embedded.playbook import (
    REPLY_STEP,
    Playbook,
    PlaybookRole,
    PlaybookStep,
    load_playbook,
)
from agiraph.llm.embedded.random_model import random_model
from agiraph.llm.embedded.script_state import (
    MARK,
    ScriptState,
    call_id,
    caller_of,
    read_state,
)

NOTHING_USED = Usage(cost_usd=0.0)
"""No language model is part of a script, so it counts no tokens."""
STREAMED_AT_ONCE = 40
MOST_COMPILED = 1024
OVER = "My script ends here; I am a script and have nothing to add."

Names = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """The text and the calls of a playbook's step, before the calls have ids."""

    step: str
    say: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()
    think_seconds: float = 0


class ScriptProvider:
    """The provider `script`: `script/NAME` plays the current `NAME.yaml` of a folder.

    `script/random-SEED` is a model that calls tools at random (`RandomModel`).
    """

    def __init__(self, playbooks_folder: Path) -> None:
        self._folder = playbooks_folder
        self._renderer = TemplateRenderer(playbooks_folder)

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Return the next step of the calling role as the answer. Raises ProviderError."""
        name = request.model.removeprefix("script/")
        if (model := random_model(name)) is not None:
            return model.answer(request)
        playbook = load_playbook(self._folder, name)
        try:
            play = script_play(self._renderer, playbook, request)
            answer = play.reply() or play.next_answer()
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise ProviderError("bad_request", f"playbook {name}: {error}") from error
        await asyncio.sleep(answer.think_seconds)
        await _stream(answer.say, on_text)
        return _response(request, play, answer)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


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
        """Return the value of an expression; iterators become lists."""
        value = self._expression(expression)(**names)
        if isinstance(value, Undefined):
            raise ValueError(f"undefined name in: {expression}")
        return list(value) if isinstance(value, Iterator) else value

    def filled(self, given: Any, names: Names) -> Any:
        """Return arguments with all texts filled in, `=` and `json:` texts by value."""
        if isinstance(given, str):
            if given.startswith("="):
                return self.value(given[1:].strip(), names)
            text = self.text(given, names)
            return parse_json(text.removeprefix("json:")) if given.startswith("json:") else text
        if isinstance(given, dict):
            return {key: self.filled(value, names) for key, value in given.items()}
        return [self.filled(item, names) for item in given] if isinstance(given, list) else given

    def _source(self, name: str) -> str:
        file = (self._folder / name).resolve()
        if not file.is_relative_to(self._folder) or not file.is_file():
            raise ValueError(f"there is no file '{name}' among the playbooks")
        return file.read_text(encoding="utf-8")  # plain: shipped with the package


@dataclass(frozen=True, slots=True)
class ScriptPlay:
    """A role of a playbook at one point of a conversation; `names` are for the templates."""

    renderer: TemplateRenderer
    playbook: Playbook
    role_name: str
    role: PlaybookRole
    state: ScriptState
    names: Names

    def next_answer(self) -> ScriptedAnswer:
        """Return the answer of the current step: a step repeats until its `until` is true.

        After the last step the answer says that the script is over.
        """
        for step in self._from_here():
            if not self.renderer.value(step.when, self.names):
                continue
            answer = self._answer(step)
            if answer.say or answer.calls:
                return answer
        return ScriptedAnswer("", OVER)

    def _from_here(self) -> tuple[PlaybookStep, ...]:
        steps = self.role.steps
        ids = [step.id for step in steps]
        made = [visit for visit in self.state.visits if visit.step in ids]
        if not made:
            return steps
        at = ids.index(made[-1].step)
        visits = [visit for visit in made if visit.step == steps[at].id]
        is_done = len(visits) >= steps[at].at_most or self.renderer.value(
            steps[at].until, self.names | {"ok": visits[-1].ok}
        )
        return steps[at + 1 :] if is_done else steps[at:]

    def _answer(self, step: PlaybookStep) -> ScriptedAnswer:
        calls: list[tuple[str, JsonObject]] = []
        for call in step.calls:
            items = [None] if call.each is None else self.renderer.value(call.each, self.names)
            for item in items:
                names = self.names | {"item": item}
                calls.append((call.tool, self.renderer.filled(call.arguments, names)))
        say = self.renderer.text(step.say, self.names).strip()
        return ScriptedAnswer(step.id, say, tuple(calls), step.think_seconds)

    def reply(self) -> ScriptedAnswer | None:
        """Return the reply to messages since the last answer, None if none is needed."""
        made = [visit.step for visit in self.state.visits if visit.step != REPLY_STEP]
        names = self.names | {"step": made[-1] if made else "the first step"}
        calls: list[tuple[str, JsonObject]] = []
        for message in self.state.unanswered:
            template = self.playbook.replies.get(message.sender, "")
            if content := self.renderer.text(template, names | {"message": message}):
                calls.append(("send_message", {"to": message.sender, "content": content}))
        return ScriptedAnswer(REPLY_STEP, calls=tuple(calls)) if calls else None


def script_play(
    renderer: TemplateRenderer, playbook: Playbook, request: ModelRequest
) -> ScriptPlay:
    """Return the play of the role whose entity makes a request, at its place in the playbook."""
    who = caller_of(request)
    role_name, role = playbook.role_for(who.role, who.kind)
    state = read_state(request.turns, role_name)
    did: dict[str, list[Any]] = {step.id: [] for step in role.steps}
    did |= {visit.step: list(visit.results) for visit in state.visits}
    names: Names = {
        "me": who.me,
        "role": who.role,
        "goal": state.goal,
        "assignment": state.assignment,
        "messages": state.messages,
        "did": SimpleNamespace(**did),
        "tools": [tool.name for tool in request.tools],
    }
    for name, given in role.let.items():
        names[name] = renderer.filled(given, names)
    return ScriptPlay(renderer, playbook, role_name, role, state, names)


async def _stream(text: str, on_text: OnText) -> None:
    for start in range(0, len(text), STREAMED_AT_ONCE):
        on_text(text[start : start + STREAMED_AT_ONCE])
        await asyncio.sleep(0)


def _response(request: ModelRequest, play: ScriptPlay, answer: ScriptedAnswer) -> ModelResponse:
    role, visit = play.role_name, sum(one.step == answer.step for one in play.state.visits)
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
        usage=NOTHING_USED,
        model=request.model,
        provider_data=None if calls else {MARK: [role, answer.step]},
    )
