"""Fallback: which failures hand a call on to another model, and to which. Pure.

A model's chain is what `models.fallbacks` says of it, then what it says of the asker's role; each
model is asked once, in that order. What is recoverable:

| failure | handed on | because |
| --- | --- | --- |
| overloaded, unreachable, timed_out | after a few tries, at once while the breaker is open | the
service is in trouble |
| rate_limited | after a few tries, or when the wish is for a long pause | another service has room
|
| bad_key, no_credit, unknown_model | at once | it will not get better by itself; an event says so |
| context_too_long | at once, to a model that can take more | else the asker shortens the
conversation |
| bad_request, internal, out_of_budget | never | the call itself is at fault, or may not be made |

A refusal is an answer, and is never asked elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

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

    model: str
    to: str
    kind: FailureKind
    message: str

    def event_data(self) -> JsonObject:
        """Return the data of the event `model.fallback`."""
        return asdict(self)


def role_of(entity: str) -> str:
    """Return the role of the entity that asks, as the settings name it."""
    return COORDINATOR_NAME if entity.endswith(f"/{COORDINATOR_NAME}") else WORKER_NAME


def chain_of(fallbacks: Mapping[str, Sequence[str]], model: str, entity: str) -> tuple[str, ...]:
    """Return the models to ask after `model`, each once."""
    wanted = (*fallbacks.get(model, ()), *fallbacks.get(role_of(entity), ()))
    return tuple(one for one in dict.fromkeys(wanted) if one != model)


def is_handed_on(kind: FailureKind, window: int, next_window: int) -> bool:
    """Whether a failure of this kind goes to a model that can take `next_window` tokens.

    `window` is what the model that failed can take.
    """
    if kind == TOO_LONG:
        return next_window > window
    return kind in RETRYABLE or kind in AT_ONCE
