"""The data of model calls: turns, tool calls, tool schemas, requests, responses, usage.

This is the canonical format. Provider adapters translate it; the loop, the transcript and the
broker use only this format.
"""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from agiraph.core.money import Budget
from agiraph.core.record import Record, read_strict
from agiraph.core.redaction import map_texts

JsonObject = dict[str, Any]


def encodable(value: Any) -> Any:
    """Return a JSON value with single surrogates, which UTF-8 cannot encode, replaced by U+FFFD.

    Surrogate pairs are joined.
    """
    return map_texts(value, _encodable_text)


def _encodable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


SafeText = Annotated[str, AfterValidator(encodable)]
SafeObject = Annotated[JsonObject, AfterValidator(encodable)]

PIXELS_PER_TOKEN: Final = 400
PICTURE_FRAME_TOKENS: Final = 100
NO_LONGER_SHOWN: Final = "[{}: this picture is no longer shown; read the file to see it again]"

StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "cancelled"]


def json_in(text: str) -> Any:
    """Return the value of JSON text that a model wrote in its arguments, or the text itself."""
    try:
        return encodable(read_strict(text))
    except ValueError:
        return text


class ToolCall(Record):
    """One tool call of a model; `malformed` is the raw text if it was not a JSON object."""

    id: str
    name: str
    arguments: SafeObject = Field(default_factory=dict)
    malformed: SafeText | None = None


