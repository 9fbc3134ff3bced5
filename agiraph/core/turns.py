"""What goes to a model and comes back: turns, tool calls, tool schemas, requests, responses, usage.

This is the one canonical shape. Provider adapters translate it; the loop, the transcript and the
broker speak nothing else.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from agiraph.core.money import Budget
from agiraph.core.record import Record, read_strict
from agiraph.core.redaction import map_texts

JsonObject = dict[str, Any]


def _encodable(value: Any) -> Any:
    """Join split surrogate pairs and replace halves: a model's JSON may hold them, UTF-8 cannot."""
    return map_texts(value, _encodable_text)


def _encodable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


SafeText = Annotated[str, AfterValidator(_encodable)]
SafeObject = Annotated[JsonObject, AfterValidator(_encodable)]

StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "cancelled"]


def json_in(text: str) -> Any:
    """Return the value of JSON that a model wrote as a text in its arguments, or else the text."""
    try:
        return _encodable(read_strict(text))
    except ValueError:
        return text


class ToolCall(Record):
    """One call that a model wants; `malformed` is the raw text if it was no JSON object."""

    id: str
    name: str
    arguments: SafeObject = Field(default_factory=dict)
    malformed: SafeText | None = None


class UserTurn(Record):
    """Text for the model: the task, messages from others, notices of the runtime."""

    role: Literal["user"] = "user"
    content: SafeText


class AssistantTurn(Record):
    """What the model said and which calls it made.

    `provider_data` is opaque: what the provider wants back unchanged (thinking blocks and such).
    `interrupted` marks a partial text that was cut off.
    """

    role: Literal["assistant"] = "assistant"
    text: SafeText | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    provider_data: JsonObject | None = None
    interrupted: bool = False


class ToolTurn(Record):
    """The result of one call; every call of an assistant turn is answered by exactly one."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: SafeText
    is_error: bool = False


Turn = Annotated[UserTurn | AssistantTurn | ToolTurn, Field(discriminator="role")]


def calls_in_words(answer: AssistantTurn) -> str:
    """Return what an answer said and called as text, for where its calls cannot stand as calls."""
    made = [
        f"{call.name} {call.malformed or json.dumps(call.arguments, ensure_ascii=False)}"
        for call in answer.tool_calls
    ]
    said = [answer.text] if answer.text else []
    return "\n".join(["[Runtime]: What you did before, in words:", *said, *made])


def result_in_words(result: ToolTurn) -> str:
    """Return a call's result as text, to stand behind `calls_in_words`."""
    return f"[{'Error' if result.is_error else 'Result'} of {result.name}]: {result.content}"


def encoded_length(value: JsonObject) -> int:
    """Return how many bytes a JSON object has as text."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


class ToolSchema(Record):
    """The formal layer of a tool: name, one-line description, JSON Schema of its parameters."""

    name: str
    description: str
    parameters: JsonObject


COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Usage(Record):
    """Tokens and money of one or more model calls.

    `input_tokens` counts all input, of which `cache_read_tokens` came from the provider's cache
    and `cache_write_tokens` were put into it. `cost_usd` is None when the price is not known.
    `is_estimate`: not all of it was counted by the service, which has not come to the end.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    is_estimate: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; a cost that is unknown on one side counts as nothing."""
        costs = [u.cost_usd for u in (self, other) if u.cost_usd is not None]
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        is_estimate = self.is_estimate or other.is_estimate
        return Usage(**counts, cost_usd=sum(costs) if costs else None, is_estimate=is_estimate)

    def less(self, before: "Usage") -> "Usage":
        """Return what was used since `before`, which is a part of it."""
        counts = {name: max(0, getattr(self, name) - getattr(before, name)) for name in COUNTED}
        cost = self.cost_usd
        if cost is not None:
            cost = max(0.0, cost - (before.cost_usd or 0.0))
        return Usage(**counts, cost_usd=cost, is_estimate=self.is_estimate)

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens

    def sums(self) -> JsonObject:
        """Return its sums for listings: tokens, money, and whether they are an estimate."""
        cost, is_estimate = self.cost_usd, self.is_estimate
        return {"tokens": self.tokens, "cost_usd": cost, "is_estimate": is_estimate}


UsageBy = Literal["entity", "agent", "node", "run", "model", "day", "trigger"]
"""By what the ledger groups calls."""

UsageGroup = Literal[UsageBy, "stage"]
"""By what people are shown them; a stage has the sum of its nodes."""


class UsageRow(Record):
    """What one entity, agent, node, stage, run, model, day or trigger took: `key` names it.

    `run` is that of a node or a stage, whose key is its number.

    `name` is what people call it. `seconds` is how long its `calls` took, all together.
    """

    key: str
    name: str = ""
    run: str = ""
    calls: int
    seconds: float
    usage: Usage

    def __add__(self, other: "UsageRow") -> "UsageRow":
        """Return both together, under the key of this one."""
        sums = {"calls": self.calls + other.calls, "seconds": self.seconds + other.seconds}
        return self.model_copy(update=sums | {"usage": self.usage + other.usage})


class ModelRequest(Record):
    """One question to a model. `model` is `provider/name`; `entity` is who asks, for metering.

    `budget_usd` bounds what all calls of `run_id` together may cost; `budgets` are further bounds.
    `trigger` is the one whose firing led to the call, `record` whether the call is recorded.
    `attempt` is which one at the node it is made for; `door` names the LLM proxy that it came
    through. `response_schema` is the JSON Schema of the one object that the answer's text must be;
    whoever asks checks that it is.
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


class ModelResponse(Record):
    """One answer of a model, whole. `model` is the one that answered.

    It is a fallback if `instead_of` names the model that was asked for; `why` is what kept that
    one from answering. `window` is how many tokens the one that answered can take, None if the one
    who answers does not know.
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
        """Return the answer as the turn that enters the conversation."""
        return AssistantTurn(
            text=self.text, tool_calls=self.tool_calls, provider_data=self.provider_data
        )
