"""The comparison finds missing, additional and different records."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from agiraph.core.ids import AgentId, RunId
from agiraph.storage.home import Home
from cli.chaos.comparison import RunCounts, RunDifference, difference, ticks_left

CALM = RunCounts(
    status="completed",
    files={"north/lines.txt": "aa"},
    completions=Counter({"north": 1}),
    lines=Counter({"north 1": 1, "north 2": 1}),
    messages=Counter({"ada to ben": 1}),
)


def test_equal_runs_differ_in_nothing() -> None:
    assert difference(CALM, CALM).is_none


def test_a_lost_line_and_a_lost_message_are_counted() -> None:
    poor = replace(CALM, lines=Counter({"north 1": 1}), messages=Counter())
    assert difference(CALM, poor) == RunDifference(lost=2)


def test_repeated_work_is_counted() -> None:
    rich = replace(
        CALM,
        lines=Counter({"north 1": 2, "north 2": 1}),
        messages=Counter({"ada to ben": 3}),
        completions=Counter({"north": 2}),
    )
    assert difference(CALM, rich) == RunDifference(
        done_twice=2, steps_twice=1, nodes_not_published_once=1
    )


def test_different_files_and_an_unfinished_run_are_counted() -> None:
    other = replace(CALM, status="failed", files={"north/lines.txt": "bb", "north/x": "cc"})
    assert difference(CALM, other) == RunDifference(files_that_differ=2, runs_unfinished=1)


def test_differences_are_added() -> None:
    assert RunDifference(lost=1) + RunDifference(lost=2, runs_unfinished=1) == RunDifference(
        lost=3, runs_unfinished=1
    )


def test_unreported_tick_remains_counted(tmp_path: Path) -> None:
    agent = Home(tmp_path).agent(AgentId("lines"))
    run = agent.run(RunId("r1"))
    run.messages.mkdir(parents=True)
    names = [{"name": f"tick {number}"} for number in (1, 2)]
    agent.triggers.write_text(json.dumps({"triggers": names}))
    assert ticks_left(agent, run) == 2
    heard = "FROM: coordinator\nTO: human\n\n(trigger 'tick 2') tick 2"
    (run.messages / "0001_coordinator_to_human.md").write_text(heard)
    assert ticks_left(agent, run) == 1
