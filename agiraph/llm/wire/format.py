"""WireFormat: what the wire format of a model service can do, as a client and as a server.

As a client Agiraph encodes requests and reads the answers that stream in. As a server (the LLM
proxy for external agents) it parses requests and writes answers and errors. Where the agent and the
service speak the same format, the agent's own body is forwarded, and its answer only read.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    ToolTurn,
    Turn,
)
from agiraph.llm.base import RETRYABLE, FailureKind, PartialUsage, ProviderError
from agiraph.llm.registry import ModelTraits
from agiraph.llm.request_body_cache import RequestBodyCache

ANSWER_TOKENS = 8192
"""The longest answer if a request does not say."""
NO_RESULT = "[this call has no result: it was cut off]"
NO_RETRY: Mapping[str, str] = {"x-should-retry": "false"}


class AnswerReader(ABC):
    """Reads an answer of a service from the events of its stream."""

    @abstractmethod
    def feed(self, event: JsonObject) -> str:
        """Read one event; return the text that it brought, "" if none.

        Raises ServiceError for an event that is an error.
        """

    @abstractmethod
    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the complete answer; ProviderError if the stream ended before it was complete."""

    @abstractmethod
    def so_far(self) -> PartialUsage:
        """Return what the answer has used until now."""


def broken_off() -> ProviderError:
    """Return the error of a stream that ended before its answer was complete."""
    return ProviderError("unreachable", "the answer broke off before its end")


@dataclass(frozen=True, slots=True)
class WireError:
    """An error in the shape of a format. `headers` say among others whether to try again."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


class AnswerWriter(ABC):
    """Writes an answer as the events of a stream."""

    @abstractmethod
    def text(self, piece: str) -> bytes:
        """Return what to send for a piece of text."""

    @abstractmethod
    def end(self, response: ModelResponse) -> bytes:
        """Return what to send when the answer is complete: calls, stop reason, usage, the end."""

    @abstractmethod
    def error(self, error: WireError) -> bytes:
        """Return what to send when the answer breaks off after it has begun."""


class WireFormat(ABC):
    """One wire format."""

    api: ClassVar[str]
    """The `api` of the presets whose services speak it."""
    ends_broken_streams: ClassVar[bool] = False
    """Whether a forwarded stream that breaks off ends with an error, for clients that take a lost
    connection for the end; otherwise the connection is closed before the answer is complete."""
    count_field: ClassVar[str] = ""
    """The field of a token count's answer that holds the count; "" if the format has no such
    request."""

    # --- as a client -----------------------------------------------------------------------------

    @abstractmethod
    def path(self, model: str, *, is_streamed: bool) -> str:
        """Return where the service takes a request, after its base URL."""

    def auth(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def encode_request(
        self, request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
    ) -> bytes:
        """Return the body of a streaming request for `model`, as JSON."""

    @abstractmethod
    def reader(self) -> AnswerReader:
        """Return a reader for the answer of one request."""

    # --- as a server -----------------------------------------------------------------------------

    @abstractmethod
    def parse_request(self, body: JsonObject) -> ModelRequest:
        """Return the request that a body holds; InvalidInput says what is wrong with it."""

    @abstractmethod
    def writer(self, body: JsonObject) -> AnswerWriter:
        """Return a writer for the streamed answer to a request's body."""

    @abstractmethod
    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return the answer to a request's body in one piece."""

    @abstractmethod
    def error(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> WireError:
        """Return the error of a failed call."""

    @abstractmethod
    def refusal(self, status: int, message: str) -> WireError:
        """Return the refusal of a request that is no call: a wrong token, host, path or size."""

    @abstractmethod
    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of these models."""

    @abstractmethod
    def model(self, name: str) -> JsonObject:
        """Return one model."""

    def why_native_only(self, body: JsonObject) -> str:
        """Return why only a service of this format can answer a request, "" if any can."""
        return ""

    # --- forwarding ------------------------------------------------------------------------------

    @abstractmethod
    def forwarded(self, body: JsonObject, model: str, max_tokens: int | None) -> JsonObject:
        """Return the body to send to the service, the answer bounded if `max_tokens` is given."""

    @abstractmethod
    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an answer that was not streamed as the events that `reader` reads."""

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent gets an event of the service's stream (None: it is no object)."""
        return True

    def count_path(self, model: str) -> str:
        """Return where the service counts the tokens of a request, after its base URL."""
        raise NotImplementedError

    def count_request(self, body: JsonObject, model: str) -> JsonObject:
        """Return the body with which the service is asked for a count."""
        return {**body, "model": model}


# --- helpers for parsing requests ----------------------------------------------------------------


def asked_model(body: JsonObject) -> str:
    """Return which model a request asks for; InvalidInput."""
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput("model: expected the name of a model")
    return model


def parsed_request(
    body: JsonObject, *, turns: list[Turn], max_tokens: Any, temperature: Any, **more: Any
) -> ModelRequest:
    """Return the request for the model that `body` names, its turns completed."""
    is_number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    return ModelRequest(
        model=asked_model(body),
        turns=tuple(completed(turns)),
        max_tokens=max_tokens if isinstance(max_tokens, int) and max_tokens > 0 else ANSWER_TOKENS,
        temperature=float(temperature) if is_number else None,
        **more,
    )


def completed(turns: list[Turn]) -> list[Turn]:
    """Return the turns with each call answered right after it was made, as all services want it.

    Results that come later move up; a call without one gets NO_RESULT; a result of a call that was
    never made is left out.
    """
    results = {turn.call_id: turn for turn in turns if isinstance(turn, ToolTurn)}
    complete: list[Turn] = []
    for turn in turns:
        if isinstance(turn, ToolTurn):
            continue
        complete.append(turn)
        if isinstance(turn, AssistantTurn):
            complete += [
                results.get(call.id)
                or ToolTurn(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True)
                for call in turn.tool_calls
            ]
    return complete


def text_of(content: Any) -> str:
    """Return the text of a string or a list of parts; a part that is no text is named instead."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n\n".join(
        part["text"] if isinstance(part.get("text"), str) else f"[{part.get('type')}]"
        for part in content
        if isinstance(part, dict)
    )


def system_text(*contents: Any) -> str:
    """Return the texts of a request's system prompts as one."""
    return "\n\n".join(filter(str.strip, map(text_of, contents)))


def messages_in(body: JsonObject) -> list[Any]:
    """Return the messages of a request; InvalidInput if there are none."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages: expected a list of messages")
    return messages


def tools_in(body: JsonObject) -> list[Any]:
    """Return the tools of a request; InvalidInput if that is no list."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise InvalidInput("tools: expected a list")
    return tools


def schema_in(body: JsonObject, *path: str) -> JsonObject | None:
    """Return the JSON Schema that the answer must satisfy, which is at `path`, if any does."""
    found: Any = body
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def retry_headers(kind: FailureKind, retry_after: float | None) -> Mapping[str, str]:
    """Return the headers that say whether, and if known in how many seconds, to try again."""
    if kind not in RETRYABLE:
        return NO_RETRY
    wait = {} if retry_after is None else {"retry-after": f"{retry_after:.0f}"}
    return {"x-should-retry": "true", **wait}
