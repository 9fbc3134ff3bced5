"""WireFormat: the wire format of a model service, for a client and for a server.

As a client Agiraph encodes requests and reads streamed answers. As a server (the LLM proxy for
external agents) it parses requests and writes answers and errors. If the agent and the service
speak the same format, the agent's own body is forwarded, and its answer only read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.record import misfit_in_words, why_not_stored
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ModelRequest,
    ModelResponse,
    StopReason,
    ToolCall,
    ToolSchema,
    ToolTurn,
    Turn,
    Usage,
)
from agiraph.llm.base import RETRYABLE, FailureKind, PartialUsage, ProviderError
from agiraph.llm.failures import UnreadableAnswer
from agiraph.llm.request_body_cache import RequestBodyCache
from agiraph.llm.token_counts import byte_length
from agiraph.llm.wire.request_rules import RequestRules
from agiraph.llm.wire.sse import encode_event
from agiraph.llm.wire.transcript import unique_calls
from agiraph.models.registry import ModelTraits

ANSWER_TOKENS = 8192
"""The longest answer if a request has no limit."""
NO_RESULT = "[this call has no result: it was cut off]"
CONTENT_BYTES = 8 << 20
"""The largest content of an answer: text, thinking and the arguments of calls."""
ANSWER_PARTS = 20_000
"""The most calls and other parts of an answer."""
SHOWN_CHARACTERS = 200
UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
"""Errors of a reader for an event that does not have the shape of its format."""
NO_RETRY: Mapping[str, str] = {"x-should-retry": "false"}


@dataclass(frozen=True, slots=True)
class AnswerContent:
    """The content of a complete answer; `private` is sent back with the next request."""

    text: str
    calls: list[ToolCall]
    stop: StopReason
    private: JsonObject | None


class AnswerReader(ABC):
    """Reads an answer of a service from the events of its stream.

    `counts` are the service's counts of tokens until now, `streamed_bytes` the size of all text,
    thinking and calls; `finish` is why the answer ended, None until it is complete. `is_accepted`
    is set by the reader's owner.
    """

    def __init__(self) -> None:
        self.counts: JsonObject = {}
        self.streamed_bytes = 0
        self.is_accepted = False
        self.has_begun = False
        self.finish: str | None = None

    def read(self, event: JsonObject) -> str:
        """Read one event; return its text, "" if none.

        Raises ServiceError for an event that is an error; UnreadableAnswer for an event without the
        shape of the format, and for an answer beyond the limits.
        """
        try:
            text = self.feed(event)
        except UNREADABLE as error:
            shown = repr(event)[:SHOWN_CHARACTERS]
            raise UnreadableAnswer(
                f"an event of the answer cannot be read ({type(error).__name__}: {error}): {shown}"
            ) from error
        if self.streamed_bytes > CONTENT_BYTES:
            raise UnreadableAnswer(f"the content of the answer has more than {CONTENT_BYTES} bytes")
        if self.parts() > ANSWER_PARTS:
            raise UnreadableAnswer(f"the answer has more than {ANSWER_PARTS} parts")
        return text

    @abstractmethod
    def feed(self, event: JsonObject) -> str:
        """Read one event like `read`, without checks; may raise any error of UNREADABLE."""

    def end(self) -> None:
        """Record that the stream has sent its end mark (`[DONE]`): the answer is complete.

        Some services never send a reason for the end of an answer.
        """
        if self.finish is None and self.has_begun:
            self.finish = ""

    @abstractmethod
    def generated(self) -> object:
        """Return the text, thinking and arguments of calls so far, nested in any way."""

    @abstractmethod
    def parts(self) -> int:
        """Return the number of calls and other parts of the answer so far."""

    @abstractmethod
    def usage(self) -> Usage:
        """Return the tokens that the service has counted so far, unchecked."""

    @abstractmethod
    def content(self, model: str) -> AnswerContent:
        """Return the content of the complete answer of `model`."""

    def response(self, request: ModelRequest) -> ModelResponse:
        """Return the complete answer to `request`.

        Raises ProviderError if the stream ended before it was complete, UnreadableAnswer.
        """
        if self.finish is None:
            raise ProviderError("unreachable", "the answer broke off before its end")
        try:
            content = self.content(request.model)
            _refuse_unstorable(content)
        except UNREADABLE as error:
            text = f"the answer cannot be read ({type(error).__name__}: {error})"
            raise UnreadableAnswer(text[:SHOWN_CHARACTERS]) from error
        stop = content.stop
        return ModelResponse(
            text=content.text or None,
            tool_calls=unique_calls(content.calls, request),
            stop_reason="tool_use" if content.calls and stop == "end_turn" else stop,
            usage=self.usage(),
            model=request.model,
            provider_data=content.private,
        )

    def so_far(self) -> PartialUsage:
        """Return the usage of the answer until now; some services never count."""
        return PartialUsage(
            self.usage(),
            self.streamed_bytes,
            has_begun=self.has_begun,
            is_complete=self.finish is not None,
            is_accepted=self.is_accepted,
            texts=list(texts_in(self.generated())),
        )


def _refuse_unstorable(content: AnswerContent) -> None:
    """Raise UnreadableAnswer for JSON that cannot be sent or stored."""
    values = (*(call.arguments for call in content.calls), content.private)
    for why in filter(None, map(why_not_stored, values)):
        raise UnreadableAnswer(f"the answer has JSON with {why}")


@dataclass(frozen=True, slots=True)
class WireError:
    """An HTTP answer that is an error in a wire format; its `headers` say whether to retry."""

    status: int
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


class AnswerWriter(ABC):
    """Writes an answer as the events of a stream."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_text = False

    def text(self, piece: str) -> bytes:
        """Return the bytes to send for a piece of text."""
        begun, is_first, self.has_text = self.begun(), not self.has_text, True
        return begun + self.piece(piece, is_first=is_first)

    def end(self, response: ModelResponse) -> bytes:
        """Return the bytes that complete an answer: calls, stop reason, usage, the end."""
        unsent = self.text(response.text) if response.text and not self.has_text else self.begun()
        return unsent + self.rest(response)

    def begun(self) -> bytes:
        """Return the bytes that begin the stream at the first call, b"" afterwards."""
        if self.has_begun:
            return b""
        self.has_begun = True
        return self.beginning()

    def beginning(self) -> bytes:
        """Return the events before the first piece of text, b"" if the format has none."""
        return b""

    @abstractmethod
    def piece(self, text: str, *, is_first: bool) -> bytes:
        """Return the events of a piece of text."""

    @abstractmethod
    def rest(self, response: ModelResponse) -> bytes:
        """Return the events that follow the text of a complete answer."""

    def error(self, error: WireError) -> bytes:
        """Return the bytes to send when the answer breaks off after it has begun."""
        return encode_event(error.body)


