"""Launching a stage: its workers and nodes in one piece; who persists, who goes, what cannot be."""

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import (
    CompleteNode,
    CreateNode,
    LaunchRoles,
    Reconvene,
    SpawnWorker,
)
from agiraph.core.errors import IllegalTransition, InvalidInput, Refused
from agiraph.core.specs import NodeSpec, RoleSpec, StageSpec, WorkerSpec
from tests.unit.board.desk import Desk


def launched(cause: str, *roles: RoleSpec, retire: tuple[str, ...] = ()) -> LaunchRoles:
    return LaunchRoles(cause, StageSpec(name=cause.capitalize(), roles=roles, retire=retire))


def desk_after_research() -> Desk:
    desk = Desk()
    desk.do(
        launched(
            "research",
            RoleSpec(name="Ada", task="find facts", role="analyst"),
            RoleSpec(name="Bob", task="find sums"),
        )
    )
    desk.settle()
    for name in ("ada-research", "bob-research"):
        desk.do(_complete(name))
    desk.do(Reconvene("solid"))
    return desk


def _complete(node: str) -> CompleteNode:
    return CompleteNode(node, 1, "done", (f"{node}.md",))


def test_a_stage_has_its_workers_and_nodes_at_once() -> None:
    desk = Desk()
    happened = desk.do(
        launched(
            "research",
            RoleSpec(name="Ada", task="find facts", role="analyst"),
            RoleSpec(name="Bob", task="x"),
        )
    )
    assert happened == [
        "stage.started",
        "worker.spawned",
        "worker.spawned",
        "node.created",
        "node.created",
        "stage.launched",
    ]
    node, ada = desk.at("ada-research"), desk.who("Ada")
    assert (node.task, node.role, node.wanted_worker) == ("find facts", "analyst", ada.id)
    assert ada.role == "analyst"
    assert desk.board.stages[0].status == "running"
    assert desk.do(launched("research", RoleSpec(name="Ada", task="find facts"))) == []


def test_who_is_named_again_persists_and_who_is_let_go_leaves_the_outputs() -> None:
    desk = desk_after_research()
    ada = desk.who("Ada").id
    desk.do(
        launched(
            "synthesis",
            RoleSpec(name="ada", task="compare", refs={"sums": "bob-research"}),
            RoleSpec(name="Dave", task="write", dependencies=("Ada",)),
            retire=("Bob",),
        )
    )
    assert desk.at("ada-synthesis").wanted_worker == ada
    assert desk.who("Bob").status == "stopped"
    assert desk.at("bob-research").published == ("bob-research.md",)
    assert desk.at("dave-synthesis").dependencies == (desk.at("ada-synthesis").id,)
    assert [w.name for w in desk.board.team] == ["Ada", "Dave"]
    desk.settle()
    assert desk.at("ada-synthesis").status == "assigned"
    assert desk.at("dave-synthesis").status == "pending"


def test_roles_may_stand_before_those_they_need() -> None:
    desk = Desk()
    desk.do(
        launched(
            "one",
            RoleSpec(name="Dave", task="write", refs={"facts": "Ada/facts.md"}),
            RoleSpec(name="Ada", task="x"),
        )
    )
    folder = desk.at("ada-one").folder
    assert desk.at("dave-one").refs == {"facts": f"nodes/{folder}/published/facts.md"}
    assert desk.at("dave-one").dependencies == (desk.at("ada-one").id,)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            launched("s", RoleSpec(name="Eve", task="x"), RoleSpec(name="eve", task="y")),
            "stands twice",
        ),
        (launched("s", RoleSpec(name="Eve", task=" ")), "needs a task"),
        (
            launched("s", RoleSpec(name="Eve", task="x"), RoleSpec(name="human", task="y")),
            "reserved",
        ),
        (
            launched("s", RoleSpec(name="Eve", task="x", refs={"a": "nobody"})),
            "unknown node 'nobody'",
        ),
        (
            launched("s", RoleSpec(name="Eve", task="x"), retire=("nobody",)),
            "unknown worker 'nobody'",
        ),
        (launched("s", RoleSpec(name="Ada", task="x", model="other/model")), "keeps its model"),
        (launched("s", RoleSpec(name="Ada", task="x", mode="single_inference")), "keeps its mode"),
        (
            launched(
                "s",
                RoleSpec(name="Eve", task="x", dependencies=("Fay",)),
                RoleSpec(name="Fay", task="x", refs={"e": "eve"}),
            ),
            "in a ring",
        ),
    ],
)
def test_what_cannot_be_changes_nothing(command: LaunchRoles, why: str) -> None:
    desk = desk_after_research()
    before: Board = desk.board
    with pytest.raises((IllegalTransition, InvalidInput), match=why):
        desk.do(command)
    assert desk.board == before


def test_a_stage_is_launched_only_when_the_one_before_is_closed() -> None:
    desk = Desk()
    desk.node("first")
    with pytest.raises(IllegalTransition, match="'Stage 1' is still open: `reconvene`"):
        desk.do(launched("next", RoleSpec(name="Ada", task="x")))


def test_a_team_that_would_be_too_big_is_refused_whole() -> None:
    desk = Desk(max_workers=2)
    roles = tuple(RoleSpec(name=name, task="x") for name in ("Ada", "Bob", "Cyd"))
    with pytest.raises(Refused, match="the team has its 2 workers"):
        desk.do(launched("s", *roles))
    assert not desk.board.workers


def test_a_node_goes_only_to_who_works_its_way() -> None:
    desk = Desk()
    desk.do(SpawnWorker("w", WorkerSpec(name="hand", mode="single_inference")))
    desk.worker("ada")
    desk.do(CreateNode("n", NodeSpec(task="sort this", name="sorting", mode="single_inference")))
    desk.do(CreateNode("m", NodeSpec(task="research", name="research")))
    desk.settle()
    assert desk.at("sorting").assigned_worker == desk.who("hand").id
    assert desk.at("research").assigned_worker == desk.who("ada").id
    desk.do(CreateNode("o", NodeSpec(task="more", name="more", worker="hand")))
    assert desk.at("more").mode == "single_inference"
    with pytest.raises(IllegalTransition, match="cannot take a multi_turn node"):
        desk.do(CreateNode("p", NodeSpec(task="x", name="x", worker="hand", mode="multi_turn")))


def test_a_single_inference_node_hires_a_hand_of_its_own() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.do(CreateNode("n", NodeSpec(task="sort this", name="sorting", mode="single_inference")))
    desk.settle()
    (hand,) = [w for w in desk.board.team if w.name != "ada"]
    assert (hand.mode, desk.at("sorting").assigned_worker) == ("single_inference", hand.id)


def test_a_node_that_nobody_in_a_full_team_can_do_fails_and_says_why() -> None:
    desk = Desk(max_workers=1)
    desk.worker("ada")
    desk.do(CreateNode("n", NodeSpec(task="sort this", name="sorting", mode="single_inference")))
    desk.settle()
    assert desk.at("sorting").status == "failed"
    assert "nobody in it works by single_inference" in (desk.at("sorting").reason or "")
