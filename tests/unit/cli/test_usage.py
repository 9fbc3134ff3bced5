"""`agiraph usage`: tokens and money in rows of what was asked for."""

import pytest

from tests.unit.cli.fakes import FakeClient, command, json_of


def test_what_was_spent_is_told_with_its_sum() -> None:
    client = FakeClient()
    result = command(client, "usage", "survey")
    assert result.exit_code == 0, result.output
    assert "coordinator" in result.output
    assert "total" in result.output
    assert client.usages[-1] == ("survey", None, "entity")


def test_rows_as_json_are_flat_and_without_the_sum() -> None:
    (row,) = json_of(command(FakeClient(), "usage", "--by", "model", "--json"))
    assert (row["key"], row["calls"], row["input_tokens"]) == ("script/survey", 2, 100)


@pytest.mark.parametrize("by", ["node", "stage"])
def test_calls_outside_of_nodes_are_named_so(by: str) -> None:
    assert "(no node)" in command(FakeClient(), "usage", "survey", "--by", by).output


def test_which_runs_are_meant_is_asked_for_with_an_agent() -> None:
    client = FakeClient()
    command(client, "usage", "survey", "--all-runs")
    assert client.usages[-1] == ("survey", "*", "entity")
    assert command(FakeClient(), "usage", "--all-runs").exit_code == 2
    assert command(FakeClient(), "usage", "survey", "--all-runs", "--run", "r").exit_code == 2
    assert command(FakeClient(), "usage", "--by", "week").exit_code == 2
