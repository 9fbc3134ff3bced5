"""The seam to models: a provider turns one ModelRequest into one ModelResponse, or says why not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from agiraph.core.errors import AgiraphError
from agiraph.core.money import Shortage
from agiraph.core.turns import ModelRequest, ModelResponse, Usage

FailureKind = Literal[
    "bad_key", "unknown_model", "bad_request", "rate_limited", "overloaded", "unreachable",
    "timed_out", "context_too_long", "out_of_budget", "no_credit", "diverged",
    "internal",
]  # fmt: skip

RETRYABLE: frozenset[FailureKind] = frozenset(
    {"rate_limited", "overloaded", "unreachable", "timed_out"}
)

OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PartialUsage:
    """What an answer has taken until now, whether or not it will come to its end.

    `usage` is what the service has counted yet, `characters` the size of all that it has streamed:
    text, thinking and calls. `has_begun`: it has worked on the request; `is_counted`: `usage` is
    the count of the whole.
    """

    usage: Usage
    characters: int
    has_begun: bool
    is_counted: bool = False


class StreamingAnswer(Protocol):
    """An answer that is coming in."""

    def so_far(self) -> PartialUsage:
        """Return what it has taken until now."""
        ...


OnAnswer = Callable[[StreamingAnswer], None]


def unmetered(_: StreamingAnswer) -> None:
    """Let nobody know of an answer that comes in."""


class ProviderError(AgiraphError):
    """A model could not answer; `retry_after` is the provider's own wish in seconds, if any.

    `no_credit`: the account at the provider is empty; `out_of_budget`: a budget of ours is, and
    `shortage` tells which.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retry_after: float | None = None,
        shortage: Shortage | None = None,
    ) -> None:
        """Make an error of `kind` whose `message` is fit to show to a person."""
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
        """Answer one request, calling `on_text` with pieces of text as they come.

        `on_answer` is handed the answer once the service has taken the request: what it takes is on
        the bill also if it is cut off. Raises ProviderError. Cancelling the task drops the call.
        """
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...
