"""The entries from a finished run: tasks, mistakes, decisions, preferences, patterns, snippets."""

import pytest

from agiraph.knowledge.learned import (
    FinishedAttempt,
    FinishedNode,
    FinishedRun,
    FinishedTurn,
    KnowledgeUpdate,
    RunDecision,
    RunInsight,
    SaidByHuman,
    alike,
    learned,
    rules_in,
)
from agiraph.knowledge.records import KnowledgeKind, KnowledgeNode, node_id, project_node_id
from agiraph.knowledge.store import KnowledgeStore

CODE = "def add(a, b):\n    return a + b\n\nprint(add(1, 2))"
RUN = FinishedRun(
    agent="shop-1", run="r1", goal="Build the shop", outcome="completed", started=100.0,
    ended=160.0, result=f"Done.\n\nThe adder:\n\n```python\n{CODE}\n```\n", project_id="shop",
    nodes=(
        FinishedNode(id="n1", name="api", role="coder", task="Write the API", summary="It serves.",
                     seconds=12.0, failures=(FinishedAttempt(reason="port 8080 is in use"),)),
        FinishedNode(id="n2", name="ui", task="Write the UI", status="failed",
                     failures=(FinishedAttempt(reason="npm is missing\nlog"),)),
    ),
    human=(
        SaidByHuman(id="q1", question="SQLite or Postgres?", text="SQLite.", at=120.0,
                    asked_by="ada"),
        SaidByHuman(id="m1", text="Thanks. Always write tests first! Can you always do it?",
                    at=130.0),
    ),
    decisions=(RunDecision(id="s1", title="Go on with the API alone", rationale="The UI failed."),),
    insights=(RunInsight(id="i1", text="The port comes from $PORT.", by="ada"),),
)  # fmt: skip


def of_kind(found: KnowledgeUpdate, kind: KnowledgeKind) -> list[KnowledgeNode]:
    return [node for node in found.nodes if node.kind == kind]


def test_run_is_a_task_of_its_project_with_its_nodes_as_parts() -> None:
    found = learned(RUN)
    run, api, ui = of_kind(found, "task")
    assert (run.title, run.data["outcome"], run.data["duration_seconds"]) == (
        "Build the shop", "completed", 60.0,
    )  # fmt: skip
    assert (api.data["outcome"], ui.data["outcome"]) == ("completed", "failed")
    edges = {(edge.source, edge.kind, edge.target) for edge in found.edges}
    assert {(run.id, "part_of", project_node_id("shop")), (api.id, "part_of", run.id)} <= edges
    assert all(node.agent == "shop-1" and node.run == "r1" for node in found.nodes)


def test_failure_is_a_mistake_with_its_correction() -> None:
    corrected, open_ = of_kind(learned(RUN), "mistake")
    assert corrected.title == "port 8080 is in use"
    assert corrected.data["correction"] == "It serves."
    assert "What made it good: It serves." in corrected.text
    assert open_.title == "npm is missing"
    assert "correction" not in open_.data
    assert open_.importance < corrected.importance


def test_the_same_failure_in_a_later_run_is_the_same_mistake() -> None:
    reason = FinishedAttempt(reason="port 9090 is in use")
    node = FinishedNode(id="n7", name="x", task="Other", summary="Fixed.", failures=(reason,))
    later = RUN.model_copy(update={"run": "r2", "nodes": (node,)})
    assert of_kind(learned(later), "mistake")[0].id == of_kind(learned(RUN), "mistake")[0].id
    elsewhere = later.model_copy(update={"project_id": "other"})
    assert of_kind(learned(elsewhere), "mistake")[0].id != of_kind(learned(RUN), "mistake")[0].id
    assert alike("No file /tmp/a1/b.txt in 3 s") == alike("no file /home/x.txt in 40 s")


def test_a_run_that_failed_is_a_mistake_itself() -> None:
    failed = RUN.model_copy(update={"outcome": "failed", "reason": "out of budget", "nodes": ()})
    assert [node.title for node in of_kind(learned(failed), "mistake")] == ["out of budget"]


def test_answers_are_decisions_and_lasting_rules_are_preferences() -> None:
    found = learned(RUN)
    decisions = {node.title: node for node in of_kind(found, "decision")}
    assert decisions.keys() == {"SQLite or Postgres?", "Go on with the API alone"}
    assert decisions["SQLite or Postgres?"].data["rationale"] == "SQLite."
    assert [node.title for node in of_kind(found, "preference")] == ["Always write tests first!"]


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        ("From now on, answer in German. Go on.", ["From now on, answer in German."]),
        ("Bitte nie Tabs verwenden", ["Bitte nie Tabs verwenden"]),
        ("Do you always do that?", []),
        ("Never.", []),
        ("The neverland file is fine as it is", []),
    ],
)
def test_rules_are_sentences_with_a_lasting_instruction(answer: str, rules: list[str]) -> None:
    assert list(rules_in(answer)) == rules


def test_code_that_was_delivered_is_kept_with_its_language() -> None:
    (snippet,) = of_kind(learned(RUN), "code_snippet")
    assert (snippet.title, snippet.data["language"]) == ("The adder", "python")
    assert CODE in snippet.text


def test_insights_are_patterns() -> None:
    assert [node.title for node in of_kind(learned(RUN), "pattern")] == [
        "The port comes from $PORT."
    ]


def test_team_run_is_a_conversation_with_one_task() -> None:
    turns = (FinishedTurn(number=1, from_role="pm", to_role="dev", message="Please build it."),)
    team = RUN.model_copy(update={"is_of_roles": True, "turns": turns})
    found = learned(team)
    (talk,) = of_kind(found, "conversation")
    assert "**pm → dev:** Please build it." in talk.text
    assert "**ada:** SQLite or Postgres?" in talk.text
    assert len(of_kind(found, "task")) == 1
    assert len(of_kind(found, "mistake")) == 2


def test_minimal_run_is_only_a_task() -> None:
    bare = FinishedRun(agent="a", run="r", goal="g", outcome="stopped", started=1.0, ended=2.0)
    assert [node.id for node in learned(bare).nodes] == [node_id("task", "a", "r")]


def test_repeated_run_changes_nothing_and_every_edge_has_its_ends(store: KnowledgeStore) -> None:
    found = learned(RUN)
    project = KnowledgeNode(id=project_node_id("shop"), kind="project", title="shop", created=1.0,
                          updated=1.0, project_id="shop")  # fmt: skip
    store.add([project])
    assert store.add(found.nodes, found.edges).edges == len(found.edges)
    again = store.add(learned(RUN).nodes, learned(RUN).edges)
    assert (again.new, again.changed, again.edges) == (0, 0, 0)


def test_a_huge_run_is_within_the_bounds_of_a_node() -> None:
    huge = RUN.model_copy(
        update={
            "goal": "g" * 100_000,
            "result": "r" * 1_000_000,
            "nodes": tuple(
                FinishedNode(id=f"n{number}", name="n", task="t" * 50_000, summary="s" * 50_000,
                             failures=(FinishedAttempt(reason="e" * 50_000),))
                for number in range(500)
            ),
        }
    )  # fmt: skip
    found = learned(huge)
    assert len(found.nodes) < 200
    for node in found.nodes:
        KnowledgeNode.model_validate(node.model_dump())
