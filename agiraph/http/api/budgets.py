"""Budgets: what may be spent, what is spent of it, and setting one."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from agiraph.core.ids import AgentId
from agiraph.core.money import BudgetState
from agiraph.http.api.base import ApiRequest, ApiView

MOST: Final = 1e12
NONE: Final = "none"


def _limit(value: Any, *, of: str, is_whole: bool) -> Any:
    """Return a limit as it was given; refuse what is none, in words."""
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
    """PATCH .../budgets/{period}: what may be spent, in US dollars, in tokens (in and out) or both.

    'none' is no bound, also where the settings have one. What is not named stays as it is.
    """

    usd: Annotated[float | Literal["none"] | None, BeforeValidator(_usd)] = Field(
        default=None, union_mode="left_to_right"
    )
    tokens: Annotated[int | Literal["none"] | None, BeforeValidator(_tokens)] = Field(
        default=None, union_mode="left_to_right"
    )


class BudgetView(BudgetState, ApiView):
    """A budget as it is, its raises counted in. A limit of None is no bound.

    `key` names the agent, run or trigger that it is of (as `scope` says), `name` what people call
    it. A daily one is of `day` (of UTC). `is_own`: it was set for this one, else the settings' one
    holds.
    """

    agent: AgentId
    agent_name: str
    left_usd: float | None = None
    left_tokens: int | None = None
