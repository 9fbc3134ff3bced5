"""Budgets that are set, raised and reset in any order: no question is asked twice."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.clock import SystemClock
from agiraph.core.money import Budget, Shortage, is_outdated
from agiraph.settings.config import load_config
from agiraph.spending.ledger import UsageLedger

AMOUNTS = st.integers(0, 3)
CHANGES = st.one_of(
    st.tuples(st.just("set"), st.none() | AMOUNTS, st.none() | AMOUNTS),
    st.tuples(st.just("set usd"), AMOUNTS, st.none()),
    st.tuples(st.just("set tokens"), AMOUNTS, st.none()),
    st.tuples(st.just("raise"), st.integers(1, 3), st.integers(0, 4)),
    st.tuples(st.just("unset"), st.none(), st.none()),
)


@given(st.lists(CHANGES, max_size=12))
def test_changed_budget_asks_a_new_question_and_an_unchanged_one_does_not(
    changes: list[tuple[str, int | None, int | None]],
) -> None:
    config = load_config().budgets.model_copy(update={"agent_usd": 2, "agent_tokens": 7})
    with TemporaryDirectory() as folder, UsageLedger(Path(folder, "usage.db")) as ledger:
        limits = ledger.limits(config, SystemClock())
        asked: dict[str, tuple[float | None, int | None]] = {}
        known = ""
        for what, first, second in [("raise", None, None), *changes]:
            [state] = limits.among([("agent", "a-1")])[:1]
            own = Budget(scope="agent", key="a-1", usd=first, tokens=second)
            match what:
                case "set":
                    limits.set(own)
                case "set usd":
                    limits.set(own, keep=("tokens",))
                case "set tokens":
                    limits.set(own.model_copy(update={"tokens": first}), keep=("usd",))
                case "raise" if first is not None:
                    limits.raise_by(state, first, 0, f"q-{second}")
                case "unset":
                    limits.unset("agent", "a-1", "total")
            [state] = limits.among([("agent", "a-1")])[:1]
            now = Shortage(budget=state, unit="usd", needs=0).identity
            standing = (state.usd, state.tokens)
            assert asked.setdefault(now, standing) == standing, "one question, two budgets"
            if known:
                assert is_outdated(known, state) == (known != now)
            known = now
