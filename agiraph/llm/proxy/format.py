"""What the door needs of a wire format: reading requests, telling answers and errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolTurn,
    Turn,
)
from agiraph.llm.base import FailureKind, PartialUsage
from agiraph.llm.proxy.grants import ProxyGrant

ANSWER_TOKENS = 8192
"""How long an answer may be if the request does not say."""

NO_RESULT = "[this call has no result: it was cut off]"


@dataclass(frozen=True, slots=True)
class ProxyFailure:
    """An error as the format tells it. `headers` say among others whether to try again."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


class AnswerReader(Protocol):
    """An answer of the service as it streams by, read for what it says and costs."""

    def feed(self, event: JsonObject) -> str:
        """Take one event of the stream; return the text that it brought, "" if none."""
        ...

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the whole answer; ProviderError if the stream ended before it was whole."""
        ...

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        ...


class AnswerWriter(Protocol):
    """An answer as it is told to the agent, piece by piece."""

    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""
        ...

    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is whole: calls, reason, usage, the end."""
        ...

    def failed(self, failure: ProxyFailure) -> bytes:
        """Return what to send when the answer breaks off after it has begun."""
        ...


class ProxyFormat(Protocol):
    """One wire format."""

    api: str
    """The `api` of the presets whose services take its requests as they are."""

    tells_breaks: bool
    """Whether a handed-on stream that breaks off ends with an error, for clients that take a lost
    connection for the end; else the connection ends before the answer does."""

    def path(self, body: JsonObject, model: str) -> str:
        """Return where those take this request for `model`, after their base URL."""
        ...

    def read(self, body: JsonObject, grant: ProxyGrant, model: str) -> ModelRequest:
        """Return a request's body in canonical terms; InvalidInput saying what is wrong."""
        ...

    def untranslatable(self, body: JsonObject) -> str:
        """Return why only the service itself could answer this request, "" if others can, too."""
        ...

    def handed_on(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service itself, the answer bounded if a bound is given."""
        ...

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent sees an event of the service's stream (None: it is no object)."""
        ...

    def hearing(self, body: JsonObject) -> AnswerReader:
        """Return what reads the service's answer to `body`."""
        ...

    def whole_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as the events which `AnswerReader` reads."""
        ...

    def telling(self, body: JsonObject, model: str) -> AnswerWriter:
        """Return what tells an answer to `body` as a stream."""
        ...

    def whole(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return an answer to `body` in one piece."""
        ...

    def failure(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> ProxyFailure:
        """Return how a failed call is told."""
        ...

    def denied(self, status: int, message: str) -> ProxyFailure:
        """Return how a request is refused that is no call: a wrong token, host, path or size."""
        ...

    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of these models."""
        ...

    def model(self, name: str) -> JsonObject:
        """Return one model."""
        ...


class TokenCounter(Protocol):
    """How one wire format counts the tokens of a request without making the call."""

    api: str
    """The `api` of the presets whose services count."""

    def path(self, model: str) -> str:
        """Return where those are asked, after their base URL."""
        ...

    def asked(self, body: JsonObject, model: str) -> JsonObject:
        """Return the body to send to the service."""
        ...

    def counted(self, answer: JsonObject) -> int:
        """Return what the service counted; LookupError, TypeError, ValueError."""
        ...

    def told(self, tokens: int) -> JsonObject:
        """Return the answer to the agent."""
        ...


def asked_model(body: JsonObject) -> str:
    """Return which model a request asks for; InvalidInput."""
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput("model: expected the name of a model")
    return model


def request_of(
    grant: ProxyGrant,
    model: str,
    *,
    system: str,
    turns: list[Turn],
    max_tokens: Any,
    **more: Any,
) -> ModelRequest:
    """Return the canonical request of a grant's agent, its turns made complete."""
    return ModelRequest(
        model=model,
        system=system,
        turns=tuple(answered(turns)),
        max_tokens=max_tokens if isinstance(max_tokens, int) and max_tokens > 0 else ANSWER_TOKENS,
        entity=grant.entity,
        run_id=grant.run_id,
        node_id=grant.node_id,
        trigger=grant.trigger,
        attempt=grant.attempt,
        **more,
    )


def answered(turns: list[Turn]) -> list[Turn]:
    """Return the turns with each call answered right after it was made, as all services want it.

    Answers that come later move up; a call without one is said to have none; an answer to a call
    that was never made is left out.
    """
    results = {turn.call_id: turn for turn in turns if isinstance(turn, ToolTurn)}
    complete: list[Turn] = []
    for turn in turns:
        match turn:
            case ToolTurn():
                continue
            case AssistantTurn():
                complete.append(turn)
                complete += [results.get(call.id) or _missing(call.id, call.name)
                             for call in turn.tool_calls]  # fmt: skip
            case _:
                complete.append(turn)
    return complete


def _missing(id: str, name: str) -> ToolTurn:
    return ToolTurn(call_id=id, name=name, content=NO_RESULT, is_error=True)


def number_of(value: Any) -> float | None:
    """Return a number as it stands in a body, None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def text_of(content: Any) -> str:
    """Return what stands in text or in a list of parts; what is no text is named in its place."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n\n".join(
        part["text"] if isinstance(part.get("text"), str) else f"[{part.get('type')}]"
        for part in content
        if isinstance(part, dict)
    )


def tools_in(body: JsonObject) -> list[Any]:
    """Return the tools of a request; InvalidInput if that is no list."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise InvalidInput("tools: expected a list")
    return tools


def schema_in(body: JsonObject, *path: str) -> JsonObject | None:
    """Return the JSON Schema that the answer must satisfy, which stands at `path`, if any does."""
    found: Any = body
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def waits(retry_after: float | None) -> dict[str, str]:
    """Return the headers that ask a client to come again, after a time if one is known."""
    wish = {} if retry_after is None else {"retry-after": f"{retry_after:.0f}"}
    return {"x-should-retry": "true", **wish}


NEVER_AGAIN: Mapping[str, str] = {"x-should-retry": "false"}
