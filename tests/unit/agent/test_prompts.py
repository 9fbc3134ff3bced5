"""Prompts: compiled once, before processes are forked; the text of every kind of assignment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from agiraph.agent import prompts
from agiraph.agent.records import EndedNode, NodeClosed
from agiraph.core.ids import NodeId, WorkerId
from agiraph.core.models import Assignment, StageContract, Worker, WorkNode
from agiraph.core.turns import UserTurn
from agiraph.external.agent_prompts import task_text

ASSIGNMENT = Assignment(
    node=WorkNode(id=NodeId("n"), name="sums", task="t"),
    spec="Add it up.",
    contract=StageContract(max_iterations_per_node=7, max_calls_per_node=9),
    goal="Find the cheapest.",
    stage="Research",
    stage_goal="who sells what",
    shared_keys=("prices", "sellers"),
)
ANN = Worker(id=WorkerId("ann"), name="ann")


def test_prepared_templates_are_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts.prepare()

    def compile_again(*_args: object, **_options: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Environment, "compile", compile_again)
    assert prompts.render("soul")
    assert prompts.render("rules")


def task_of_external_agent(assignment: Assignment) -> str:
    return task_text(assignment, ANN, run=Path("/run"), known="", input_dir=None)


def completed(assignment: Assignment) -> EndedNode:
    end = NodeClosed(node_id=assignment.node.id, status="completed", ts=1.0)
    return EndedNode(assignment, end)


def turn_of_single_inference(assignment: Assignment) -> str:
    return prompts.render("single_assignment", refs=(), **prompts.assignment_facts(assignment))


@pytest.mark.parametrize(
    ("shown", "limit"),
    [
        (prompts.assignment_turn, "You have 7 turns for this node."),
        (turn_of_single_inference, "You have one turn for this node."),
        (task_of_external_agent, "You have 9 model calls for this task."),
    ],
)
def test_each_assignment_names_stage_shared_values_and_limit(
    shown: Callable[[Assignment], str], limit: str
) -> None:
    text = shown(ASSIGNMENT)
    for part in ("Find the cheapest.", "Research: who sells what", "prices, sellers", limit):
        assert part in text
    bare = shown(ASSIGNMENT.model_copy(update={"stage": "", "shared_keys": ()}))
    assert "The current stage" not in bare
    assert "shared values" not in bare


def test_assignment_omits_text_shown_with_the_previous_node() -> None:
    schema = {"type": "object", "properties": {"price": {"type": "number"}}}
    node = ASSIGNMENT.node.model_copy(update={"output_schema": schema})
    update: dict[str, object] = {
        "node": node,
        "goal": "Buy a bicycle",
        "notes": "Ann's shop was cheap.",
    }
    update["stage_brief"] = "Prices are in euros."
    given = ASSIGNMENT.model_copy(update=update)
    first, again = prompts.assignment_turn(given), prompts.assignment_turn(given, completed(given))
    assert "The team's goal: Buy a bicycle" in first
    assert '"price"' in first
    assert "Ann's shop" in first
    assert "## Brief of the stage, for all its workers\n\nPrices are in euros." in first
    assert "in euros" not in again
    assert "Ann's shop" not in again
    assert "The team's goal" not in again
    assert "Your team: " in first
    assert "Your team: " not in again
    assert "JSON that fits the JSON Schema of your last node." in again
    assert '"price"' not in again
    other = ASSIGNMENT.model_copy(update={"goal": "Buy a car", "team": ("eve (writer)",)})
    assert prompts.assignment_turn(given, completed(other)) == first


@pytest.mark.parametrize(
    ("status", "reason", "notice"),
    [
        ("cancelled", "It is done already", "was cancelled: It is done already. Do not"),
        ("cancelled", "", "was cancelled. Do not"),
        ("failed", "its time was over", "failed: its time was over. Do not"),
    ],
)
def test_assignment_names_the_end_of_a_node_without_a_result(
    status: Any, reason: str, notice: str
) -> None:
    end = NodeClosed(node_id=ASSIGNMENT.node.id, status=status, reason=reason, ts=1.0)
    text = prompts.assignment_turn(ASSIGNMENT, EndedNode(ASSIGNMENT, end))
    assert text.startswith(f"[Runtime]: Your node '{ASSIGNMENT.node.name}' {notice} continue it.")
    assert f"\n\n# Assignment: {ASSIGNMENT.node.name}\n" in text


@pytest.mark.parametrize("whole", prompts.AGAIN)
def test_a_repeated_reminder_is_short(whole: str) -> None:
    assert prompts.reminder(whole, ()) == whole
    again = prompts.reminder(whole, [UserTurn(content=whole), UserTurn(content="x")])
    assert again == prompts.AGAIN[whole]
    assert len(again) < len(whole) / 2
    assert prompts.was_reminded([UserTurn(content=again)])
    assert not prompts.was_reminded([UserTurn(content=again), UserTurn(content="x")])
