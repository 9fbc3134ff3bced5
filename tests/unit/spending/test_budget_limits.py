"""BudgetLimits: which budgets apply to a call, raised once for each answer of the human, kept on
disk."""

from pathlib import Path
from typing import Any

from agiraph.core.clock import SystemClock
from agiraph.core.money import Budget, Shortage, is_outdated
from agiraph.core.turns import ModelRequest, Usage
from agiraph.messages.authorization import owns_budget
from agiraph.settings.config import BudgetsConfig, load_config
from agiraph.spending.budget_limits import BudgetLimits
from agiraph.spending.ledger import LedgerRow, UsageLedger
from tests.unit.llm.requests import ask

DAY = 86_400.0


class FixedClock(SystemClock):
    """A clock with a given time."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def settings(**values: float) -> BudgetsConfig:
    return load_config().budgets.model_copy(update=values)


def spend(ledger: UsageLedger, usd: float, at: float, **whose: Any) -> None:
    """Write a call of 100 tokens down."""
    usage = Usage(input_tokens=90, output_tokens=10, cost_usd=usd)
    ledger.write(LedgerRow(at, ask(**whose), "answered", usage, 1))


def held(limits: BudgetLimits, request: ModelRequest) -> dict[str, tuple[float | None, float]]:
    """Return limit and spending in dollars of each budget that a call keeps to."""
    return {f"{s.scope}/{s.period}": (s.usd, s.spent_usd) for s in limits.for_request(request)}


def test_all_budgets_of_a_call_apply_and_count_their_own_spending(ledger: UsageLedger) -> None:
    clock = FixedClock(10 * DAY)
    config = settings(agent_usd=5, agent_usd_per_day=2, trigger_usd=1)
    spend(ledger, 0.5, 9 * DAY, trigger="t-1")
    limits = ledger.limits(config, clock)
    request = ask(budget_usd=3, trigger="t-1")
    before = {"run/total": (3, 0.5), "agent/total": (5, 0.5), "trigger/total": (1, 0.5)}
    assert held(limits, request) == before | {"agent/day": (2, 0.0)}
    spend(ledger, 0.25, 10 * DAY)
    spend(ledger, 7.0, 10 * DAY, entity="other-1/bob", run_id="run-9")
    after = {"run/total": (3, 0.75), "agent/total": (5, 0.75), "trigger/total": (1, 0.5)}
    assert held(limits, request) == after | {"agent/day": (2, 0.25)}


def test_raise_counts_once_per_cause_and_survives_a_restart(tmp_path: Path) -> None:
    clock, request = FixedClock(10 * DAY), ask(budget_usd=1)
    with UsageLedger(tmp_path / "usage.db") as ledger:
        limits = ledger.limits(settings(), clock)
        [state] = limits.for_request(request)
        for cause in ("q-1", "q-1", "q-2"):
            limits.raise_by(state, 2.0, 0, cause)
    with UsageLedger(tmp_path / "usage.db") as ledger:
        [state] = ledger.limits(settings(), clock).for_request(request)
        assert (state.usd, state.raises) == (5, 2)
        assert [s.usd for s in ledger.limits(settings(), clock).about("shop-1", "run-1")] == [5]


def test_a_daily_budget_that_was_raised_is_the_old_one_on_the_next_day(ledger: UsageLedger) -> None:
    clock = FixedClock(10 * DAY)
    limits = ledger.limits(settings(agent_usd_per_day=1), clock)
    [state] = limits.for_request(ask())
    limits.raise_by(state, 4.0, 0, "q-1")
    assert held(limits, ask()) == {"agent/day": (5, 0.0)}
    clock.at += DAY
    assert held(limits, ask()) == {"agent/day": (1, 0.0)}


def test_set_budget_overrides_the_settings_and_an_empty_one_is_unlimited(
    ledger: UsageLedger,
) -> None:
    limits = ledger.limits(settings(agent_usd=5), FixedClock(0))
    limits.set(Budget(scope="agent", key="shop-1", usd=9))
    assert held(limits, ask()) == {"agent/total": (9, 0.0)}
    limits.set(Budget(scope="agent", key="shop-1"))
    assert held(limits, ask()) == {}


def test_a_run_keeps_its_budget_in_tokens_if_a_call_names_only_dollars(
    ledger: UsageLedger,
) -> None:
    limits = ledger.limits(settings(), FixedClock(0))
    tokens = Budget(scope="run", key="run-1", tokens=500)
    limits.for_request(ask(budgets=(tokens,)))
    [state] = limits.for_request(ask(budget_usd=2))
    assert (state.usd, state.tokens) == (2, 500)


def test_an_agents_own_budgets_are_known(ledger: UsageLedger) -> None:
    limits = ledger.limits(settings(agent_usd=1), FixedClock(0))
    [state] = limits.for_request(ask())
    assert owns_budget("shop-1", state, has_run=lambda run: False)
    assert not owns_budget("shop-2", state, has_run=lambda run: True)
    run = state.model_copy(update={"scope": "run", "key": "run-1"})
    assert owns_budget("shop-1", run, has_run=lambda run: run == "run-1")
    assert not owns_budget("shop-1", run, has_run=lambda run: run == "run-2")


def test_set_budget_discards_its_raises_and_keeps_the_other_unit(
    tmp_path: Path,
) -> None:
    with UsageLedger(tmp_path / "usage.db") as ledger:
        limits = ledger.limits(settings(agent_tokens=900), FixedClock(0))
        before = limits.set(Budget(scope="agent", key="shop-1", usd=2), keep=("tokens",))
        assert (before.usd, before.tokens, before.sets) == (2, 900, 1)
        limits.raise_by(before, 3.0, 0, "q-1")
        limits.raise_by(before, 0.0, 100, "q-2")
        [raised] = limits.for_request(ask())
        assert (raised.usd, raised.tokens, raised.raises) == (5, 1000, 2)
        again = limits.set(Budget(scope="agent", key="shop-1", usd=2), keep=("tokens",))
        assert (again.usd, again.tokens, again.sets) == (2, 1000, 2)
        limits.raise_by(before, 3.0, 0, "q-1")
        assert limits.for_request(ask()) == [again], "a raise that is asked for again is void, too"
        assert limits.set(Budget(scope="agent", key="shop-1", usd=2), keep=("tokens",)) == again
    with UsageLedger(tmp_path / "usage.db") as ledger:
        limits = ledger.limits(settings(agent_tokens=900), FixedClock(0))
        assert limits.for_request(ask()) == [again], "it outlives the process"
        back = limits.unset("agent", "shop-1", "total")
        assert (back.usd, back.tokens, back.sets, back.is_own) == (None, 900, 3, False)
        assert limits.unset("agent", "shop-1", "total") == back
    with UsageLedger(tmp_path / "usage.db") as ledger:
        assert ledger.limits(settings(agent_tokens=900), FixedClock(0)).for_request(ask()) == [back]


def test_shortage_after_a_changed_budget_is_a_new_question(ledger: UsageLedger) -> None:
    limits = ledger.limits(settings(agent_usd=5), FixedClock(0))
    [before] = limits.for_request(ask())
    shortage = Shortage(budget=before, unit="usd", needs=1)
    assert not is_outdated(shortage.identity, before)
    after = limits.set(Budget(scope="agent", key="shop-1", usd=5, tokens=9))
    assert is_outdated(shortage.identity, after)
    daily = limits.set(Budget(scope="agent", key="shop-1", usd=5, period="day"))
    assert not is_outdated(shortage.identity, daily), "that is another budget"
    calls = [budget.usd for budget in limits.for_request(ask(budget_usd=3))]
    assert calls == [3, 5, 5]


def test_budgets_are_listed_for_the_requested_scopes(ledger: UsageLedger) -> None:
    limits = ledger.limits(settings(trigger_usd=1), FixedClock(0))
    limits.set(Budget(scope="trigger", key="shop-1/t-1", usd=2))
    limits.set(Budget(scope="trigger", key="shop-2/t-1", usd=3))
    limits.set(Budget(scope="agent", key="shop-1"))
    told = limits.among([("agent", "shop-1"), ("trigger", "shop-1/t-9"), ("run", "run-1")])
    assert [(one.key, one.usd, one.is_own) for one in told] == [
        ("shop-1", None, True),
        ("shop-1/t-9", 1, False),
        ("shop-1/t-1", 2, True),
    ]


def test_a_new_ledger_asks_new_questions_and_one_from_before_keeps_its_own(tmp_path: Path) -> None:
    def shortage(name: str) -> str:
        with UsageLedger(tmp_path / name) as ledger:
            limits = ledger.limits(settings(run_usd=1.0), SystemClock())
            [state] = limits.for_request(ask())
            return Shortage(budget=state, unit="usd", needs=1).identity

    first = shortage("one.db")
    assert shortage("one.db") == first, "it is the same after a restart"
    (tmp_path / "one.db").unlink()
    again = shortage("one.db")
    assert again != first, "what was answered about a lost ledger raises nothing in this one"
    with UsageLedger(tmp_path / "old.db") as old:
        spend(old, 0.5, 1.0)
    assert shortage("old.db") == "run:run-1::usd:0"


def test_bounds_of_a_node_count_one_attempt_also_in_a_later_process(tmp_path: Path) -> None:
    def counted(ledger: UsageLedger, key: str) -> tuple[int, int]:
        budget = Budget(scope="node", key=key, calls=9)
        [state] = ledger.limits(settings(), FixedClock(0)).for_request(ask(budgets=(budget,)))
        return state.spent_calls, state.spent_tokens

    with UsageLedger(tmp_path / "usage.db") as ledger:
        assert counted(ledger, "run-1/n1/2") == (0, 0)
        for attempt, node in ((1, "n1"), (2, "n1"), (2, "n1"), (2, "n2")):
            spend(ledger, 0.1, 0, node_id=node, attempt=attempt)
        assert counted(ledger, "run-1/n1/2") == (2, 200)
    with UsageLedger(tmp_path / "usage.db") as ledger:
        assert counted(ledger, "run-1/n1/2") == (2, 200)
        assert counted(ledger, "run-1/n1") == (3, 300), "all attempts at it"
