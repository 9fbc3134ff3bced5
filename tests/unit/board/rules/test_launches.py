"""Launching a stage: workers and nodes at once; persistent workers, departures, refusals."""

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
from agiraph.core.specs import ContractTerms, RoleSpec, StageSpec, WorkerSpec
from tests.unit.board.board_driver import BoardDriver


def role(name: str, task: str = "x", **asked: Any) -> RoleSpec:
    return RoleSpec(name=name, task=task, **asked)


def launched(cause: str, *roles: RoleSpec, retire: tuple[str, ...] = ()) -> LaunchRoles:
    return LaunchRoles(cause, StageSpec(name=cause.capitalize(), roles=roles, retire=retire))


def desk_after_research() -> BoardDriver:
    driver = BoardDriver()
    driver.do(
        launched(
            "research",
            role("Ada", "find facts", role="analyst"),
            role("Bob", "find sums"),
        )
    )
    driver.settle()
    for name in ("ada-research", "bob-research"):
        driver.done(name, files=(f"{name}.md",))
    driver.do(Reconvene("solid"))
    return driver


def test_a_stage_has_its_workers_and_nodes_at_once() -> None:
    driver = BoardDriver()
    happened = driver.do(
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
    node, ada = driver.at("ada-research"), driver.who("Ada")
    assert (node.task, node.role, node.wanted_worker) == ("find facts", "analyst", ada.id)
    assert ada.role == "analyst"
    assert driver.board.stages[0].status == "running"
    assert driver.do(launched("research", role("Ada", "find facts"))) == []


def test_repeated_role_keeps_its_worker_and_a_dropped_role_keeps_its_outputs() -> None:
    driver = desk_after_research()
    ada = driver.who("Ada").id
    driver.do(
        launched(
            "synthesis",
            role("ada", "compare", refs={"sums": "bob-research"}),
            role("Dave", "write", dependencies=("Ada",)),
            retire=("Bob",),
        )
    )
    assert driver.at("ada-synthesis").wanted_worker == ada
    assert driver.who("Bob").status == "stopped"
    assert driver.at("bob-research").published == ("bob-research.md",)
    assert driver.at("dave-synthesis").dependencies == (driver.at("ada-synthesis").id,)
    assert [w.name for w in driver.board.team] == ["Ada", "Dave"]
    driver.settle()
    assert driver.at("ada-synthesis").status == "assigned"
    assert driver.at("dave-synthesis").status == "pending"


def test_role_may_precede_the_roles_it_needs() -> None:
    driver = BoardDriver()
    driver.do(
        launched(
            "one",
            role("Dave", "write", refs={"facts": "Ada/facts.md"}),
            role("Ada"),
        )
    )
    folder = driver.at("ada-one").folder
    assert driver.at("dave-one").refs == {"facts": f"nodes/{folder}/published/facts.md"}
    assert driver.at("dave-one").dependencies == (driver.at("ada-one").id,)


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
def test_invalid_launch_changes_nothing(command: LaunchRoles, why: str) -> None:
    driver = desk_after_research()
    before: Board = driver.board
    with pytest.raises((IllegalTransition, InvalidInput), match=why):
        driver.do(command)
    assert driver.board == before


def test_a_stage_is_launched_only_when_the_one_before_is_closed() -> None:
    driver = BoardDriver()
    driver.node("first")
    with pytest.raises(IllegalTransition, match="'Stage 1' is still open: `reconvene`"):
        driver.do(launched("next", role("Ada")))


def bounded(cause: str, most: int, **more: Any) -> LaunchRoles:
    stage = StageSpec(roles=(role("Ada"),), contract=ContractTerms(max_stages=most))
    return LaunchRoles(cause, stage, **more)


def test_the_max_stages_of_a_contract_bound_the_run() -> None:
    driver = BoardDriver()
    driver.do(bounded("one", 2))
    driver.fail("ada-stage-1")
    driver.do(Reconvene("so far"))
    driver.do(bounded("two", 9))
    driver.fail("ada-stage-2")
    driver.do(Reconvene("enough"))
    driver.refuses(launched("three", role("Ada")), r"has its 2 stages \(contract.max_stages\)")
    driver.refuses(bounded("three", 5), "has its 2 stages")


def test_a_stage_beyond_its_own_max_stages_is_refused() -> None:
    driver = desk_after_research()
    driver.refuses(bounded("two", 1), "max_stages is 1, but this is stage 2", InvalidInput)


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
    driver = desk_after_research()
    driver.refuses(launched("two", role("Ada", **asked)), kept)


def test_a_team_that_would_be_too_big_is_refused_whole() -> None:
    driver = BoardDriver(max_workers=2)
    roles = tuple(role(name) for name in ("Ada", "Bob", "Cyd"))
    with pytest.raises(Refused, match="the team has its 2 workers"):
        driver.do(launched("s", *roles))
    assert not driver.board.workers


# --- a worker that leads -------------------------------------------------------------------------

LEAD = "a/worker/ada"


def leading() -> BoardDriver:
    """A board with the leading worker ada, which has the node `app`."""
    driver = BoardDriver(max_workers=4)
    driver.do(SpawnWorker("w", WorkerSpec(name="ada", can_lead=True)))
    driver.node("app")
    driver.run("app", "ada")
    return driver


def led(call: str, *roles: RoleSpec, **stage: object) -> LaunchRoles:
    spec = StageSpec.model_validate({"name": "Build", "roles": roles, **stage})
    return LaunchRoles(f"{LEAD}#{call}", spec, parent_node="app")


def test_a_lead_opens_a_stage_below_its_own_node() -> None:
    driver = leading()
    command = led("c1", role("ben", "api"), contract={"max_iterations_per_node": 5})
    assert driver.do(command) == ["worker.spawned", "node.created"]
    assert driver.do(command) == []
    node = driver.at("ben-build")
    assert (node.parent_node, node.plan_stage) == (driver.at("app").id, "app/Build")
    assert (node.max_iterations, node.wanted_worker) == (5, driver.who("ben").id)
    assert len(driver.board.stages) == 1


def test_stage_of_a_lead_ends_early_when_its_policy_is_met() -> None:
    driver = leading()
    roles = (role("ben", "one way"), role("cyd", "another way"))
    driver.do(led("c1", *roles, contract={"checkpoint_policy": "any"}))
    driver.settle()
    driver.done("ben-build")
    driver.settle()
    assert driver.at("cyd-build").status == "cancelled"
    assert "'app/Build' went on without it" in (driver.at("cyd-build").reason or "")
    assert driver.at("app").status == "running"


def test_a_lead_opens_its_next_stage_when_the_one_before_has_ended() -> None:
    driver = leading()
    driver.do(led("c1", role("ben", "api")))
    with pytest.raises(IllegalTransition, match="'app/Build' of your node is still open"):
        driver.do(led("c2", role("ben", "tests")))
    driver.settle()
    driver.done("ben-build")
    driver.do(led("c2", role("cyd", "tests"), name=None, retire=("ben",)))
    assert driver.who("ben").status == "stopped"
    assert driver.at("cyd-stage-2").plan_stage == "app/Stage 2"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (led("c", role("ben"), retire=("eve",)), "was not hired by you"),
        (led("c", *(role(f"w{n}") for n in range(3))), "has its 4 workers"),
        (led("c", role("ada")), "would be part of a cycle"),
    ],
)
def test_a_lead_is_bound_as_the_whole_team_is(command: LaunchRoles, why: str) -> None:
    driver = leading()
    driver.worker("eve")
    driver.refuses(command, why)


def test_only_a_leading_worker_can_hire() -> None:
    driver = leading()
    driver.worker("eve")
    require_lead(driver.board, "ada")
    with pytest.raises(IllegalTransition, match="'eve' may not lead"):
        require_lead(driver.board, "eve")


def test_brief_of_a_lead_is_a_part_of_each_task_of_its_stage() -> None:
    driver = BoardDriver()
    driver.node("whole")
    stage = StageSpec(name="Parts", brief="Prices in euros.", roles=(role("Ada"), role("Ben")))
    driver.do(LaunchRoles("m1", stage, parent_node="whole"))
    tasks = [driver.at(name).task for name in ("ada-parts", "ben-parts")]
    assert all(task.endswith("## Brief of the stage\n\nPrices in euros.") for task in tasks)
    assert driver.board.stages[0].brief == ""
