"""A graph built in Python is a plan file and a board; it names its mistakes and can be drawn."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.board.commands import DecideNode
from agiraph.board.plans.graph import Graph, Node
from agiraph.board.plans.plan import plan_commands
from agiraph.core.errors import InvalidInput
from agiraph.readmodel.boards import node_view
from tests.unit.board.board_driver import BoardDriver

TASKS = st.text(min_size=1, max_size=40).filter(lambda text: text.strip())
MODELS = st.sampled_from([None, None, "a/b", "c/d"])


def report() -> Graph:
    graph = Graph(goal="Compare")
    graph.add_node(Node(id="n1", task="Research Company A", role="worker"))
    graph.add_node(Node(id="n2", task='Research "B" <&>\nand more', role="worker"))
    graph.add_node(Node(id="n3", task="Synthesize", role="manager", deps=["n1", "n2"]))
    return graph


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return a random graph without cycles, its nodes in any order."""
    count = draw(st.integers(1, 8))
    nodes: list[dict[str, Any]] = []
    for number in range(count):
        before = [f"n{one}" for one in range(number)]
        deps: list[str] = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        node: dict[str, Any] = {
            "id": f"n{number}",
            "task": draw(TASKS),
            "deps": deps,
            "model": draw(MODELS),
        }
        node["role"] = draw(st.sampled_from(["worker", "manager"]))
        node["can_lead"] = draw(st.sampled_from([None, True]))
        node["mode"] = draw(st.sampled_from([None, "single_inference"]))
        node["checks"] = draw(st.sampled_from([(), ("test -s a",)]))
        node["timeout_seconds"] = draw(st.sampled_from([None, 60.0]))
        node["refs"] = {"data": f"{deps[0]}/published/data.csv"} if deps else {}
        node["retries"] = draw(st.sampled_from([0, 2]))
        node["optional"] = draw(st.booleans())
        node["output_schema"] = draw(st.sampled_from([None, {"type": "object"}]))
        node["when"] = dict.fromkeys(deps[1:], "result.score > 0.5") if draw(st.booleans()) else {}
        single = [one for one in deps if "for_each" not in nodes[int(one[1:])]]
        if draw(st.booleans()) and single:
            node["for_each"] = {"node": single[0], "in": "result.files", "as": "file"}
        nodes.append(node)
    made = [Node.model_validate(node) for node in draw(st.permutations(nodes))]
    return Graph(made, goal=draw(st.none() | st.just("the goal")))


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_a_plan_that_has_filled_a_board_is_the_same_plan(graph: Graph) -> None:
    plan = graph.plan()
    driver = BoardDriver()
    for command in plan_commands(plan):
        driver.do(command)
    again = Graph.from_board(driver.board)
    assert again.plan() == plan.model_copy(update={"goal": "the goal"})
    for text in (again.to_yaml(), again.to_json()):
        assert Graph.parse(text) == again
    assert sorted(again.statuses) == sorted(node.id for node in graph.nodes)


def test_a_plan_that_was_followed_is_the_same_plan() -> None:
    each = {"in": "result.f", "as": "f"}
    nodes: list[dict[str, Any]] = [
        {"id": "find", "task": "Find files"},
        {"id": "look", "task": "Look at {f.name}", "deps": ["find"], "for_each": each},
        {"id": "bad", "task": "Mend it", "deps": [{"node": "find", "when": "result.bad"}]},
        {"id": "both", "task": "Sum up", "deps": ["bad", {"node": "look", "when": "result"}]},
    ]
    nodes[3]["refs"] = {"notes": "look/published/notes.md"}
    graph = Graph(Node.model_validate(node) for node in nodes)
    driver = BoardDriver()
    driver.fill(graph.to_yaml())
    driver.worker("ada")
    driver.run("find", "ada")
    driver.done("find", value={"f": [{"name": "a"}, {"name": "b"}], "bad": False})
    for node in ("look", "bad"):
        driver.do(DecideNode(node))
    found = Graph.from_board(driver.board)
    assert [found.statuses[node.id] for node in found.nodes] == [
        *("completed", "completed", "skipped", "pending")
    ]
    assert {"look-1", "look-2"} <= set(driver.board.names)
    assert found.plan().nodes == graph.plan().nodes
    views = [node_view(driver.board, node) for node in driver.board.nodes.values()]
    assert Graph.of_nodes(views) == Graph(found.nodes)


