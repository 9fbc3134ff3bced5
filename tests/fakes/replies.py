"""The input and output of a responder: SeenRequest, Reply, and Script, a responder made of lists.

A responder is any `Callable[[SeenRequest], Reply]`. It must not count calls: an entity that was
killed repeats its last step, and must get the same answer. So look at `seen.turns`.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agiraph.core.turns import AssistantTurn, StopReason, ToolTurn, Turn, Usage, UserTurn

INTERRUPTED_MARK = "[interrupted]"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a reply; `raw` replaces the JSON of the arguments, to send invalid JSON.

    `namespace` is the name space of a function in the Responses API (Codex's MCP tools).
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None
    id: str | None = None
    namespace: str | None = None

    @property
    def json(self) -> str:
        """The arguments in the form of the wire."""
        return json.dumps(dict(self.arguments)) if self.raw is None else self.raw


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the fake model.

    `gate` delays the answer until the test sets it; `text_gate` delays it after the first piece of
    text, so that a test can interrupt a model in mid-sentence. `status` other than 200 answers with
    that HTTP error and `error` as (type, message); `cut_after` drops the connection after that many
    events of the stream, `stall_after` sends no more events until `text_gate` is set. `usage` is
    canonical: input_tokens includes the cached tokens; without `is_counted` the answer does not
    contain it, like answers of some services.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    thinking: str | None = None
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    gate: threading.Event | None = None
    text_gate: threading.Event | None = None
    status: int = 200
    error: tuple[str, str] = ("api_error", "the fake model fails as it was told")
    retry_after: str | None = None
    cut_after: int | None = None
    stall_after: int | None = None
    is_counted: bool = True

    def stop(self) -> StopReason:
        """Return why the model stopped."""
        return self.stop_reason or ("tool_use" if self.calls else "end_turn")


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as the fake server received it, in Agiraph's own terms.

    `body` is its JSON, `raw` the exact bytes; `path` includes its query.
    """

    api: Literal["anthropic", "openai", "responses", "google"]
    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    raw: bytes = b""
    path: str = ""

    @property
    def step(self) -> int:
        """The number of complete answers in this conversation: 0 for the first."""
        answers = [turn for turn in self.turns if isinstance(turn, AssistantTurn)]
        return sum(not (turn.text or "").endswith(INTERRUPTED_MARK) for turn in answers)

    @property
    def said(self) -> str:
        """All text that users and tools put into the conversation."""
        return "\n".join(t.content for t in self.turns if isinstance(t, (UserTurn, ToolTurn)))

    def result(self, tool: str) -> str:
        """Return the latest result of `tool`; LookupError if it was never called."""
        for turn in reversed(self.turns):
            if isinstance(turn, ToolTurn) and turn.name == tool:
                return turn.content
        raise LookupError(f"no result of {tool} in the conversation")

    def results(self, tool: str) -> list[str]:
        """Return all results of `tool`, oldest first."""
        return [t.content for t in self.turns if isinstance(t, ToolTurn) and t.name == tool]

    def is_for(self, actor: str) -> bool:
        """Whether the system prompt says "You are ACTOR", or "You are NAME, the coordinator"."""
        return _place(actor, self.system) is not None


def call(tool: str, /, **arguments: Any) -> Reply:
    """Return a reply with one tool call: `call("bash", command="ls")`."""
    return Reply(calls=(Call(tool, arguments),))


def calls(*replies: Reply, text: str | None = None) -> Reply:
    """Return one reply with the calls of all: `calls(call("a"), call("b"))`."""
    return Reply(text=text, calls=tuple(c for reply in replies for c in reply.calls))


def say(text: str) -> Reply:
    """Return a reply of text alone."""
    return Reply(text=text)


def rate_limited(retry_after: str | None = None) -> Reply:
    """Return a 429, with the provider's `retry-after` if it is given."""
    return Reply(status=429, error=("rate_limit_error", "slow down"), retry_after=retry_after)


def server_error() -> Reply:
    """Return a 500."""
    return Reply(status=500, error=("api_error", "internal server error"))


def too_long() -> Reply:
    """Return the error for a prompt that is too long (its wording is set for each API)."""
    return Reply(status=400, error=("context_length_exceeded", "prompt is too long: 9 > 8 maximum"))


def cut(reply: Reply, after_events: int = 3) -> Reply:
    """Return `reply` with the connection dropped in the middle of its stream."""
    return replace(reply, cut_after=after_events)


Responder = Callable[[SeenRequest], Reply]
Step = Reply | Responder


class Script:
    """A responder that plays lists: `Script({"coordinator": [call(...), ...], "ada": [...]})`.

    The actor is the name in the system prompt after "You are", or `coordinator` for "You are NAME,
    the coordinator" (the first match, if several do); `*` plays actors that match no name. The step
    is the number of answers in the conversation, so a step that is repeated after a crash gets the
    same answer. A step is a Reply, or a callable that receives the request; a callable in place of
    a list answers all steps. Running out of steps is an error of the test: the server answers 400,
    and lists it in `problems`.
    """

    def __init__(self, parts: Mapping[str, Sequence[Step] | Responder]) -> None:
        """Create a responder from a list of steps, or a responder, for each actor."""
        self._parts = parts

    def __call__(self, seen: SeenRequest) -> Reply:
        """Answer one request; LookupError if the script has no answer."""
        actor = self._actor(seen)
        part = self._parts[actor]
        if callable(part):
            return part(seen)
        if seen.step >= len(part):
            raise LookupError(f"the script of {actor} has no step {seen.step} (it has {len(part)})")
        step = part[seen.step]
        return step(seen) if callable(step) else step

    def _actor(self, seen: SeenRequest) -> str:
        places = {name: _place(name, seen.system) for name in self._parts if name != "*"}
        found = {name: place for name, place in places.items() if place is not None}
        if found:
            return min(found, key=lambda name: found[name])
        if "*" in self._parts:
            return "*"
        raise LookupError(f"no actor of the script is named in: {seen.system[:200]!r}")


def _place(actor: str, system: str) -> int | None:
    """Return the position of this actor's name in the system prompt, None without one."""
    lead = re.search(r"\byou are (?:[^,.\n]+, )?the coordinator\b", system, re.IGNORECASE)
    if actor == "coordinator":
        return lead.start() if lead else None
    match = re.search(rf"\byou are (?:the )?\W*{re.escape(actor)}\b", system, re.IGNORECASE)
    if match is None or (lead is not None and lead.start() == match.start()):
        return None
    return match.start()