class Picture(Record):
    """A picture that a turn shows. Its bytes are stored and sent once, under their `digest`.

    `digest` is the SHA-256 of the bytes in hexadecimal, `name` names the file, with the page of a
    document; `width` and `height` are in pixels, after scaling.
    """

    digest: str
    media_type: Literal["image/png", "image/jpeg"]
    name: SafeText
    width: int = Field(ge=1)
    height: int = Field(ge=1)

    @property
    def tokens(self) -> int:
        """An upper estimate of its tokens, for models of usual prices.

        Claude counts a token for 750 pixels, GPT-5 nano, the most of the usual models, one for 416.
        """
        return PICTURE_FRAME_TOKENS + -(-self.width * self.height // PIXELS_PER_TOKEN)


class UserTurn(Record):
    """Text for the model: the task, messages from others, notices of the runtime."""

    role: Literal["user"] = "user"
    content: SafeText
    pictures: tuple[Picture, ...] = ()


class AssistantTurn(Record):
    """The text and the calls of a model's answer.

    `provider_data` is opaque data that the provider needs back unchanged, such as thinking blocks.
    `interrupted` marks a partial text that was cut off.
    """

    role: Literal["assistant"] = "assistant"
    text: SafeText | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    provider_data: JsonObject | None = None
    interrupted: bool = False


class ToolTurn(Record):
    """The result of one call; every call of an assistant turn has exactly one result."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: SafeText
    is_error: bool = False
    pictures: tuple[Picture, ...] = ()


Turn = Annotated[UserTurn | AssistantTurn | ToolTurn, Field(discriminator="role")]


def pictures_in(turns: Iterable[Turn]) -> list[Picture]:
    """Return the pictures of these turns, in order."""
    return [one for turn in turns if not isinstance(turn, AssistantTurn) for one in turn.pictures]


def without_pictures(turn: Turn) -> Turn:
    """Return a turn with a line of text in place of each picture."""
    if isinstance(turn, AssistantTurn) or not turn.pictures:
        return turn
    lines = [NO_LONGER_SHOWN.format(one.name) for one in turn.pictures]
    content = "\n".join(filter(None, [turn.content, *lines]))
    return turn.model_copy(update={"content": content, "pictures": ()})


def calls_in_words(answer: AssistantTurn) -> str:
    """Return an answer and its calls as text, for places where calls are not allowed."""
    made = [
        f"{call.name} {call.malformed or json.dumps(call.arguments, ensure_ascii=False)}"
        for call in answer.tool_calls
    ]
    said = [answer.text] if answer.text else []
    return "\n".join(["[Runtime]: What you did before, in words:", *said, *made])


def result_in_words(result: ToolTurn) -> str:
    """Return the result of a call as text, to follow `calls_in_words`."""
    return f"[{'Error' if result.is_error else 'Result'} of {result.name}]: {result.content}"


def encoded_length(value: JsonObject) -> int:
    """Return the size of a JSON object as encoded text, in bytes."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class ToolSchema(Record):
    """The interface of a tool: name, one-line description, JSON Schema of its parameters."""

    name: str
    description: str
    parameters: JsonObject


COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Usage(Record):
    """Tokens and money of one or more model calls.

    `input_tokens` counts all input, including `cache_read_tokens` read from the provider's cache
    and `cache_write_tokens` written to it. `cost_usd` is None when the price is unknown.
    `is_estimate`: part of it is estimated, because the service did not report all of it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    is_estimate: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; an unknown cost counts as zero."""
        costs = [u.cost_usd for u in (self, other) if u.cost_usd is not None]
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        is_estimate = self.is_estimate or other.is_estimate
        return Usage(**counts, cost_usd=sum(costs) if costs else None, is_estimate=is_estimate)

    def less(self, before: "Usage") -> "Usage":
        """Return the difference of this usage and `before`, an earlier state of the same sum."""
        counts = {name: max(0, getattr(self, name) - getattr(before, name)) for name in COUNTED}
        cost = self.cost_usd
        if cost is not None:
            cost = max(0.0, cost - (before.cost_usd or 0.0))
        return Usage(**counts, cost_usd=cost, is_estimate=self.is_estimate)

    @property
    def tokens(self) -> int:
        """The sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def sums(self) -> JsonObject:
        """Return the fields of a listing: `tokens` (in and out), `cost_usd` and `is_estimate`."""
        cost, is_estimate = self.cost_usd, self.is_estimate
        return {"tokens": self.tokens, "cost_usd": cost, "is_estimate": is_estimate}


UsageBy = Literal["entity", "agent", "node", "run", "model", "day", "trigger"]
"""The keys by which the ledger groups calls."""

UsageGroup = Literal[UsageBy, "stage"]
"""The keys by which calls are shown; a stage has the sum of its nodes."""


class UsageRow(Record):
    """The usage of one entity, agent, node, stage, run, model, day or trigger, identified by `key`.

    `run` is the run of a node or stage; the key of a stage is its number. `name` is the display
    name. `seconds` is the total time of its `calls`.
    """

    key: str
    name: str = ""
    run: str = ""
    calls: int
    seconds: float
    usage: Usage

    def __add__(self, other: "UsageRow") -> "UsageRow":
        """Return the sum of both, with the key of this row."""
        sums = {"calls": self.calls + other.calls, "seconds": self.seconds + other.seconds}
        return self.model_copy(update=sums | {"usage": self.usage + other.usage})


class ModelRequest(Record):
    """A request to a model. `model` is `provider/name`; `entity` is the requester, for metering.

    `budget_usd` limits the total cost of all calls of `run_id`; `budgets` are further limits.
    `trigger` is the trigger whose firing caused the call, `record` whether the call is recorded.
    `attempt` is the number of the attempt at the node; `door` is the name of the LLM proxy that
    forwarded it. `response_schema` is the JSON Schema of the single object in the answer's text;
    the requester validates it. `pictures` are the bytes of the turns' pictures, by digest.
    """

    model: str
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSchema, ...] = ()
    max_tokens: int = 8192
    temperature: float | None = None
    entity: str = ""
    run_id: str = ""
    node_id: str = ""
    budget_usd: float | None = None
    budgets: tuple[Budget, ...] = ()
    trigger: str = ""
    record: bool = False
    attempt: int = 0
    door: str = ""
    response_schema: JsonObject | None = None
    pictures: dict[str, bytes] = Field(default_factory=dict)


class ModelResponse(Record):
    """A complete answer of a model. `model` is the model that answered.

    The model is a fallback if `instead_of` names the requested model; `why` is the reason. `window`
    is the context window of the model in tokens, None if unknown.
    """

    text: SafeText | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: StopReason = "end_turn"
    usage: Usage = Usage()
    model: str = ""
    instead_of: str = ""
    why: str = ""
    window: int | None = None
    provider_data: JsonObject | None = None

    def turn(self) -> AssistantTurn:
        """Return the answer as a turn for the conversation."""
        return AssistantTurn(
            text=self.text, tool_calls=self.tool_calls, provider_data=self.provider_data
        )


def unique_calls(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Return the calls with unique ids: some servers leave them empty or repeat them."""
    used: set[str] = set()
    unique: list[ToolCall] = []
    for index, call in enumerate(calls):
        is_taken = not call.id or call.id in used
        mended = (
            call.model_copy(update={"id": f"{call.id or 'call'}-{index}"}) if is_taken else call
        )
        used.add(mended.id)
        unique.append(mended)
    return tuple(unique)
