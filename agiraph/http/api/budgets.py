"""Budgets: limits, spending, and requests that set a limit."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from agiraph.core.ids import AgentId
from agiraph.core.money import BudgetState
from agiraph.http.api.base import ApiRequest, ApiView

MOST: Final = 1e12
NONE: Final = "none"


def _limit(value: Any, *, of: str, is_whole: bool) -> Any:
    """Return a limit unchanged; raise an error with a readable message if it is invalid."""
    if value is None or value == NONE:
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST or (is_whole and value % 1):
        problem = f"{value!r} is no limit: {of} from 0 to {MOST:,.0f}, or '{NONE}' for no bound"
        raise PydanticCustomError("limit", "{problem}", {"problem": problem})
    return int(value) if is_whole else float(value)


def _usd(value: Any) -> Any:
    return _limit(value, of="US dollars", is_whole=False)


def _tokens(value: Any) -> Any:
    return _limit(value, of="whole tokens", is_whole=True)


class SetBudgetRequest(ApiRequest):
    """PATCH .../budgets/{period}: limits in US dollars, in tokens (in and out) or both.

    'none' means unlimited, also where the settings have a limit. A unit that is not named stays
    unchanged.
    """

    usd: Annotated[float | Literal["none"] | None, BeforeValidator(_usd)] = Field(
        default=None, union_mode="left_to_right"
    )
    tokens: Annotated[int | Literal["none"] | None, BeforeValidator(_tokens)] = Field(
        default=None, union_mode="left_to_right"
    )


class BudgetView(BudgetState, ApiView):
    """A budget in its current state, including raises. A limit of None means unlimited.

    `key` is the id of its agent, run or trigger (as `scope` says), `name` the display name. A daily
    budget is for `day` (UTC). `is_own`: it was set for this agent, run or trigger; otherwise the
    budget of the settings is in force.
    """

    agent: AgentId
    agent_name: str
    left_usd: float | None = None
    left_tokens: int | None = None
