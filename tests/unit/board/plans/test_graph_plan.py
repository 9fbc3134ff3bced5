"""A static graph in a file becomes nodes in an order that the board takes."""

import json
from pathlib import Path

import pytest

from agiraph.board.commands import CreateNode, SpawnWorker
from agiraph.board.plans.plan import parse_plan, plan_commands, read_plan
from agiraph.core.errors import InvalidInput
from tests.unit.board.board_driver import BoardDriver

SEED = """
{
  "nodes": [
    {"id": "n1", "task": "Research Company A", "role": "worker"},
    {"id": "n2", "task": "Research Company B", "role": "worker"},
    {"id": "n3", "task": "Synthesize findings", "role": "manager", "deps": ["n1", "n2"]}
  ]
}
"""


def test_a_graph_fills_a_board() -> None:
    driver = BoardDriver()
    driver.fill(SEED)
    assert [node.name for node in driver.board.nodes.values()] == ["n1", "n2", "n3"]
    assert driver.at("n3").dependencies == (driver.at("n1").id, driver.at("n2").id)
    assert driver.at("n3").refs["n1"] == f"nodes/{driver.at('n1').folder}/published"
    assert driver.at("n3").role == "manager"
    [manager] = driver.board.workers.values()
    assert (manager.name, manager.can_lead) == ("n3", True), "a manager may lead"


def test_filling_a_board_twice_changes_nothing() -> None:
    driver = BoardDriver()
    commands = plan_commands(parse_plan(SEED))
    for command in (*commands, *commands):
        driver.do(command)
    assert len(driver.board.nodes) == 3


def test_plan_may_be_written_in_yaml(tmp_path: Path) -> None:
    text = """
goal: Compare both
nodes:
  - id: 1
    task: Research Company A
  - id: n2
    task: Write
    dependencies: [1]
    worker: ada
    model: openai/gpt-4o
"""
    (tmp_path / "plan.yaml").write_text(text)
    plan = read_plan(tmp_path / "plan.yaml")
    assert plan.goal == "Compare both"
    assert plan.nodes[1].dependencies == ("1",)
    spawn, first, second = plan_commands(plan)
    assert isinstance(spawn, SpawnWorker)
    assert (spawn.spec.name, spawn.spec.model) == ("ada", "openai/gpt-4o")
    assert isinstance(first, CreateNode)
    assert isinstance(second, CreateNode)
    assert (first.spec.worker, second.spec.worker) == (None, "ada")


def test_nodes_may_be_written_in_any_order() -> None:
    nodes = [
        {"id": f"n{i}", "task": "t", "deps": [f"n{i + 1}"] if i < 49 else []} for i in range(50)
    ]
    driver = BoardDriver(max_nodes=50)
    driver.fill(json.dumps({"nodes": nodes}))
    assert next(iter(driver.board.nodes.values())).name == "n49"


def test_a_node_with_a_model_of_its_own_has_a_worker_of_its_own() -> None:
    plan = parse_plan('{"nodes": [{"id": "Deep Dive", "task": "t", "model": "a/b"}]}')
    assert [(worker.name, worker.model) for worker in plan.workers] == [("deep-dive", "a/b")]
    assert plan.nodes[0].worker == "deep-dive"


def test_similar_ids_get_distinct_names() -> None:
    plan = parse_plan(
        '{"nodes": [{"id": "A 1", "task": "t"}, {"id": "a-1", "task": "t", "deps": ["A 1"]}]}'
    )
    assert [node.name for node in plan.nodes] == ["a-1", "a-1-2"]
    assert plan.nodes[1].dependencies == ("a-1",)