def test_mistakes_are_named_all_at_once() -> None:
    waits = {"a": ["b"], "b": ["a"], "c": ["a"], "d": ["zz"], "e": ["d"], "f": []}
    graph = Graph(Node(id=id, task="x", deps=deps) for id, deps in waits.items())
    with pytest.raises(InvalidInput) as refused:
        graph.validate()
    assert str(refused.value).splitlines() == [
        "nodes[3].deps[0]: unknown node 'zz' (known: a, b, c, d, e, f)",
        "nodes[0].deps: a -> b -> a wait for each other in a cycle",
        "nodes[4].deps: 'e' can never be reached: it waits for 'd'",
        "nodes[2].deps: 'c' can never be reached: it waits for 'a'",
    ]
    assert graph.to_svg().startswith("<svg"), "it can be looked at all the same"
    assert Graph().problems() == ["a graph needs a node"]
    with pytest.raises(InvalidInput, match="node 'a' is in the graph already"):
        graph.add_node(Node(id="a", task="x"))


def test_a_graph_can_be_drawn_in_each_form() -> None:
    graph = report()
    assert graph.to_tree(40).splitlines() == [
        "n1 (worker): Research Company A",
        'n2 (worker): Research "B" <&> and more',
        "└─ n3 (manager, after n1, n2): Synthe...",
    ]
    assert 'n0["n1<br/>worker"]' in graph.to_mermaid()
    assert "n0 --> n2" in graph.to_mermaid()
    assert "n1 -> n2;" in graph.to_dot()
    image = ET.fromstring(graph.to_svg())
    shown = {text.text for text in image.iter("{http://www.w3.org/2000/svg}text")}
    assert {"n1", "n2", "n3", "manager"} <= shown
    assert len(list(image.iter("{http://www.w3.org/2000/svg}path"))) == 2
    assert graph._repr_html_() == graph.to_svg()
    assert "Research &quot;B&quot; &lt;&amp;&gt;" in graph.to_html()


def test_conditions_and_items_are_drawn() -> None:
    graph = Graph(
        [
            Node(id="find", task="Find"),
            Node(id="look", task="Look", for_each="result.files", deps=["find"]),
            Node(id="mend", task="Mend", deps=[{"node": "find", "when": 'result.bad == "<1>"'}]),
        ]
    )
    assert graph.to_tree(60).splitlines() == [
        "find (worker): Find",
        "├─ look (worker, for each): Look",
        '└─ mend (worker, after find if result.bad == "<1>"): Mend',
    ]
    assert 'n0 -->|"result.bad #61;#61; #34;#60;1#62;#34;"| n2' in graph.to_mermaid()
    assert r'n0 -> n2 [label="result.bad == \"<1>\"", style=dashed];' in graph.to_dot()
    assert "result.bad == &quot;&lt;1&gt;&quot;</title>" in graph.to_svg()
    ET.fromstring(graph.to_svg())
    assert "find if result.bad" in graph.to_html()


def test_graph_of_a_board_has_sub_nodes_and_stages_in_order() -> None:
    driver = BoardDriver(max_depth=2)
    driver.busy("survey", "ada")
    driver.node("detail", parent="survey")
    graph = Graph.from_board(driver.board)
    assert {node.id: tuple(node.deps) for node in graph.nodes} == {
        "survey": ("detail",),
        "detail": (),
    }
    assert graph.without(["detail"]).plan().nodes[0].dependencies == ()
