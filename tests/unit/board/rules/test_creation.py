"""How nodes come onto the board: names, ids, refs, dependencies, bounds."""

from typing import Any

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import CancelNode, CreateNode, FinishRun, StartRun
from agiraph.board.decide import decide
from agiraph.board.repeats import whole_spec
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import RunId, short_derived_id
from agiraph.core.node_changes import NodeRequest
from agiraph.core.specs import NodeSpec
from tests.unit.board.board_driver import BoardDriver


def test_the_first_node_opens_the_first_stage() -> None:
    driver = BoardDriver()
    assert driver.do(CreateNode("c1", NodeSpec(task="Look at it"))) == [
        "stage.started",
        "node.created",
    ]
    assert driver.do(CreateNode("c2", NodeSpec(task="Look again"))) == ["node.created"]
    assert [stage.name for stage in driver.board.stages] == ["Stage 1"]
    assert len(driver.board.stages[0].nodes) == 2


def test_the_same_cause_creates_one_node() -> None:
    driver = BoardDriver()
    driver.do(CreateNode("c1", NodeSpec(task="Look at it")))
    assert driver.do(CreateNode("c1", NodeSpec(task="Look at it"))) == []
    found = driver.board.node_by_cause("c1")
    assert found is not None
    assert found.id == short_derived_id("r1", "c1")
    assert driver.board.node_by_cause("c2") is None


def test_node_is_named_after_its_task_with_a_unique_suffix() -> None:
    driver = BoardDriver()
    for cause in ("1", "2", "3"):
        driver.do(CreateNode(cause, NodeSpec(task="Look at the Tables, please, and say more")))
    names = [node.name for node in driver.board.nodes.values()]
    assert names == [
        "look-at-the-tables-please",
        "look-at-the-tables-please-2",
        "look-at-the-tables-please-3",
    ]


def test_a_folder_has_the_name_of_its_node() -> None:
    driver = BoardDriver()
    driver.node("Big Report!", role="Lead Writer")
    node = driver.at("big-report")
    assert node.folder == node.name == "big-report"
    assert node.role == "Lead Writer"


def test_a_task_in_no_known_script_still_gets_a_name() -> None:
    driver = BoardDriver()
    driver.node("报告", task="数据分析")
    assert [node.name for node in driver.board.nodes.values()] == ["node"]


ODD_REFS = ("", "/etc/passwd", "source/../../x", "..", "/")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("source", ""),
        ("SOURCE", ""),
        ("source/published", ""),
        ("source/published/a/b.md", "/a/b.md"),
        ("source/b.md", "/b.md"),
        ("nodes/source/published/b.md", "/b.md"),
        ("{id}", ""),
        ("nodes/{folder}/published/b.md", "/b.md"),
    ],
)
def test_a_ref_may_be_written_in_many_ways(value: str, path: str) -> None:
    driver = BoardDriver()
    driver.node("source")
    source = driver.at("source")
    written = value.format(id=source.id, folder=source.folder)
    driver.node("use", refs={"data": written})
    assert driver.at("use").refs == {"data": f"nodes/{source.folder}/published{path}"}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"task": "  "}, "needs a task"),
        *(({"refs": {"data": value}}, "is not a reference") for value in ODD_REFS),
        ({"refs": {"data": "three"}}, r"unknown node 'three' \(known: source, two\)"),
        ({"dependencies": ("three",)}, r"unknown node 'three' \(known: source, two\)"),
        ({"name": "self", "dependencies": ("self",)}, "unknown node 'self'"),
    ],
)
def test_invalid_node_request_is_refused(asked: dict[str, Any], why: str) -> None:
    driver = BoardDriver()
    driver.node("source")
    driver.node("two")
    driver.refuses(CreateNode("c", NodeSpec(**{"task": "x", **asked})), why, InvalidInput)


def test_a_ref_to_unfinished_work_is_a_dependency() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("done")
    driver.complete("done", "ada")
    driver.node("open")
    driver.node("user", refs={"a": "done", "b": "open"})
    assert driver.at("user").dependencies == (driver.at("open").id,)


def test_a_dependency_named_twice_counts_once() -> None:
    driver = BoardDriver()
    driver.node("one")
    driver.node("user", refs={"a": "one"}, dependencies=("one", "one"))
    assert driver.at("user").dependencies == (driver.at("one").id,)


