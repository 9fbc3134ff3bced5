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
from agiraph.board.worker_rules import require_lead
from agiraph.core.errors import IllegalTransition, InvalidInput, Refused
from agiraph.core.models import NodeResult
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
    return CompleteNode(node, 1, NodeResult(summary="done", files=(f"{node}.md",)))


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
    with pytest.raises(IllegalTransition, match="cannot take node"):
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
    assert "nobody in it has mode single_inference" in (desk.at("sorting").reason or "")


# --- a worker that leads -------------------------------------------------------------------------

LEAD = "a/worker/ada"


def leading() -> Desk:
    """A desk whose worker ada leads, and holds the node `app`."""
    desk = Desk(max_workers=4)
    desk.do(SpawnWorker("w", WorkerSpec(name="ada", can_lead=True)))
    desk.node("app")
    desk.run("app", "ada")
    return desk


def led(call: str, *roles: RoleSpec, **stage: object) -> LaunchRoles:
    spec = StageSpec.model_validate({"name": "Build", "roles": roles, **stage})
    return LaunchRoles(f"{LEAD}#{call}", spec, parent_node="app")


def test_a_lead_opens_a_stage_below_its_own_node() -> None:
    desk = leading()
    command = led("c1", RoleSpec(name="ben", task="api"), contract={"max_iterations_per_node": 5})
    assert desk.do(command) == ["worker.spawned", "node.created"]
    assert desk.do(command) == []
    node = desk.at("ben-build")
    assert (node.parent_node, node.cohort) == (desk.at("app").id, "app/Build")
    assert (node.max_iterations, node.wanted_worker) == (5, desk.who("ben").id)
    assert len(desk.board.stages) == 1


def test_a_leads_stage_goes_on_when_enough_of_it_is_completed() -> None:
    desk = leading()
    roles = (RoleSpec(name="ben", task="one way"), RoleSpec(name="cyd", task="another way"))
    desk.do(led("c1", *roles, contract={"checkpoint_policy": "any"}))
    desk.settle()
    desk.do(CompleteNode("ben-build", 1, NodeResult(summary="done")))
    desk.settle()
    assert desk.at("cyd-build").status == "cancelled"
    assert "'app/Build' went on without it" in (desk.at("cyd-build").reason or "")
    assert desk.at("app").status == "running"


def test_a_lead_opens_its_next_stage_when_the_one_before_has_ended() -> None:
    desk = leading()
    desk.do(led("c1", RoleSpec(name="ben", task="api")))
    with pytest.raises(IllegalTransition, match="'app/Build' of your node is still open"):
        desk.do(led("c2", RoleSpec(name="ben", task="tests")))
    desk.settle()
    desk.do(CompleteNode("ben-build", 1, NodeResult(summary="done")))
    desk.do(led("c2", RoleSpec(name="cyd", task="tests"), name=None, retire=("ben",)))
    assert desk.who("ben").status == "stopped"
    assert desk.at("cyd-stage-2").cohort == "app/Stage 2"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (led("c", RoleSpec(name="ben", task="x"), retire=("eve",)), "was not hired by you"),
        (led("c", *(RoleSpec(name=f"w{n}", task="x") for n in range(3))), "has its 4 workers"),
        (led("c", RoleSpec(name="ada", task="x")), "would be part of a cycle"),
    ],
)
def test_a_lead_is_bound_as_the_whole_team_is(command: LaunchRoles, why: str) -> None:
    desk = leading()
    desk.worker("eve")
    with pytest.raises(IllegalTransition, match=why):
        desk.do(command)


def test_only_a_worker_that_may_lead_can_hire() -> None:
    desk = leading()
    desk.worker("eve")
    require_lead(desk.board, "ada")
    with pytest.raises(IllegalTransition, match="'eve' may not lead"):
        require_lead(desk.board, "eve")
