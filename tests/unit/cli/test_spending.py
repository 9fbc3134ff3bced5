"""`agiraph usage` and `agiraph budget`: spending, limits, and setting them."""

from typing import Any

import pytest

from agiraph.core.ids import AgentId
from agiraph.core.turns import Usage
from agiraph.http.api import BudgetView
from cli.output.formats import format_short_usage, format_usage
from tests.unit.cli.fakes import FakeClient, command, json_of


def kept(scope: Any = "agent", **facts: Any) -> BudgetView:
    values = {"key": "survey-3fa9c1", "name": "survey", "period": "total", "is_own": True} | facts
    return BudgetView(
        scope=scope,
        agent=AgentId("survey-3fa9c1"),
        agent_name="survey",
        spent_usd=1.25,
        spent_tokens=500,
        **values,
    )


DOLLARS = kept(usd=5, left_usd=3.75)
ON_MORNINGS: dict[str, Any] = {"key": "t-1", "name": "mornings", "period": "day"}
DAILY = kept("trigger", tokens=900, left_tokens=400, is_own=False, **ON_MORNINGS)


def test_usage_has_a_column_of_runs_only_where_rows_belong_to_runs() -> None:
    assert command(FakeClient(), "usage").output.splitlines()[0].split()[:2] == ["NAME", "CALLS"]


def test_budgets_are_listed_with_the_remaining_amount() -> None:
    client = FakeClient(kept=[DOLLARS, DAILY])
    lines = command(client, "budget").output.splitlines()
    assert lines[1].split() == ["survey", "all", "dollars", "$5.00", "$1.25", "$3.75", "you"]
    daily = ["survey,", "trigger", "mornings", "day", "tokens", "900", "500", "400", "settings"]
    assert lines[2].split() == daily
    assert len(command(client, "budget", "survey", "--per-day").output.splitlines()) == 2
    (row,) = json_of(command(client, "budget", "survey", "--trigger", "t-1", "--json"))
    assert (row["key"], row["left_tokens"], row["usd"]) == ("t-1", 400, None)
    assert client.did[-1] == ("budgets", "survey")


def test_budget_is_set_and_its_state_shown() -> None:
    client = FakeClient(kept=[DOLLARS])
    told = command(client, "budget", "survey", "$5", "none-tokens")
    assert told.output == "survey: $5.00 in all ($1.25 spent, $3.75 left)\n"
    terms = {"usd": 5.0, "tokens": "none", "period": "total", "trigger": None}
    assert client.did[-1] == ("set_budget", "survey", terms)
    client.kept = [DAILY]
    told = command(client, "budget", "survey", "2k-tokens", "--trigger", "mornings", "--per-day")
    shown = "survey, trigger mornings: 900 tokens a day (500 tokens spent, 400 tokens left)"
    assert told.output == f"{shown}, by the settings\n"
    terms = {"usd": None, "tokens": 2000, "period": "day", "trigger": "mornings"}
    assert client.did[-1] == ("set_budget", "survey", terms)


def test_budget_is_removed() -> None:
    client = FakeClient(kept=[kept(is_own=False)])
    assert command(client, "budget", "survey", "--remove").output == "survey: no limit in all\n"
    assert client.did[-1] == ("remove_budget", "survey", {"period": "total", "trigger": None})


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("survey", "much"), "'much' is no limit (possible: 2 or $2 in US dollars, 500k-tokens"),
        (("survey", "40k"), "'40k' is no limit"),
        (("--per-day",), "AGENT is missing"),
        (("survey", "5", "--remove"), "--remove cannot be used with"),
        (("nobody", "5"), "unknown agent 'nobody' (known: survey-3fa9c1)"),
    ],
)
def test_invalid_budget_is_refused(args: tuple[str, ...], expected: str) -> None:
    result = command(FakeClient(kept=[DOLLARS]), "budget", *args)
    assert result.exit_code != 0
    assert expected in result.output


def test_usage_is_listed_with_its_sum() -> None:
    client = FakeClient()
    result = command(client, "usage", "survey")
    assert result.exit_code == 0, result.output
    assert "coordinator" in result.output
    assert "total" in result.output
    assert client.usages[-1] == ("survey", None, "entity")


def test_amounts_that_are_estimated_are_marked() -> None:
    result = command(FakeClient(is_estimated=True), "usage", "survey").output
    assert all(amount in result for amount in ("~100", "~20", "~$0.50"))
    assert "~" not in command(FakeClient(), "usage", "survey").output
    spent = DOLLARS.model_copy(update={"is_estimate": True})
    shown = command(FakeClient(kept=[spent]), "budget", "survey").output
    assert shown.count("~") == 2, "what is spent and what is left, not the limit"
    usage = Usage(input_tokens=1200, cost_usd=0.5, is_estimate=True)
    assert format_usage(usage) == "~1,200 tokens · ~$0.5000"
    assert format_short_usage(usage.sums()) == "~1.2k ~$0.50"


def test_rows_as_json_are_flat_and_without_the_sum() -> None:
    (row,) = json_of(command(FakeClient(), "usage", "--by", "model", "--json"))
    assert (row["key"], row["calls"], row["input_tokens"]) == ("script/survey", 2, 100)


@pytest.mark.parametrize("by", ["node", "stage"])
def test_calls_outside_of_nodes_are_named_so(by: str) -> None:
    assert "(no node)" in command(FakeClient(), "usage", "survey", "--by", by).output


def test_runs_of_usage_are_selected_with_an_agent() -> None:
    client = FakeClient()
    command(client, "usage", "survey", "--all-runs")
    assert client.usages[-1] == ("survey", "*", "entity")
    assert command(FakeClient(), "usage", "--all-runs").exit_code == 2
    assert command(FakeClient(), "usage", "survey", "--all-runs", "--run", "r").exit_code == 2
    assert command(FakeClient(), "usage", "--by", "week").exit_code == 2