def graph(**changes: object) -> str:
    node = {"id": "n1", "task": "t", **changes}
    return json.dumps({"nodes": [{"id": "n0", "task": "t"}, node]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (graph(id="n0"), r"p.json:1: nodes\[1\].id: 'n0' is already the id of nodes\[0\]"),
        (graph(deps=["x"]), r"nodes\[1\].deps\[0\]: unknown node 'x' \(known: n0, n1\)"),
        (graph(deps=["n1"]), r"n1 -> n1 wait for each other in a cycle"),
        (graph(needs=["n0"]), r"nodes\[1\].needs: unknown key \(possible: id, task, role, deps, "),
        (graph(deps="n0"), r"nodes\[1\].deps: must be a list, not a text"),
        (graph(task=" "), r"nodes\[1\].task: must have at least 1 character"),
        (graph(worker=".."), r"nodes\[1\].worker: a worker cannot be called '\.\.' \(possible: 1 "),
        (graph(worker="router"), r"nodes\[1\].worker: the worker name 'router' is reserved"),
        (graph(worker="human"), r"nodes\[1\].worker: the worker name 'human' is reserved"),
        ('{"nodes": [{"id": "a"}]}', r"nodes\[0\].task: is missing \(possible here: id, task"),
        ('{"nodes": []}', r"nodes: must have at least 1 entry"),
        ('{"nodes": 3}', r"nodes: must be a list"),
        ('{"nodes": [3]}', r"nodes\[0\]: must be a mapping"),
        ('{"nodes": [], "stages": []}', "either 'nodes' .* or 'stages'"),
        ("{}", "either 'nodes' .* or 'stages'"),
        ("", "either 'nodes' .* or 'stages'"),
        ("[1]", "either 'nodes' .* or 'stages'"),
        ('{"nodes": [', r"p.json:1: is not JSON \(Expecting value, column 12\)"),
        ("nodes:\n - id: [a\n", r"p.json:3: is not YAML"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_error_names_its_place(text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        parse_plan(text, "p.json")


def test_a_cycle_is_named() -> None:
    nodes = [{"id": a, "task": "t", "deps": [b]} for a, b in ("ab", "bc", "ca")]
    with pytest.raises(InvalidInput, match="a -> b -> c -> a"):
        parse_plan(json.dumps({"nodes": nodes}))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none.json: cannot be read \(No such file"):
        read_plan(tmp_path / "none.json")
    (tmp_path / "bad").write_bytes(b"{\xff}")
    with pytest.raises(InvalidInput, match=r"bad: is not UTF-8 text \(byte 1\)"):
        read_plan(tmp_path / "bad")


YAML = """\
goal: Compare
nodes:
  - id: a
    task: Research
  - id: b
    task: Write
    dependencies:
      - a
      - c
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (YAML, r"p:9: nodes\[1\].dependencies\[1\]: unknown node 'c' \(known: a, b\)"),
        (YAML.replace("- c", "- b"), r"p:7: nodes\[1\].dependencies: b -> b wait for each other"),
        (
            YAML.replace("id: b", "id: a"),
            r"p:5: nodes\[1\].id: 'a' is already the id of nodes\[0\]",
        ),
        (YAML.replace("task: Write", "tusk: x"), r"p:5: nodes\[1\].task: is missing"),
        (YAML.replace("task: Write", "tusk: x"), r"p:6: nodes\[1\].tusk: unknown key"),
        (YAML.replace("goal: Compare", "gaol: x"), r"p:1: gaol: unknown key"),
        (YAML.replace("- c", "- a\n    worker: human"), r"p:10: nodes\[1\].worker: the worker"),
        (
            '{\n\t"nodes": [\n\t\t{"id": "\\ud83d\\ude00",\n\t\t"task": 3, "x": 1}]}',
            r"p:4: nodes\[0\].x:",
        ),
        ('{"goal": "g",\n"nodes": [{"id": "a"\n]}', r"p:3: is not JSON \(.*, column 1\)"),
        ('{"nodes": [{"id": "\x7f", "task": ""}]}', r"p: nodes\[0\].task: must"),
    ],
)
def test_error_names_its_line_and_the_key_as_written(text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=f"(?m)^{expected}"):
        parse_plan(text, "p")


def test_error_in_a_list_item_does_not_report_a_short_list() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_plan('{"nodes": [{"id": "a"}]}', "p")
    assert str(caught.value).startswith("p:1: nodes[0].task: is missing")
    assert len(str(caught.value).splitlines()) == 1
