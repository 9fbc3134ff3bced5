"""Fallback: the failures after which another model is called, and that model. Pure.

A model's chain is its entry in `models.fallbacks`, then the entry of the caller's role; each model
is called once, in that order.

overloaded, unreachable, timed_out    after a few attempts; at once while the breaker is open
bad_answer                            after a few attempts
rate_limited                          after a few attempts, or if the service asks for a long wait
bad_key, no_credit, unknown_model     at once: they are permanent; an event reports them
context_too_long                      at once, to a model with a larger window
bad_request, internal, out_of_budget  never: the call itself is at fault, or may not be made

A refusal is an answer, and no other model is called.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Final

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.turns import JsonObject
from agiraph.llm.base import RETRYABLE, FailureKind

WORKER_NAME: Final = "worker"
ROLES: Final = (COORDINATOR_NAME, WORKER_NAME)
AT_ONCE: Final[frozenset[FailureKind]] = frozenset({"bad_key", "no_credit", "unknown_model"})
TOO_LONG: Final = "context_too_long"


@dataclass(frozen=True, slots=True)
class FallbackStarted:
    """A call continues with another model."""

    EVENT: ClassVar = "model.fallback"
    model: str
    to: str
    kind: FailureKind
    message: str

    def event_data(self) -> JsonObject:
        """Return the data of the event that reports the fallback."""
        return asdict(self)


def role_of(entity: str) -> str:
    """Return the role of the calling entity, in the spelling of the settings."""
    return COORDINATOR_NAME if entity.endswith(f"/{COORDINATOR_NAME}") else WORKER_NAME


def chain_of(fallbacks: Mapping[str, Sequence[str]], model: str, entity: str) -> tuple[str, ...]:
    """Return the models to call if `model` fails for `entity`, in order and each once."""
    wanted = (*fallbacks.get(model, ()), *fallbacks.get(role_of(entity), ()))
    return tuple(one for one in dict.fromkeys(wanted) if one != model)


def is_handed_on(kind: FailureKind, window: int, next_window: int) -> bool:
    """Whether a model with a window of `next_window` tokens is called after this failure.

    `window` is the context window of the failed model, in tokens.
    """
    if kind == TOO_LONG:
        return next_window > window
    return kind in RETRYABLE or kind in AT_ONCE