class WireFormat(ABC):
    """One wire format: its requests, answers, errors and rules."""

    api: ClassVar[str]
    """The `api` of the presets whose services speak it."""
    endpoint: ClassVar[str] = ""
    """The path of every request, after the service's base URL."""
    max_tokens_field: ClassVar[str] = "max_tokens"
    rules: ClassVar[RequestRules]
    """The rules for the parts of an agent's request that reach a service."""
    errors: ClassVar[Mapping[FailureKind, tuple[int, str]]]
    """The status of each failure, and its name."""
    refusals: ClassVar[Mapping[int, str]]
    """The names of refusals by status; others have the name of a bad request."""
    too_long: ClassVar[str] = ""
    """The phrase by which agents recognize a prompt that is too long."""
    ends_broken_streams: ClassVar[bool] = False
    """Whether a forwarded stream that breaks off ends with an error, for clients that treat a lost
    connection as the end; otherwise the connection is closed before the answer is complete."""
    count_field: ClassVar[str] = ""
    """The field of a token count's answer with the count; "" if the format has no such request."""

    # --- as a client -----------------------------------------------------------------------------

    def path(self, model: str, *, is_streamed: bool) -> str:
        """Return the path of a request, after the service's base URL."""
        return self.endpoint

    def auth(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    @staticmethod
    @abstractmethod
    def encode_request(
        request: ModelRequest, model: str, traits: ModelTraits, body_cache: RequestBodyCache
    ) -> bytes:
        """Return the body of a streaming request for `model`, as JSON."""

    @staticmethod
    @abstractmethod
    def reader() -> AnswerReader:
        """Return a reader for the answer of one request."""

    # --- as a server -----------------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def parse_request(body: JsonObject) -> ModelRequest:
        """Return the request of a body. Raises InvalidInput, which describes its problem."""

    @abstractmethod
    def writer(self, body: JsonObject) -> AnswerWriter:
        """Return a writer for the streamed answer to a request's body."""

    @abstractmethod
    def encode_answer(self, body: JsonObject, response: ModelResponse) -> JsonObject:
        """Return the unstreamed answer to a request's body."""

    @abstractmethod
    def error_body(self, status: int, name: str, message: str) -> JsonObject:
        """Return the body of an error or a refusal."""

    def error(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> WireError:
        """Return the error of a failed call."""
        status, name = self.errors.get(kind, self.errors["internal"])
        if kind == "context_too_long" and self.too_long not in message:
            message = f"{self.too_long}: {message}"
        body = self.error_body(status, name, message)
        return WireError(status, body, retry_headers(kind, retry_after))

    def refusal(self, status: int, message: str) -> WireError:
        """Return the refusal of a request that is no call: a wrong token, host, path or size."""
        name = self.refusals.get(status, self.errors["bad_request"][1])
        return WireError(status, self.error_body(status, name, message), NO_RETRY)

    @abstractmethod
    def models(self, names: tuple[str, ...]) -> JsonObject:
        """Return the list of models with these names, as the API of the format answers it."""

    @abstractmethod
    def model(self, name: str) -> JsonObject:
        """Return the description of one model, as the API of the format answers it."""

    # --- forwarding ------------------------------------------------------------------------------

    def forwarded(
        self, body: JsonObject, model: str, max_tokens: int, traits: ModelTraits
    ) -> JsonObject:
        """Return the body to send to the service, with only this limit of the answer.

        `body` is allowed by the rules, `traits` are those of the model.
        """
        sent = {name: value for name, value in body.items() if name not in self.rules.limits}
        return {**sent, "model": model, self.max_tokens_field: max_tokens}

    @abstractmethod
    def answer_events(self, answer: JsonObject) -> list[JsonObject]:
        """Return an unstreamed answer as events for `reader`."""

    def is_shown(self, body: JsonObject, event: JsonObject | None) -> bool:
        """Whether the agent receives an event of the service's stream (None: no JSON object)."""
        return True

    def count_path(self, model: str) -> str:
        """Return the path of token counts, after the service's base URL."""
        raise NotImplementedError

    def count_request(self, body: JsonObject, model: str) -> JsonObject:
        """Return the body of a request for a token count."""
        return {**body, "model": model}


def text_bytes(value: object) -> int:
    """Return the number of bytes of text in a piece of an answer, at any depth."""
    match value:
        case str():
            return byte_length(value)
        case dict():
            return sum(map(text_bytes, value.values()))
        case list():
            return sum(map(text_bytes, value))
    return 0


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a value, at any depth and in any order."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(named):
                waiting += named.values()
            case list(listed):
                waiting += reversed(listed)


def clamped(settings: JsonObject, name: str, most: int) -> JsonObject:
    """Return `settings` with the number `name` lowered to at most `most`.

    All other values stay unchanged.
    """
    value = settings.get(name)
    return settings | {name: min(value, most)} if isinstance(value, int) else settings


def mapping(value: Any) -> JsonObject:
    """Return a JSON object, an empty one for any other value."""
    return value if isinstance(value, dict) else {}


@contextmanager
def readable() -> Iterator[None]:
    """Raise InvalidInput for errors in the block that the shape of a request causes."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        raise InvalidInput(f"{place}: {misfit_in_words(first)}") from None
    except (*UNREADABLE, OverflowError) as error:
        raise InvalidInput(
            f"the request cannot be read ({type(error).__name__}: {error})"
        ) from None


# --- helpers for parsing requests ----------------------------------------------------------------


def asked_model(body: JsonObject) -> str:
    """Return the model that a request names. Raises InvalidInput."""
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput("model: expected the name of a model")
    return model


def parsed_request(
    body: JsonObject, *, turns: list[Turn], max_tokens: int | None, temperature: Any, **more: Any
) -> ModelRequest:
    """Return the request for the model that `body` names, its turns completed."""
    is_number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    return ModelRequest(
        model=asked_model(body),
        turns=tuple(completed(turns)),
        max_tokens=max_tokens or ANSWER_TOKENS,
        temperature=float(temperature) if is_number else None,
        **more,
    )


def completed(turns: list[Turn]) -> list[Turn]:
    """Return the turns with each call followed by its result, as all services require.

    Late results are moved up; a call without a result gets NO_RESULT; a result without a call is
    left out.
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
    """Return the text of a string or a list of parts; other parts are represented by their type."""
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
    """Return the messages of a request. Raises InvalidInput if there are none."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages: expected a list of messages")
    return messages


def tools_in(body: JsonObject) -> list[Any]:
    """Return the tools of a request. Raises InvalidInput if they are not a list."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise InvalidInput("tools: expected a list")
    return tools


def tool_schema(tool: JsonObject, parameters: JsonObject) -> ToolSchema:
    """Return the schema of a tool that a request declares; `parameters` is its JSON Schema."""
    name, description = tool.get("name", ""), tool.get("description") or ""
    return ToolSchema(name=str(name), description=str(description), parameters=parameters)


def schema_in(body: JsonObject, *path: str) -> JsonObject | None:
    """Return the JSON Schema at the keys `path` of a request's body, None if there is none."""
    found: Any = body
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def retry_headers(kind: FailureKind, retry_after: float | None) -> Mapping[str, str]:
    """Return the headers that say whether to retry and, if known, after how many seconds."""
    if kind not in RETRYABLE:
        return NO_RETRY
    wait = {} if retry_after is None else {"retry-after": f"{retry_after:.0f}"}
    return {"x-should-retry": "true", **wait}
