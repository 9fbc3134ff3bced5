"""The HTTP API over a real socket: a search over all runs, plan files, the logs of processes."""

import json
from pathlib import Path
from typing import Any

import pytest

from agiraph.board.commands import FinishRun, StartRun, StopRun
from agiraph.board.store import BoardStore
from agiraph.core.ids import AgentId, RunId
from agiraph.core.turns import Usage, UsageRow
from agiraph.http.api import CheckPlanRequest
from agiraph.http.client import Client
from agiraph.messages.model import AskUsage, UsageTable
from tests.fakes.gateway import AGENT, GatewayHome, refused

RunEnd = FinishRun | StopRun
OTHER = "prices-2b3c4d"
RUNS = [f"2026010{day}-120000-abcdef" for day in range(1, 4)]
PLAN = "nodes:\n- {id: find, task: Find three prices}\n- {id: sum, task: Add them, deps: [find]}\n"


def add_run(
    gateway_home: GatewayHome,
    agent: str,
    run: str,
    goal: str,
    at: float,
    end: tuple[RunEnd, float] | None = None,
) -> None:
    """Write a run as its coordinator would; `end` is the command that ended it, and when."""
    home = gateway_home.home.agent(AgentId(agent)).run(RunId(run))
    home.path.mkdir(parents=True, exist_ok=True)
    store = BoardStore(home.journal)
    models = {"model": "script/fake", "worker_model": "script/fake"}
    begun = {"run_id": RunId(run), "goal": goal, "mode": "finite", "max_nodes": 10}
    try:
        store.execute(StartRun.model_validate(begun | models), at)
        if end is not None:
            store.execute(*end)
    finally:
        store.close()


@pytest.fixture
def three_runs(gateway_home: GatewayHome) -> GatewayHome:
    """Return a home of two agents: one with two runs, of which one has failed, one with one."""
    gateway_home.add_agent()
    gateway_home.add_agent(OTHER, "prices")
    completed = FinishRun(summary="The folder has **three** tables of harbours")
    add_run(gateway_home, AGENT, RUNS[0], "Survey the folder", 100.0, (completed, 110.0))
    failed = StopRun(status="failed", reason="[not published] 1 of 2 checks failed")
    add_run(gateway_home, AGENT, RUNS[1], "Count the tables", 200.0, (failed, 500.0))
    add_run(gateway_home, OTHER, RUNS[2], "Find the prices of harbours", 300.0)
    row = UsageRow(
        key=RUNS[0],
        calls=1,
        seconds=1.0,
        usage=Usage(input_tokens=7, output_tokens=3, cost_usd=2.0),
    )
    gateway_home.runtime.answers[AskUsage] = lambda body: UsageTable(
        by_entity={}, total=Usage(), rows=(row,) if body.by == "run" else ()
    )
    return gateway_home


def journal_of(gateway_home: GatewayHome, agent: str, run: str) -> Path:
    return Path(gateway_home.home.agent(AgentId(agent)).run(RunId(run)).journal)


def ids(client: Client, words: str = "", **more: Any) -> list[str]:
    return [run.id for run in client.find_runs(words, **more).runs]


@pytest.mark.usefixtures("three_runs")
def test_runs_are_found_by_words_of_name_goal_result_and_reason(client: Client) -> None:
    assert ids(client) == [RUNS[2], RUNS[1], RUNS[0]]
    assert ids(client, "HARBOURS") == [RUNS[2], RUNS[0]]
    assert ids(client, "survey tables") == [RUNS[1], RUNS[0]]
    assert ids(client, "checks", statuses=("failed",)) == [RUNS[1]]
    assert ids(client, "checks", statuses=("completed",)) == []
    [found] = client.find_runs("three harbours").runs
    assert (found.agent, found.agent_name, found.result) == (AGENT, "survey", None)
    assert found.snippet == "The folder has **three** tables of harbours"
    assert (found.tokens, found.cost_usd) == (10, 2.0)
    assert client.find_runs("checks").runs[0].failure_class == "checks"


@pytest.mark.usefixtures("three_runs")
def test_runs_are_sorted_by_the_requested_order(client: Client) -> None:
    assert ids(client, order="oldest") == RUNS
    assert ids(client, order="costliest")[0] == RUNS[0]
    assert ids(client, order="longest", statuses=("failed", "completed")) == [RUNS[1], RUNS[0]]
    assert ids(client, order="name") == [RUNS[2], RUNS[0], RUNS[1]]
    page = client.find_runs(limit=1)
    assert (len(page.runs), page.total) == (1, 3)


def test_running_run_is_shown_with_its_current_status(
    three_runs: GatewayHome, client: Client
) -> None:
    assert client.find_runs("prices").runs[0].status == "running"
    store = BoardStore(journal_of(three_runs, OTHER, RUNS[2]))
    try:
        store.execute(FinishRun(summary="Found"), 400.0)
    finally:
        store.close()
    assert client.find_runs("prices").runs[0].status == "completed"


def test_run_with_a_damaged_board_does_not_hide_the_others(
    three_runs: GatewayHome, client: Client
) -> None:
    journal = journal_of(three_runs, OTHER, RUNS[2])
    journal.write_bytes(b"no journal\n" * 2)
    assert ids(client) == [RUNS[1], RUNS[0]]


def test_a_plan_is_checked_and_drawn(client: Client) -> None:
    found = client.check_plan(CheckPlanRequest(plan=PLAN))
    assert (found.nodes, found.workers) == (2, 0)
    assert "find" in found.text
    forms = {"mermaid": "flowchart", "dot": "digraph", "svg": "<svg", "html": "<!doctype html>"}
    for form, begins in forms.items():
        asked = CheckPlanRequest.model_validate({"plan": PLAN, "form": form})
        assert client.check_plan(asked).text.casefold().startswith(begins)
    as_json = client.check_plan(CheckPlanRequest(plan=PLAN, form="json")).text
    again = client.check_plan(CheckPlanRequest(plan=as_json, form="yaml")).text
    assert again.startswith("nodes:\n- id: find\n  task: Find three prices\n")
    assert client.plan_schema()["$defs"]


@pytest.mark.parametrize("plan", ["nodes:\n- {id: a, task: x, deps: [b]}\n", "nodes: [", "7", "{"])
def test_a_plan_that_cannot_be_followed_is_refused_with_its_mistakes(
    client: Client, plan: str
) -> None:
    error = refused(client.check_plan, CheckPlanRequest(plan=plan, form="yaml"))
    assert error.status == 422
    assert error.detail.startswith("plan:")


def test_the_last_lines_of_the_logs_are_shown(gateway_home: GatewayHome, client: Client) -> None:
    folder = gateway_home.home.system.logs
    folder.mkdir(parents=True, exist_ok=True)
    for entity, name in ((f"{AGENT}/coordinator", f"{AGENT}.coordinator"), ("clock", "clock")):
        lines = [
            {"timestamp": f"2026-01-01T12:00:0{second}Z", "level": level, "entity": entity,
             "event": f"{entity} {second}", "node": "tables"}
            for second, level in enumerate(("debug", "error"), start=1)
        ]  # fmt: skip
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    assert len(client.logs()) == 4
    assert [line.event for line in client.logs("clock")] == ["clock 1", "clock 2"]
    last = client.logs(AGENT, level="warning")[0]
    assert (last.level, last.entity, last.fields) == (
        "error",
        f"{AGENT}/coordinator",
        {"node": "tables"},
    )
    assert [line.level for line in client.logs(limit=1)] == ["error"]
    assert client.logs(since=4e9) == []
    assert "clock" in refused(client.logs, "clokc").detail
