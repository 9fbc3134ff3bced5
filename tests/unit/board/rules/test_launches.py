"""Launching a stage: its workers and nodes in one piece; who persists, who goes, what cannot be."""

from typing import Any

import pytest

from agiraph.board.board import Board
from agiraph.board.commands import (
    LaunchRoles,
    Reconvene,
    SpawnWorker,
)
from agiraph.board.rules.workers import require_lead
from agiraph.core.errors import IllegalTransition, InvalidInput, Refused
from agiraph.core.specs import ContractTerms, RoleSpec, StageSpec, StageTerms, WorkerSpec
from tests.unit.board.desk import Desk


def role(name: str, task: str = "x", **asked: Any) -> RoleSpec:
    return RoleSpec(name=name, task=task, **asked)


def launched(cause: str, *roles: RoleSpec, retire: tuple[str, ...] = ()) -> LaunchRoles:
    return LaunchRoles(cause, StageSpec(name=cause.capitalize(), roles=roles, retire=retire))


def desk_after_research() -> Desk:
    desk = Desk()
    desk.do(
        launched(
            "research",
            role("Ada", "find facts", role="analyst"),
            role("Bob", "find sums"),
        )
    )
    desk.settle()
    for name in ("ada-research", "bob-research"):
        desk.done(name, files=(f"{name}.md",))
    desk.do(Reconvene("solid"))
    return desk


def test_a_stage_has_its_workers_and_nodes_at_once() -> None:
    desk = Desk()
    happened = desk.do(
        launched(
            "research",
            role("Ada", "find facts", role="analyst"),
            role("Bob"),
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
    assert desk.do(launched("research", role("Ada", "find facts"))) == []


def test_who_is_named_again_persists_and_who_is_let_go_leaves_the_outputs() -> None:
    desk = desk_after_research()
    ada = desk.who("Ada").id
    desk.do(
        launched(
            "synthesis",
            role("ada", "compare", refs={"sums": "bob-research"}),
            role("Dave", "write", dependencies=("Ada",)),
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
            role("Dave", "write", refs={"facts": "Ada/facts.md"}),
            role("Ada"),
        )
    )
    folder = desk.at("ada-one").folder
    assert desk.at("dave-one").refs == {"facts": f"nodes/{folder}/published/facts.md"}
    assert desk.at("dave-one").dependencies == (desk.at("ada-one").id,)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            launched("s", role("Eve"), role("eve", "y")),
            "stands twice",
        ),
        (launched("s", role("Eve", " ")), "needs a task"),
        (
            launched("s", role("Eve"), role("human", "y")),
            "reserved",
        ),
        (
            launched("s", role("Eve", refs={"a": "nobody"})),
            "unknown node 'nobody'",
        ),
        (
            launched("s", role("Eve"), retire=("nobody",)),
            "unknown worker 'nobody'",
        ),
        (launched("s", role("Ada", model="other/model")), "keeps its model"),
        (launched("s", role("Ada", mode="single_inference")), "keeps its mode"),
        (
            launched(
                "s",
                role("Eve", dependencies=("Fay",)),
                role("Fay", refs={"e": "eve"}),
            ),
            "in a cycle",
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
        desk.do(launched("next", role("Ada")))


def bounded(cause: str, most: int, **more: Any) -> LaunchRoles:
    stage = StageSpec(roles=(role("Ada"),), contract=ContractTerms(max_stages=most))
    return LaunchRoles(cause, stage, **more)


def test_the_max_stages_of_a_contract_bound_the_run() -> None:
    desk = Desk()
    desk.do(bounded("one", 2))
    desk.fail("ada-stage-1")
    desk.do(Reconvene("so far", terms=StageTerms(max_stages=9)))
    desk.do(launched("two", role("Ada")))
    desk.fail("ada-two")
    desk.do(Reconvene("enough"))
    desk.refuses(launched("three", role("Ada")), r"has its 2 stages \(contract.max_stages\)")
    desk.refuses(bounded("three", 5), "has its 2 stages")


def test_a_stage_beyond_its_own_max_stages_is_refused() -> None:
    desk = desk_after_research()
    desk.refuses(bounded("two", 1), "max_stages is 1, but this is stage 2", InvalidInput)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"type": "autonomous", "agent_command": "claude"}, "keeps its type"),
        ({"memory": "Be brief"}, "keeps its memory"),
        ({"can_lead": True}, "keeps its can_lead"),
        ({"host": "far"}, "keeps its host"),
    ],
)
def test_a_role_cannot_change_a_worker_of_the_team(asked: dict[str, Any], kept: str) -> None:
    desk = desk_after_research()
    desk.refuses(launched("two", role("Ada", **asked)), kept)


def test_a_team_that_would_be_too_big_is_refused_whole() -> None:
    desk = Desk(max_workers=2)
    roles = tuple(role(name) for name in ("Ada", "Bob", "Cyd"))
    with pytest.raises(Refused, match="the team has its 2 workers"):
        desk.do(launched("s", *roles))
    assert not desk.board.workers


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
    command = led("c1", role("ben", "api"), contract={"max_iterations_per_node": 5})
    assert desk.do(command) == ["worker.spawned", "node.created"]
    assert desk.do(command) == []
    node = desk.at("ben-build")
    assert (node.parent_node, node.plan_stage) == (desk.at("app").id, "app/Build")
    assert (node.max_iterations, node.wanted_worker) == (5, desk.who("ben").id)
    assert len(desk.board.stages) == 1


def test_a_leads_stage_goes_on_when_enough_of_it_is_completed() -> None:
    desk = leading()
    roles = (role("ben", "one way"), role("cyd", "another way"))
    desk.do(led("c1", *roles, contract={"checkpoint_policy": "any"}))
    desk.settle()
    desk.done("ben-build")
    desk.settle()
    assert desk.at("cyd-build").status == "cancelled"
    assert "'app/Build' went on without it" in (desk.at("cyd-build").reason or "")
    assert desk.at("app").status == "running"


def test_a_lead_opens_its_next_stage_when_the_one_before_has_ended() -> None:
    desk = leading()
    desk.do(led("c1", role("ben", "api")))
    with pytest.raises(IllegalTransition, match="'app/Build' of your node is still open"):
        desk.do(led("c2", role("ben", "tests")))
    desk.settle()
    desk.done("ben-build")
    desk.do(led("c2", role("cyd", "tests"), name=None, retire=("ben",)))
    assert desk.who("ben").status == "stopped"
    assert desk.at("cyd-stage-2").plan_stage == "app/Stage 2"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (led("c", role("ben"), retire=("eve",)), "was not hired by you"),
        (led("c", *(role(f"w{n}") for n in range(3))), "has its 4 workers"),
        (led("c", role("ada")), "would be part of a cycle"),
    ],
)
def test_a_lead_is_bound_as_the_whole_team_is(command: LaunchRoles, why: str) -> None:
    desk = leading()
    desk.worker("eve")
    desk.refuses(command, why)


def test_only_a_worker_that_may_lead_can_hire() -> None:
    desk = leading()
    desk.worker("eve")
    require_lead(desk.board, "ada")
    with pytest.raises(IllegalTransition, match="'eve' may not lead"):
        require_lead(desk.board, "eve")
