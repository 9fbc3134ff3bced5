"""The interface to models: a provider turns a ModelRequest into a ModelResponse or an error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

from agiraph.core.errors import AgiraphError
from agiraph.core.money import Shortage
from agiraph.core.turns import ModelRequest, ModelResponse, Usage

FailureKind = Literal[
    "bad_key", "unknown_model", "bad_request", "rate_limited", "overloaded", "unreachable",
    "timed_out", "context_too_long", "out_of_budget", "no_credit", "diverged",
    "bad_answer", "internal",
]  # fmt: skip

RETRYABLE: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "unreachable", "timed_out", "bad_answer"}
)

LATER: Final = "try again later, or with another model"
WHAT_TO_DO: Final[dict[str, str]] = {
    "bad_key": "set a valid key; `agiraph models` shows which models can be called",
    "unknown_model": "`agiraph models` lists the models that can be called",
    "context_too_long": "use a model with a larger window, or smaller nodes",
    "out_of_budget": "allow more with --budget, or with `agiraph budget`",
    "no_credit": "add credit to the account, or use another model",
    **dict.fromkeys(RETRYABLE, LATER),
}
"""Advice for a person about a failure, by its kind."""


def failed_call(kind: str, message: str) -> str:
    """Return why an entity's model call failed: `message`, with advice for its `kind`."""
    advice = WHAT_TO_DO.get(kind)
    failed = f"the model cannot be asked ({kind}): {message}"
    return f"{failed}; {advice}" if advice else failed


OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PartialUsage:
    """The usage of an answer until now, whether or not it will be completed.

    `usage` is the service's count so far, which may be wrong or missing; `streamed_bytes` is the
    size of all text, thinking and calls, `texts` are the parts of them that were certainly
    generated as tokens. `is_accepted`: the service may be working on the request; `has_begun`: it
    has worked on it; `is_complete`: the whole answer has arrived.
    """

    usage: Usage
    streamed_bytes: int
    has_begun: bool
    is_complete: bool = False
    is_accepted: bool = False
    texts: Sequence[str] = ()


UsageSoFar = Callable[[], PartialUsage]
"""Returns the usage of a streaming answer until now."""

OnAnswer = Callable[[UsageSoFar], None]


def unmetered(_: UsageSoFar) -> None:
    """An `on_answer` of `Provider.generate` that ignores the usage."""


class ProviderError(AgiraphError):
    """A model could not answer; the message is fit to show to a person.

    `retry_after` is the wait in seconds that the provider asks for, if any. `bad_answer`: the
    answer of the service is unreadable, or larger than allowed. `no_credit`: the account at the
    provider is empty; `out_of_budget`: a budget of ours is exceeded, which `shortage` names.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retry_after: float | None = None,
        shortage: Shortage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.shortage = shortage

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.kind in RETRYABLE


class Provider(Protocol):
    """One model service."""

    async def generate(
        self, request: ModelRequest, on_text: OnText, on_answer: OnAnswer = unmetered
    ) -> ModelResponse:
        """Return the answer to one request; `on_text` receives pieces of its text as they arrive.

        `on_answer` is called when the request is sent: the usage of the answer from then on is
        billed even if it is cut off. Raises ProviderError. Cancelling the task drops the call.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """A provider that can count tokens, because it has the tokenizer of its models."""

    async def count(self, request: ModelRequest) -> int:
        """Return the number of tokens of a request. Raises ProviderError."""
        ...
