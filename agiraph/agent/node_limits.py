"""Limits of a node: turns, tokens, money and context; at each the worker gets one last turn.

Pure: the usage of a worker on its node is in its transcript, its limits are in the contract.
`judge` is called before every model call:

- None: call the model.
- `LastTurn`: warn the model that this is its last turn, then call it: it may publish its results
  and hand off the rest. The message is journaled (`LimitReached`), so it is sent once.
- `MustStop`: the worker had its last turn and did not publish; the node ends.

The usage of an external agent is counted by the broker's LLM proxy, which refuses the call that
would exceed a limit: `refused_at_door` is the record of the refusal, and the node ends.

Tokens and money are checked one turn ahead: a turn that leaves too little for another turn is the
last, so a limit is exceeded by little more than the growth from one turn to the next.
"""

from dataclasses import dataclass
from typing import Literal

from agiraph.agent.records import LimitReached
from agiraph.agent.transcript import Transcript
from agiraph.core.models import StageContract
from agiraph.core.money import Shortage, SpendingLimits, shown
from agiraph.settings.config import RunConfig

Bound = Literal["turns", "tokens", "money", "context", "time", "calls"]

LAST_TURN = (
    "[Runtime]: This is your last turn on this node: {why}. Call `publish` now with your results. "
    "If work is left, describe it in `missing`, and how to continue: the result is then marked "
    "as partial, and the coordinator gets the rest as a suggestion."
)
TIME_NEAR = (
    "[Runtime]: {left:.0f} seconds of this node's {all:g} are left. Call `publish` in time. "
    "Describe in `missing` the undone work, and how to continue. Files that are not published by "
    "then do not reach the others."
)


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The decision that the next turn is the last; `why` names the exhausted limit."""

    bound: Bound
    why: str

    def record(self, now: float) -> LimitReached:
        text = LAST_TURN.format(why=self.why)
        return LimitReached(bound=self.bound, why=self.why, content=text, ts=now)


@dataclass(frozen=True, slots=True)
class MustStop:
    """The decision to end the node after its last turn; `reason` is reported to the coordinator."""

    reason: str


def contract_of(settings: RunConfig) -> StageContract:
    """Return the contract of a stage without terms of its own, from the settings of runs."""
    return StageContract(
        max_iterations_per_node=settings.max_iterations,
        node_timeout_seconds=settings.node_timeout_seconds,
        timeout_seconds=settings.stage_timeout_seconds,
        checkpoint_policy=settings.checkpoint_policy,
        max_tokens_per_node=settings.node_tokens,
        max_cost_usd_per_node=settings.node_budget_usd,
        max_calls_per_node=settings.node_calls,
        max_compactions_per_node=settings.node_compactions,
    )


def at_door(contract: StageContract) -> SpendingLimits:
    """Return the limits of an external agent's model calls on a node, for the LLM proxy."""
    return SpendingLimits(
        usd=contract.max_cost_usd_per_node,
        tokens=contract.max_tokens_per_node,
        calls=contract.max_calls_per_node,
    )


def refused_at_door(shortage: Shortage, now: float) -> LimitReached:
    """Return the record of an external agent's call that would exceed a limit of its node."""
    bound: Bound = "money" if shortage.unit == "usd" else shortage.unit
    why = f"{proxy_usage(shortage)}, and the rest does not cover another call"
    return LimitReached(
        bound=bound, why=why, content=f"[Runtime]: You were stopped: {why}.", ts=now
    )


def proxy_usage(shortage: Shortage) -> str:
    """Return how much of a node's limit is used, as text."""
    spent, limit = shown(shortage.spent, shortage.unit), shown(shortage.limit, shortage.unit)
    return f"{spent} of the node's {limit} are used"


def judge(
    transcript: Transcript, contract: StageContract, *, is_context_used_up: bool = False
) -> LastTurn | MustStop | None:
    """Return LastTurn or MustStop for a worker at a limit of its node, None for another turn.

    `is_context_used_up`: the conversation is full and may not be compacted again.
    """
    if transcript.progress.bound is not None and transcript.progress.is_last_turn_over:
        return MustStop(f"{transcript.progress.bound_why}; its last turn published nothing")
    if transcript.progress.bound is not None:
        return None  # it was already warned, and has not answered yet
    if (unpriced := _without_price(transcript, contract)) is not None:
        return unpriced
    reached = _turns(transcript, contract) or _tokens(transcript, contract)
    if (reached := reached or _money(transcript, contract)) is not None:
        return reached
    if is_context_used_up:
        return LastTurn("context", "its context is full, and may not be compacted again")
    return None


def _turns(transcript: Transcript, contract: StageContract) -> LastTurn | MustStop | None:
    limit = contract.max_iterations_per_node
    if transcript.progress.model_turns >= limit:  # no earlier turn for a warning
        return MustStop(f"the node's {limit} model turns are used up")
    if transcript.progress.model_turns == limit - 1 and limit > 1:
        return LastTurn("turns", f"the node's {limit} model turns are used up")
    return None


def _tokens(transcript: Transcript, contract: StageContract) -> LastTurn | None:
    limit, progress = contract.max_tokens_per_node, transcript.progress
    if limit is None or progress.usage.tokens + 2 * progress.last_usage.tokens <= limit:
        return None
    return LastTurn("tokens", f"{progress.usage.tokens} of the node's {limit} tokens are used")


def _money(transcript: Transcript, contract: StageContract) -> LastTurn | None:
    limit, progress = contract.max_cost_usd_per_node, transcript.progress
    used, last = progress.usage.cost_usd or 0.0, progress.last_usage.cost_usd or 0.0
    if limit is None or used + 2 * last <= limit:
        return None
    return LastTurn("money", f"${used:.4f} of the node's ${limit:.4f} are spent")


def _without_price(transcript: Transcript, contract: StageContract) -> MustStop | None:
    """Return the refusal of a limit in dollars for a model whose price is not known."""
    if contract.max_cost_usd_per_node is None or not transcript.progress.usage.tokens:
        return None
    if transcript.progress.usage.cost_usd is not None:
        return None
    return MustStop(
        "the price of the worker's model is not known, so the node's limit in dollars cannot be "
        "enforced: add the price to prices.yaml in the home, or set no such limit",
    )
