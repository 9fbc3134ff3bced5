"""`agiraph top` where nobody can watch it: one table, or JSON."""

from tests.unit.cli.fakes import AGENT, FakeClient, command, json_of


def test_one_table_is_printed_into_a_pipe() -> None:
    done = command(FakeClient(), "top", "--sort", "entity")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["ENTITY", "STATE", "CPU"]
    assert [line.split()[0] for line in lines[1:]] == ["coordinator", "broker"]


def test_json_prints_the_rows_of_ps_in_that_order_and_of_one_agent_only() -> None:
    rows = json_of(command(FakeClient(), "top", AGENT, "--json"))
    assert [row["address"] for row in rows] == [f"{AGENT}/coordinator"]
    assert "doing" in rows[0]


def test_a_sort_that_is_none_is_refused_with_the_possible_ones() -> None:
    refused = command(FakeClient(), "top", "--sort", "beauty")
    assert refused.exit_code == 2
    assert "'tokens'" in refused.stderr
