"""Money: budgets for model calls, in US dollars and in tokens; pure.

A budget belongs to a run, an agent (all its runs), a node, or a trigger (all work that its firings
caused). It applies in total or per UTC day. The broker manages it: before each call it reserves the
maximum cost of the call. A `Shortage` describes the missing budget of a call.
"""

import math
import re
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from pydantic import Field, ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record

BudgetScope = Literal["run", "agent", "node", "trigger"]
Period = Literal["total", "day"]
Unit = Literal["usd", "tokens", "calls"]
ALL_UNITS: Final[tuple[Unit, ...]] = ("usd", "tokens")
"""The units of the budgets that people set; calls are limited only for single nodes."""

AMOUNTS: Final = "2 or $2 in US dollars, 500k-tokens"

STOP: Final = "stop here"
SET_ANEW: Final = "set anew"
"""The answer to a budget question after a person has set the budget directly: check again."""

NEAR_SHARE: Final = 0.1
NEAR_CALLS: Final = 4
MOST: Final = 1e12

SAYS_STOP: Final = frozenset({STOP, "stop", "no", "n", "s", "deny"})
RAISE: Final = re.compile(r"^raise(?: it)?(?: by)?\s*")
AMOUNT: Final = re.compile(
    r"(?P<dollar>\$\s*)?(?:none|(?P<number>\d[\d,_]*(?:\.\d+)?)\s*(?P<scale>[km]?))"
    r"[\s-]*(?P<unit>.*)"
)
SHOWN: Final = r"(~?\$?\d[\d,]{0,20}(?:\.\d{1,6})?(?: tokens)?)"
SHORT: Final = re.compile(rf"Out of budget: {SHOWN} of the {SHOWN} of ")
MOST_OPTIONS: Final = 2
UNITS: Final[dict[str, Unit | None]] = {
    "": None,
    **dict.fromkeys(("token", "tokens"), "tokens"),
    **dict.fromkeys(("usd", "dollar", "dollars", "us dollars"), "usd"),
}


class SpendingLimits(Record):
    """The limits for a group of model calls: money, tokens and number; None: unlimited."""

    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)


class NamedLimit(NamedTuple):
    """A spending limit set by a person, in dollars and in tokens; None: not given."""

    usd: float | Literal["none"] | None = None
    tokens: int | Literal["none"] | None = None


class Budget(SpendingLimits):
    """The limits of a run, agent, node or trigger; `key` identifies it.

    The key of a node is RUN/NODE, or RUN/NODE/ATTEMPT for a single attempt; the key of a trigger is
    AGENT/TRIGGER.
    """

    scope: BudgetScope
    key: str
    period: Period = "total"


class BudgetState(Budget):
    """The current state of a budget: limits including raises, spending, and the number of raises.

    `day` is the UTC day of a daily budget, `name` the display name of its key. `is_own`: it was set
    for this item, otherwise it is from the settings; `sets` counts how often a person set it.
    `epoch` is the epoch of the ledger that counts the raises: in another epoch the count restarts.
    `is_estimate`: part of the spending is estimated, because the service did not report it.
    """

    name: str = ""
    is_estimate: bool = False
    day: str = ""
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_calls: int = 0
    raises: int = 0
    sets: int = 0
    is_own: bool = False
    epoch: str = ""

    def limit_in(self, unit: Unit) -> float | None:
        """Return the limit in this unit, or None if it is unlimited."""
        limit: float | None = getattr(self, unit)
        return limit

    def spent_in(self, unit: Unit) -> float:
        """Return the amount spent in this unit."""
        return float(getattr(self, f"spent_{unit}"))

    @property
    def is_bound(self) -> bool:
        """Whether the budget has a limit in dollars, tokens or calls."""
        return not (self.usd is None and self.tokens is None and self.calls is None)


class Shortage(Record):
    """The missing budget of a call: the budget, the exhausted unit, and the required amount."""

    budget: BudgetState
    unit: Unit
    needs: float

    @property
    def limit(self) -> float:
        """The budget's limit in the exhausted unit."""
        return float(self.budget.limit_in(self.unit) or 0)

    @property
    def spent(self) -> float:
        """The amount already spent in the exhausted unit."""
        return self.budget.spent_in(self.unit)

    @property
    def identity(self) -> str:
        """A text that identifies this shortage, from its budget, its day and its number of raises.

        It stays the same until a person raises or sets the budget, or a daily budget's day ends.
        """
        one = self.budget
        set_anew = f":{one.sets}" if one.sets else ""
        ledger = f":{one.epoch}" if one.epoch else ""
        return f"{one.scope}:{one.key}:{one.day}:{self.unit}:{one.raises}{set_anew}{ledger}"

    def in_words(self) -> str:
        """Return the shortage as text: `$1.00 of the $1.00 of this run are spent`."""
        spent, limit = shown(self.spent, self.unit), shown(self.limit, self.unit)
        spent = mark_estimate(spent, self.budget.is_estimate and self.unit != "calls")
        return f"{spent} of the {limit} of {whose(self.budget)} are spent"


