"""Conditions on edges and for_each: nodes run, are skipped, fail, or become several nodes."""

import pytest

from agiraph.board import commands as c
from agiraph.board.board import fold
from agiraph.board.decide import decide
from agiraph.board.plans.graph import Graph
from agiraph.board.plans.plan import parse_plan
from agiraph.board.rules.flow import refs_of
from agiraph.core.errors import InvalidInput
from agiraph.core.models import NodeResult
from tests.unit.board.board_driver import BoardDriver

REVIEW = """
nodes:
  - {id: score, task: Score it}
  - id: praise
    task: Praise it
    deps: [{node: score, when: "result.value > 0.5 and 'x' in result.tags"}]
  - id: improve
    task: Improve it
    deps: [{node: score, when: result.value <= 0.5}]
  - {id: again, task: Look again, deps: [improve]}
  - {id: report, task: Report, deps: [praise, again]}
"""
EACH = """
nodes:
  - {id: find, task: Find them}
  - id: look
    task: "Look at {file.name}"
    for_each: {node: find, in: result.files, as: file}
  - {id: sum, task: Sum up, deps: [look]}
"""


def after(plan: str, first: str, value: object, **terms: int) -> BoardDriver:
    """Return the board of a plan whose first node was completed with this result."""
    driver = BoardDriver(**terms)
    driver.fill(plan)
    driver.settle()
    complete(driver, first, value)
    return driver


def complete(driver: BoardDriver, name: str, value: object = None) -> None:
    node = driver.at(name)
    driver.do(c.CompleteNode(node.id, node.attempt, NodeResult(summary="done", value=value)))
    driver.settle()


def statuses(driver: BoardDriver) -> dict[str, str]:
    return {node.name: node.status for node in driver.board.nodes.values()}


def test_true_branch_runs_and_the_other_is_skipped() -> None:
    driver = after(REVIEW, "score", {"value": 0.7, "tags": ["x"]})
    assert statuses(driver) == {
        "score": "completed",
        "praise": "assigned",
        "improve": "skipped",
        "again": "skipped",
        "report": "pending",
    }
    assert driver.at("improve").reason == "'result.value <= 0.5' is false for 'score'"
    assert driver.at("again").reason == "'improve' was skipped"
    complete(driver, "praise")
    report = driver.at("report")
    assert report.status == "assigned", "one of its dependencies was completed"
    assert list(refs_of(driver.board, report)) == ["praise"]
    driver.refuses(c.RetryNode("score", "m"), "began with its result")
    assert decide(driver.board, c.DecideNode("improve"), 1) == (), "it is decided once"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"tags": []}, "result.value > 0.5 and .* has no answer: there is no field 'value'"),
        ({"value": "a"}, "not supported between instances of 'str' and 'float'"),
        (None, "null has no field 'value'; 'score' published no result.json that can be read"),
    ],
)
def test_a_condition_without_an_answer_fails_its_node(value: object, why: str) -> None:
    driver = after(REVIEW, "score", value)
    praise = driver.at("praise")
    assert praise.status == "failed"
    assert "the condition of its edge from 'score'" in (praise.reason or "")
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(praise.reason)
    assert driver.at("report").status == "failed"


def test_for_each_creates_one_node_per_item_and_dependents_need_all() -> None:
    files = [{"name": "a"}, {"name": "b"}]
    driver = after(EACH, "find", {"files": files})
    assert (driver.at("look").status, driver.at("look").copies) == (
        "completed",
        (driver.at("look-1").id, driver.at("look-2").id),
    )
    assert driver.at("look-2").task == ('Look at b\n\n## file\n\n```json\n{\n  "name": "b"\n}\n```')
    assert list(driver.at("look-1").refs) == ["find"]
    assert list(driver.at("sum").refs) == ["look-1", "look-2"]
    complete(driver, "look-1")
    assert driver.at("sum").status == "pending"
    driver.node("late", "look", refs={"look": "look"})
    assert list(driver.at("late").refs) == ["look-1", "look-2"]
    complete(driver, "look-2")
    assert driver.at("sum").status == "assigned"
    driver.refuses(c.RetryNode("look", "m"), "has become look-1, look-2")


@pytest.mark.parametrize(
    ("value", "status", "why"),
    [
        ({"files": []}, "skipped", "'result.files' of 'find' is empty"),
        ({"files": 3}, "failed", "is no list: int"),
        ({"files": ["a"] * 9}, "failed", r"has 9 items, and the run has room for 7 more nodes"),
        ({"files": ["a"]}, "failed", "its task asks for {file.name}: a text has no field 'name'"),
    ],
)
def test_a_list_that_is_empty_or_cannot_be_followed(value: object, status: str, why: str) -> None:
    driver = after(EACH, "find", value, max_nodes=10)
    look = driver.at("look")
    assert look.status == status
    assert why in (look.reason or "")
    assert driver.at("sum").status == status


def test_replayed_journal_repeats_no_decision() -> None:
    driver = BoardDriver()
    driver.fill(EACH)
    driver.settle()
    happened = list(
        driver.events(c.CompleteNode("find", 1, NodeResult(summary="s", value={"files": "ab"})))
    )
    before = fold(happened, driver.board)
    assert before.nodes == driver.board.nodes


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("deps: [{node: a, when: result.x >}]", r"p:4: nodes\[1\].deps\[0\].when: .*not an expr"),
        ("deps: [{node: a, when: reslt.x}]", r"p:4: .*unknown name 'reslt'"),
        ("deps: [{node: b, when: result}]", r"p:4: nodes\[1\].deps\[0\]: unknown node 'b'"),
        ("deps: [{nod: a}]", r"p:4: nodes\[1\].deps\[0\]"),
        ("when: {a: result}", r"p:4: nodes\[1\].when.a: unknown dependency 'a'"),
        ("for_each: {node: a, in: result(}", r"p:4: nodes\[1\].for_each.in: .*not an expression"),
        ("for_each: {node: x}", r"p:3: nodes\[1\].deps\[0\]: unknown node 'x'"),
    ],
)
def test_error_in_a_flow_names_its_line(line: str, why: str) -> None:
    text = f"nodes:\n  - {{id: a, task: t}}\n  - id: c\n    {line}\n    task: t\n"
    with pytest.raises(InvalidInput, match=why):
        parse_plan(text, "p")


def test_bare_for_each_expression_refers_to_the_only_dependency() -> None:
    plan = parse_plan(
        "nodes: [{id: a, task: t}, {id: b, task: t, deps: [a], for_each: result.items}]"
    )
    each = plan.nodes[1].for_each
    assert each is not None
    assert (each.node, each.items, each.item) == ("a", "result.items", "item")


def test_a_graph_keeps_its_flow_as_text_and_as_a_plan() -> None:
    for text in (REVIEW, EACH):
        plan = parse_plan(text)
        graph = Graph.from_plan(plan)
        assert graph.plan() == plan
        assert parse_plan(graph.to_yaml()) == plan
