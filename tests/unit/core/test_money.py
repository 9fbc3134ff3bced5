"""Money in words: the question when a budget is spent, and the meaning of the answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.money import (
    STOP,
    BudgetRaise,
    BudgetState,
    Shortage,
    Unit,
    nearly_spent,
    options_of,
    parse_budget,
    parse_limit,
    parse_raise,
    question_of,
)


def short(unit: Unit = "usd", limit: float = 2, spent: float = 1.9, needs: float = 0.5) -> Shortage:
    limits = {"usd": limit, "spent_usd": spent}
    if unit == "tokens":
        limits = {"tokens": int(limit), "spent_tokens": int(spent)}
    budget = BudgetState(scope="run", key="r", **limits)
    return Shortage(budget=budget, unit=unit, needs=needs)


def test_question_shows_spending_and_its_options_raise_the_limit() -> None:
    assert "$1.90 of the $2.00 of this run are spent" in question_of(short())
    assert options_of(short()) == ("raise by $2.00", "raise by $10.00", STOP)
    options = options_of(short("tokens", 5000, 4999, 700))
    assert options == ("raise by 5,000 tokens", "raise by 25,000 tokens", STOP)


def test_the_first_answer_covers_the_next_call() -> None:
    assert options_of(short(limit=0.01, spent=0.01, needs=1))[0] == "raise by $1.50"


@pytest.mark.parametrize(
    ("text", "unit", "raised"),
    [
        ("raise by $2.50", "usd", BudgetRaise(usd=2.5)),
        ("2.5", "usd", BudgetRaise(usd=2.5)),
        ("$3", "tokens", BudgetRaise(usd=3)),
        ("5 dollars", "tokens", BudgetRaise(usd=5)),
        ("raise it by 40,000 tokens", "usd", BudgetRaise(tokens=40_000)),
        ("100k", "tokens", BudgetRaise(tokens=100_000)),
        ("2m tokens", "usd", BudgetRaise(tokens=2_000_000)),
        ("Stop here.", "usd", BudgetRaise()),
        ("no", "tokens", BudgetRaise()),
    ],
)
def test_raise_is_parsed(text: str, unit: Unit, raised: BudgetRaise) -> None:
    assert parse_raise(text, unit) == raised


@pytest.mark.parametrize("text", ["as you like", "0", "raise by 5 euros", "-3", "$", ""])
def test_invalid_raise_is_refused_with_the_possible_forms(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"raise by \$5.*stop here"):
        parse_raise(text, "usd")


@given(
    st.sampled_from(["usd", "tokens"]),
    st.floats(0.0001, 1e6),
    st.floats(0, 1),
    st.floats(0.0001, 100),
)
def test_every_ready_answer_is_understood_and_is_enough(
    unit: Unit, limit: float, share: float, needs: float
) -> None:
    scale = 1000 if unit == "tokens" else 1
    shortage = short(unit, limit * scale, limit * share * scale, needs * scale)
    once, five, stop = options_of(shortage)
    for option in (once, five):
        raised = parse_raise(option, unit)
        amount = raised.usd if unit == "usd" else raised.tokens
        assert amount is not None
        assert shortage.limit + amount - shortage.spent >= shortage.needs * 0.999
        assert parse_raise(raised.text, unit) == raised
    assert parse_raise(stop, unit).is_stop


@pytest.mark.parametrize(
    ("text", "usd", "tokens"),
    [
        ("5", 5, None),
        ("$2.50", 2.5, None),
        ("0", 0, None),
        ("1,000 dollars", 1000, None),
        ("$40k", 40_000, None),
        ("500k-tokens", None, 500_000),
        ("40000-tokens", None, 40_000),
        ("2M tokens", None, 2_000_000),
        ("None", "none", "none"),
        ("none-tokens", None, "none"),
        ("none-usd", "none", None),
    ],
)
def test_limit_is_parsed(text: str, usd: float | str | None, tokens: int | str | None) -> None:
    assert parse_limit(text) == (usd, tokens)


@pytest.mark.parametrize(
    "text", ["-5", "", "much", "nan", "raise by 5", "$5 tokens", "5 apples", "-1", "500k", "nonek"]
)
def test_invalid_limit_is_refused_with_the_possible_forms(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is no limit .*\$2 in US dollars, 500k-tokens"):
        parse_limit(text)


@pytest.mark.parametrize("text", ["none", "none-tokens", "0", "0-tokens", "much", "500k"])
def test_a_budget_of_something_new_is_above_0_and_the_error_offers_nothing_else(text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_budget(text)
    assert str(error.value) == (
        f"'{text}' is no budget (possible: 2 or $2 in US dollars, 500k-tokens, above 0; without a "
        "budget that of the settings counts)"
    )
    assert parse_budget("500k-tokens") == (None, 500_000)


@pytest.mark.parametrize(
    ("spent", "calls", "is_near"),
    [(5_000, 10, False), (9_000, 90, True), (6_000, 1, True), (5_000, 5, False), (6_000, 6, True)],
)
def test_a_budget_is_nearly_spent_a_few_calls_or_a_tenth_before_its_end(
    spent: int, calls: int, is_near: bool
) -> None:
    state = BudgetState(
        scope="node", key="r/n/1", tokens=10_000, spent_tokens=spent, spent_calls=calls
    )
    found = nearly_spent(state)
    assert (found is not None) == is_near
    if found is not None:
        assert (found.unit, found.needs) == ("tokens", spent / calls)


def test_unlimited_or_unused_budget_is_not_nearly_spent() -> None:
    assert nearly_spent(BudgetState(scope="node", key="r/n/1", spent_calls=9)) is None
    assert nearly_spent(BudgetState(scope="node", key="r/n/1", calls=1)) is None