def nearly_spent(state: BudgetState) -> Shortage | None:
    """Return the shortage that is expected within a few calls, or None if enough is left.

    It is expected when less than a tenth is left, or no more than the cost of four average calls.
    """
    for unit in ("calls", "tokens", "usd"):
        limit, spent = state.limit_in(unit), state.spent_in(unit)
        if limit is None or not state.spent_calls:
            continue
        one = spent / state.spent_calls
        if limit - spent <= max(limit * NEAR_SHARE, one * NEAR_CALLS):
            return Shortage(budget=state, unit=unit, needs=one)
    return None


class BudgetRaise(Record):
    """A person's answer to a shortage: the additional amount in one unit.

    Without an amount the answer is to stop: no more may be spent.
    """

    usd: float | None = None
    tokens: int | None = None

    @property
    def is_stop(self) -> bool:
        """Whether the answer is to stop."""
        return self.usd is None and self.tokens is None

    @property
    def text(self) -> str:
        """The answer as text, which `parse_raise` can read: `raise by $2.00`, or STOP."""
        if self.tokens is not None:
            return f"raise by {exact(self.tokens, 'tokens')}"
        return STOP if self.usd is None else f"raise by {exact(self.usd, 'usd')}"


def named_in(identity: str) -> BudgetState | None:
    """Return the budget that a `Shortage.identity` refers to, without its limits and spending.

    Returns None if `identity` is not a valid identity of a shortage in dollars or tokens.
    """
    scope, key, day, unit, *_ = (*identity.split(":"), "", "", "")
    if unit not in ALL_UNITS or not key:
        return None
    try:
        return BudgetState.model_validate(
            {"scope": scope, "key": key, "period": "day" if day else "total", "day": day}
        )
    except ValidationError:
        return None


def is_outdated(identity: str, budget: BudgetState) -> bool:
    """Whether a shortage of this budget with the given `Shortage.identity` no longer exists.

    The identity changes with each raise or new setting of the budget, and with its day.
    """
    scope, key, day, unit, *_ = identity.split(":")
    if (scope, key, bool(day)) != (budget.scope, budget.key, budget.period == "day"):
        return False
    now = Shortage(budget=budget, unit="tokens" if unit == "tokens" else "usd", needs=0)
    return identity != now.identity


def whose(budget: BudgetState) -> str:
    """Return the owner of a budget as text: `the agent NAME`; a daily budget adds `for DAY`."""
    named = {
        "run": "this run",
        "agent": f"the agent {budget.name or budget.key}",
        "node": f"the node {budget.name or _node_in(budget.key)}",
        "trigger": f"the trigger {budget.name or budget.key.rpartition('/')[2]}",
    }[budget.scope]
    return f"{named} for {budget.day}" if budget.period == "day" else named


def _node_in(key: str) -> str:
    """Return the node of a key RUN/NODE or RUN/NODE/ATTEMPT."""
    return key.partition("/")[2].partition("/")[0]


def mark_estimate(text: str, is_estimate: object) -> str:
    """Return an amount as text, with `~` in front if part of it is estimated."""
    return f"~{text}" if text and is_estimate else text


def shown(amount: float, unit: Unit) -> str:
    """Return an amount for people: `$2.50`, `1,000 tokens`."""
    if unit != "usd":
        return f"{amount:,.0f} {unit}"
    return f"${amount:,.4f}" if 0 < amount < 1 else f"${amount:,.2f}"


def limit_of(budget: Budget) -> str:
    """Return the limits of a budget for people: `$2.00 a day`."""
    units: tuple[Unit, ...] = ("usd", "tokens")
    limited = ((getattr(budget, unit), unit) for unit in units)
    limits = [shown(limit, unit) for limit, unit in limited if isinstance(limit, int | float)]
    per = "a day" if budget.period == "day" else "in all"
    return f"{' and '.join(limits) or 'without limit'} {per}"


def options_of(shortage: Shortage) -> tuple[str, ...]:
    """Return the suggested answers to the question for more budget: two raises, and STOP."""
    once, five = steps_of(shortage)
    return (
        f"raise by {exact(once, shortage.unit)}",
        f"raise by {exact(five, shortage.unit)}",
        STOP,
    )


def steps_of(shortage: Shortage) -> tuple[float, float]:
    """Return two suggested raises in the shortage's unit, the second five times the first.

    The first is the budget's limit, or 1.5 times the amount that the next call lacks if that is
    more; rounded up to cents or to a thousand tokens.
    """
    lacking = shortage.needs - (shortage.limit - shortage.spent)
    step = max(shortage.limit, lacking * 1.5)
    if shortage.unit == "tokens":
        once: float = max(1000, math.ceil(step / 1000) * 1000)
    else:
        once = math.ceil(step * 100) / 100 if step >= 0.01 else math.ceil(step * 1e6) / 1e6
    return once, once * 5


