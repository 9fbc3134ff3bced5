"""Matching workers and nodes: a node's requirements, and its own bounds."""

from typing import Any

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import AssignNode, Command, CreateNode, SpawnWorker, agents_hired
from agiraph.board.rules.stages import node_contract
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.models import StageContract
from agiraph.core.specs import NodeSpec, RoleSpec, StageSpec, StageTerms, WorkerSpec
from tests.unit.board.board_driver import BoardDriver

AGENT = WorkerSpec(name="a", type="autonomous", agent_command="codex")


def spec(name: str = "build", **asked: object) -> NodeSpec:
    return NodeSpec.model_validate({"task": "Build it.", "name": name, **asked})


def test_worker_is_hired_with_the_requested_properties() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.do(CreateNode("a", spec("backend", type="autonomous", agent_command="claude-code")))
    driver.do(CreateNode("b", spec("survey", model="other/model")))
    driver.do(CreateNode("c", spec("plain")))
    driver.do(CreateNode("d", spec("sorting", mode="single_inference")))
    driver.settle()
    workers = {node.name: driver.board.workers[node.assigned_worker] for node in held(driver.board)}
    assert workers["plain"].name == "ada"
    assert workers["backend"].agent_command == "claude-code"
    assert workers["backend"].type == "autonomous"
    assert workers["survey"].model == "other/model"
    assert workers["sorting"].mode == "single_inference"
    driver.node("more", worker=workers["sorting"].name)
    assert driver.at("more").mode == "single_inference"


def held(board: Board) -> list[Any]:
    return [node for node in board.nodes.values() if node.assigned_worker]


def test_worker_without_a_model_uses_the_model_of_the_run() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.do(CreateNode("a", spec(model="c/d")))
    driver.assign("build", "ada")
    assert driver.at("build").assigned_worker == driver.who("ada").id


@pytest.mark.parametrize(
    "asked", [{"model": "x/y"}, {"agent_command": "codex"}, {"mode": "single_inference"}]
)
def test_node_is_not_assigned_to_an_unsuitable_worker(asked: dict[str, str]) -> None:
    driver = BoardDriver()
    driver.worker("ada")
    with pytest.raises(IllegalTransition, match="'ada' cannot take node 'build', which asks for"):
        driver.do(CreateNode("a", spec(worker="ada", **asked)))
    driver.do(CreateNode("a", spec(**asked)))
    driver.refuses(AssignNode("build", "ada"), "'ada' cannot take node 'build', which asks for")


def test_an_external_agent_needs_its_command() -> None:
    driver = BoardDriver()
    driver.refuses(CreateNode("a", spec(type="autonomous")), "needs an agent_command", InvalidInput)
    with pytest.raises(InvalidInput, match="harnessed node has no agent_command"):
        driver.do(CreateNode("a", spec(type="harnessed", agent_command="codex")))
    driver.do(CreateNode("a", spec(agent_command="codex")))
    assert driver.at("build").type == "autonomous"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"model": "x/y"}, "mode multi_turn, model x/y"),
        ({"mode": "single_inference"}, "mode single_inference"),
    ],
)
def test_node_without_a_suitable_worker_in_a_full_team_fails_with_the_reason(
    asked: dict[str, str], expected: str
) -> None:
    driver = BoardDriver(max_workers=1)
    driver.worker("ada")
    driver.do(CreateNode("a", spec(**asked)))
    driver.settle()
    assert driver.at("build").status == "failed"
    assert f"nobody in it has {expected}" in (driver.at("build").reason or "")


@pytest.mark.parametrize(
    ("command", "hired"),
    [
        (SpawnWorker("c", AGENT), ("codex",)),
        (SpawnWorker("c", WorkerSpec(name="a")), ()),
        (CreateNode("c", spec(agent_command="gemini")), ("gemini",)),
    ],
)
def test_external_agents_of_a_command_are_known_before_it_runs(
    command: Command, hired: tuple[str, ...]
) -> None:
    assert tuple(asked.command for asked in agents_hired(command)) == hired


def test_limits_of_a_node_override_those_of_its_stage() -> None:
    driver = BoardDriver(
        contract=StageContract(max_iterations_per_node=10, node_timeout_seconds=60)
    )
    driver.do(CreateNode("a", spec("wide", max_iterations=99, timeout_seconds=600)))
    driver.do(CreateNode("b", spec("plain")))
    wide, plain = (node_contract(driver.board, driver.at(name)) for name in ("wide", "plain"))
    assert (wide.max_iterations_per_node, wide.max_calls_per_node) == (99, 99)
    assert wide.node_timeout_seconds == 600
    assert plain == driver.board.stages[0].contract


def test_a_sub_node_cannot_widen_the_bounds_of_its_stage() -> None:
    driver = BoardDriver(
        contract=StageContract(max_iterations_per_node=10, node_timeout_seconds=60)
    )
    driver.node("above")
    own = {"max_iterations": 99, "timeout_seconds": 30}
    driver.do(CreateNode("b", spec("below", **own), parent_node="above"))
    below = node_contract(driver.board, driver.at("below"))
    assert (below.max_iterations_per_node, below.node_timeout_seconds) == (10, 30)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["a b"], "'a b' cannot be a label"),
        (["x" * 33], "cannot be a label"),
        ([f"l{n}" for n in range(9)], "may have 8 labels, not 9"),
    ],
)
def test_labels_are_few_and_short(labels: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        spec(labels=labels)


def test_labels_of_a_node_are_unique() -> None:
    driver = BoardDriver()
    driver.do(CreateNode("a", spec(labels='["backend", "p1", "backend"]')))
    assert driver.at("build").labels == ("backend", "p1")


def test_role_splits_its_fields_between_worker_and_node() -> None:
    role = RoleSpec(name="Ada", task="x", labels=("urgent",), tools=("bash",), can_lead=True)
    assert role.shared_with(WorkerSpec)["can_lead"]
    assert role.shared_with(NodeSpec)["labels"] == ("urgent",)
    assert StageSpec(roles=(role,)).terms == StageTerms()