def test_work_that_will_never_be_done_cannot_be_needed() -> None:
    driver = BoardDriver()
    driver.node("one")
    driver.fail("one")
    with pytest.raises(IllegalTransition, match=r"'one' is failed .* it went wrong"):
        driver.node("two", "one")


def test_a_child_is_known_to_its_parent() -> None:
    driver = BoardDriver()
    driver.node("one")
    driver.node("child", parent="one")
    assert driver.at("one").children == (driver.at("child").id,)
    assert driver.at("child").parent_node == driver.at("one").id


def test_a_run_has_a_bounded_number_of_nodes() -> None:
    driver = BoardDriver(max_nodes=2)
    driver.node("one")
    driver.node("two")
    with pytest.raises(IllegalTransition, match=r"its 2 nodes \(run.max_nodes\)"):
        driver.node("three")


def test_colliding_ids_are_made_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    def three_values(*parts: str) -> str:
        return "aaaaaa" if len(parts) == 2 else f"aaaaa{parts[2]}"

    monkeypatch.setattr("agiraph.board.names.short_derived_id", three_values)
    driver = BoardDriver()
    driver.node("one")
    driver.node("two")
    assert list(driver.board.nodes) == ["aaaaaa", "aaaaa2"]


def test_commands_outside_a_run_are_refused() -> None:
    with pytest.raises(IllegalTransition, match="no run"):
        decide(Board(), CreateNode("c", NodeSpec(task="x")), 0)
    driver = BoardDriver()
    driver.do(FinishRun("all good"))
    with pytest.raises(IllegalTransition, match="it is completed"):
        driver.node("late")


def test_board_has_one_run() -> None:
    driver = BoardDriver()
    again = StartRun(run_id=RunId("r1"), goal="the goal", model="a/b", worker_model="c/d")
    assert driver.do(again) == []
    with pytest.raises(IllegalTransition, match="belongs to run r1"):
        driver.do(StartRun(run_id=RunId("r2"), goal="the goal", model="a/b", worker_model="c/d"))


def test_complete_plan_accepts_no_further_nodes() -> None:
    driver = BoardDriver(is_fixed=True)
    driver.fill("nodes: [{id: a, task: Look}]")
    assert [node.name for node in driver.board.nodes.values()] == ["a"]
    more = CreateNode("call-1", NodeSpec(task="Look again", name="b"))
    driver.refuses(more, "no node is added to it")


def test_new_worker_is_hired_for_a_node_that_asks_for_one() -> None:
    driver = BoardDriver(max_workers=2)
    driver.worker("ada", "writer")
    driver.node("a", worker="new", role="writer")
    a = driver.at("a")
    assert a.wanted_worker == driver.who("writer-1").id
    assert driver.who("writer-1").role == "writer"
    spec = NodeSpec(name="b", task="do b", worker="New")
    driver.refuses(CreateNode("c-b", spec), "the team has its 2 workers")
    again = NodeSpec(name="a", task="do a", worker="new", role="writer")
    assert driver.do(CreateNode("c-a", again)) == []


def test_node_repeats_an_earlier_node_with_changes() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("source")
    driver.complete("source", "ada")
    driver.node("a", refs={"s": "source"}, checks=("true",), max_iterations=5, worker="ada")
    driver.do(CancelNode("a", "wrong"))
    asked = NodeRequest(repeats="a", changes="Only the south.", max_iterations=9, role="writer")
    spec = whole_spec(driver.board, asked)
    assert spec.task == "do a\n\n## Changes\n\nOnly the south."
    assert (spec.checks, spec.max_iterations, spec.role) == (("true",), 9, "writer")
    assert (spec.worker, spec.name) == (None, "a")
    driver.do(CreateNode("c-again", spec))
    again = driver.at("a-2")
    assert again.refs == driver.at("a").refs
    assert (again.status, again.dependencies) == ("pending", ())


def test_changes_without_a_node_that_they_change_are_refused() -> None:
    driver = BoardDriver()
    with pytest.raises(InvalidInput, match="changes: they need `repeats`"):
        whole_spec(driver.board, NodeRequest(task="t", changes="x"))
    with pytest.raises(InvalidInput, match="unknown node 'b'"):
        whole_spec(driver.board, NodeRequest(repeats="b"))