def exact(amount: float, unit: Unit) -> str:
    """Return an amount of dollars or tokens as text without loss, which `parse_raise` can read."""
    if unit == "tokens":
        return f"{amount:,.0f} tokens"
    text = f"{amount:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents:0<2}"


def question_of(shortage: Shortage) -> str:
    """Return the question to the human for more budget."""
    return f"Out of budget: {shortage.in_words()}. How much more may be spent?"


def question_as_read(identity: str, name: str, asked: str) -> str:
    """Return the question about the budget of a `Shortage.identity`, written by the gateway.

    An entity wrote `asked`; only the two amounts in it are used, as all other parts could be false.
    `name` is the display name of the budget's owner.
    """
    budget = named_in(identity)
    assert budget is not None
    whose_it_is = whose(budget.model_copy(update={"name": name}))
    found = SHORT.match(asked)
    spent = f"{found[1]} of the {found[2]}" if found else f"all {unit_in(identity)}"
    return f"Out of budget: {spent} of {whose_it_is} are spent. How much more may be spent?"


def unit_in(identity: str) -> Unit:
    """Return the exhausted unit in a `Shortage.identity`: tokens if it says so, else dollars."""
    return "tokens" if identity.split(":")[3:4] == ["tokens"] else "usd"


def options_as_read(options: tuple[str, ...], unit: Unit) -> tuple[str, ...]:
    """Return the options of an entity's question that are raises in `unit`, and STOP.

    At most MOST_OPTIONS raises are kept; other texts are dropped.
    """
    raises = [one for one in options if _is_raise(one, unit)]
    return (*raises[:MOST_OPTIONS], STOP)


def _is_raise(option: str, unit: Unit) -> bool:
    try:
        raised = parse_raise(option, unit)
    except InvalidInput:
        return False
    return raised.text == option and getattr(raised, unit) is not None


def parse_raise(text: str, unit: Unit) -> BudgetRaise:
    """Return the raise in a person's answer to a budget question.

    `unit` is the unit of a number without one. InvalidInput contains the valid forms.
    """
    words = " ".join(text.split()).casefold().rstrip(".!")
    if words in SAYS_STOP or words.startswith(("stop", "deny")):
        return BudgetRaise()
    found = _amount(RAISE.sub("", words))
    if found is None or found[0] == "none" or not 0 < found[0] <= MOST:
        raise InvalidInput(_not_understood(text))
    amount, named = found
    is_money = (named or unit) == "usd"
    return BudgetRaise(usd=amount) if is_money else BudgetRaise(tokens=max(1, int(amount)))


def parse_limit(text: str) -> NamedLimit:
    """Return the limit in a text such as '2', '$2.50', '500k-tokens' or 'none'.

    Raises InvalidInput. A number without a unit is in dollars. `none` removes the limit for dollars
    and tokens; `none-tokens` leaves the dollars unchanged.
    """
    words = " ".join(text.split()).casefold()
    amount, named = _amount(words) or (None, None)
    is_open = named is None and words[-1:] in ("k", "m")  # dollars are unlikely here
    if amount is None or is_open:
        raise InvalidInput(f"'{text[:80]}' is no limit (possible: {AMOUNTS}, or 'none')")
    if amount == "none":
        return NamedLimit("none" if named != "tokens" else None, "none" if named != "usd" else None)
    return NamedLimit(tokens=int(amount)) if named == "tokens" else NamedLimit(usd=amount)


def parse_budget(text: str) -> NamedLimit:
    """Return the limit of a new agent or run: above 0, not `none`; raises InvalidInput."""
    found = None
    with suppress(InvalidInput):
        found = parse_limit(text)
    if found is None or not {found.usd, found.tokens}.isdisjoint((0, "none")):
        known = f"{AMOUNTS}, above 0; without a budget that of the settings counts"
        raise InvalidInput(f"'{text[:80]}' is no budget (possible: {known})")
    return found


def _amount(words: str) -> tuple[float | Literal["none"], Unit | None] | None:
    """Return an amount and its unit if given, or None for any other text."""
    found = AMOUNT.fullmatch(words)
    unit = found["unit"].strip() if found else "?"
    if found is None or unit not in UNITS or (found["dollar"] and UNITS[unit] == "tokens"):
        return None
    named: Unit | None = "usd" if found["dollar"] else UNITS[unit]
    if found["number"] is None:
        return "none", named
    scale = {"k": 1e3, "m": 1e6}.get(found["scale"], 1)
    return float(re.sub(r"[,_]", "", found["number"])) * scale, named


def _not_understood(text: str) -> str:
    return (
        f"'{text[:80]}' is no answer to a spent budget (possible: 'raise by $5', "
        f"'raise by 100000 tokens', '{STOP}')"
    )
