"""A collaboration plan in a file becomes named workers, and stages that need one another."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.coordinator.board_service import BoardService
from actors.coordinator.runs.start import fill_board, has_unopened_stage, plan_notice
from agiraph.board.commands import CancelNode, FailNode, Reconvene
from agiraph.board.plans.export import plan_of_board
from agiraph.board.plans.plan import parse_plan, plan_commands
from agiraph.core.errors import IllegalTransition, InvalidInput
from tests.unit.board.board_driver import BoardDriver

SEED: dict[str, Any] = {
    "problem_summary": "Analyze competitive landscape of AI chip companies",
    "stages": [
        {
            "name": "Research",
            "roles": [
                {
                    "id": "alice",
                    "name": "Alice",
                    "title": "Market Analyst",
                    "node_type": "api",
                    "model": "anthropic/claude-sonnet-4-5",
                    "prompt": "You are Alice, a market analyst.",
                    "workspace_reads": ["_plan.md"],
                    "workspace_writes": ["alice/"],
                },
                {
                    "id": "bob",
                    "name": "Bob",
                    "title": "Technical Analyst",
                    "node_type": "agentic",
                    "agent": "claude-code",
                    "prompt": "You are Bob, a technical analyst.",
                },
            ],
        },
        {"name": "Report", "roles": [{"id": "alice", "name": "Alice", "prompt": "Write it up."}]},
    ],
    "contract": {"max_stages": 3, "checkpoint_policy": "all_must_checkpoint"},
}


def changed(**changes: Any) -> str:
    return json.dumps({**SEED, **changes})


def role(**changes: Any) -> str:
    return changed(
        stages=[{"roles": [{"id": "a", "prompt": "p"}, {"id": "b", "prompt": "p"} | changes]}]
    )


def test_roles_become_workers_and_nodes() -> None:
    plan = parse_plan(json.dumps(SEED))
    assert plan.goal == SEED["problem_summary"]
    assert plan.contract.checkpoint_policy == "all_must_complete"
    assert [(worker.name, worker.type) for worker in plan.workers] == [
        ("Alice", "harnessed"),
        ("Bob", "autonomous"),
    ]
    assert [(node.name, node.stage) for node in plan.nodes] == [
        ("alice", "Research"),
        ("bob", "Research"),
        ("alice-2", "Report"),
    ]


def test_a_later_stage_needs_the_one_before() -> None:
    driver = BoardDriver()
    driver.fill(json.dumps(SEED))
    needed = {driver.at("alice").id, driver.at("bob").id}
    assert set(driver.at("alice-2").dependencies) == needed
    assert driver.at("alice-2").wanted_worker == driver.at("alice").wanted_worker
    assert driver.who("Bob").agent_command == "claude-code"
    assert driver.who("Alice").model == "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize(
    "contract",
    [
        {},
        {"max_stages": 3, "checkpoint_policy": "majority", "timeout_seconds": 60},
        {"coordinator_reconvenes": True, "max_stages": 4, "max_iterations_per_node": 9},
        {"coordinator_reconvenes": False},
    ],
)
def test_a_plan_that_was_followed_is_the_same_plan(contract: dict[str, Any]) -> None:
    asked = changed(contract=contract)
    plan = parse_plan(asked)
    facts = {"max_stages": plan.max_stages, "may_reconvene": plan.may_reconvene}
    driver = BoardDriver(**facts, goal=SEED["problem_summary"])
    assert filled(driver, asked) is None
    if plan.is_reconvened:
        for node, worker in (("alice", "Alice"), ("bob", "Bob")):
            driver.run(node, worker)
            driver.done(node)
        driver.do(Reconvene("all is there", "r1"))
        assert filled(driver, asked) is None
    exported = plan_of_board(driver.board)
    assert parse_plan(json.dumps(exported)) == plan
    assert exported["stages"][0]["roles"][1] == {
        "id": "bob",
        "prompt": "You are Bob, a technical analyst.",
        "name": "Bob",
        "title": "Technical Analyst",
        "node_type": "autonomous",
        "agent": "claude-code",
    }


def test_contract_may_relax_the_checkpoint_policy() -> None:
    plan = parse_plan(changed(contract={"checkpoint_policy": "majority", "timeout_seconds": 5}))
    assert (plan.contract.checkpoint_policy, plan.contract.timeout_seconds) == ("majority", 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            role(id="a"),
            r"p:1: stages\[0\].roles\[1\].id: 'a' is already the id of stages\[0\]",
        ),
        (role(node_type="robot"), r"\.node_type: must be 'harnessed' or 'autonomous'"),
        (role(node_type="agentic"), r"stages\[0\].roles\[1\].agent: is missing"),
        (role(name="human"), r"stages\[0\].roles\[1\]: the worker name 'human' is reserved"),
        (role(brief="x"), r"\.brief: unknown key \(possible: id, prompt, task, name, title"),
        (changed(stages=[{"roles": []}]), r"stages\[0\].roles: must have at least 1 entry"),
        (changed(stages=[{}]), r"stages\[0\].roles: is missing \(possible here: name, roles\)"),
        (
            changed(contract={"checkpoint_policy": "few"}),
            "contract.checkpoint_policy: must be",
        ),
        (
            changed(extra=1),
            r"extra: unknown key \(possible: problem_summary, goal, stages, contract",
        ),
    ],
)
def test_error_names_its_place(text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        parse_plan(text, "p")


def test_one_worker_has_one_model() -> None:
    text = changed(
        stages=[
            {"roles": [{"id": "a", "name": "Ada", "prompt": "p", "model": "x/y"}]},
            {"roles": [{"id": "a", "name": "ada", "prompt": "p", "model": "x/z"}]},
        ]
    )
    with pytest.raises(InvalidInput, match=r"stages\[1\].roles\[0\]: worker 'Ada' has model 'x/y'"):
        parse_plan(text)


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_plan(changed(extra=1, contract={"max_stages": 0}), "p")
    assert len(str(caught.value).splitlines()) == 2


def started(text: str) -> BoardDriver:
    """A board with the nodes of a plan, and its terms for further stages."""
    plan = parse_plan(text)
    driver = BoardDriver(max_stages=plan.max_stages, may_reconvene=plan.may_reconvene)
    for command in plan_commands(plan):
        driver.do(command)
    for node in list(driver.board.nodes.values()):
        driver.do(CancelNode(node.id))
    return driver


def test_a_plan_bounds_the_stages_of_its_run() -> None:
    driver = started(changed(contract={"max_stages": 3}))
    assert len(SEED["stages"]) == 2
    for number in (1, 2):
        driver.do(Reconvene("so far", f"r{number}"))
        if number == 1:
            driver.node("extra")
            driver.do(CancelNode("extra"))
    with pytest.raises(IllegalTransition, match=r"has its 2 stages \(contract.max_stages"):
        driver.node("fourth")


def test_plan_with_more_stages_than_its_limit_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"max_stages: is 1, and the plan has 2 stages"):
        parse_plan(changed(contract={"max_stages": 1}))


def test_plan_without_reconvening_refuses_a_reconvene() -> None:
    driver = started(changed(contract={"coordinator_reconvenes": False}))
    driver.refuses(Reconvene("so far"), r"coordinator_reconvenes.*`finish`")


def test_node_options_of_a_role_are_on_the_board() -> None:
    asked = {"labels": ["market"], "max_iterations": 5, "timeout_seconds": 60}
    driver = BoardDriver()
    text = json.dumps(
        {"stages": [{"roles": [{"id": "a", "prompt": "p", "can_lead": True, **asked}]}]}
    )
    driver.fill(text)
    node = driver.at("a")
    assert (node.labels, node.max_iterations, node.timeout_seconds) == (("market",), 5, 60)
    assert driver.who("a").can_lead


def test_contract_of_a_plan_applies_to_the_stage_it_fills() -> None:
    contract = {"max_iterations_per_node": 7, "timeout_seconds": 60, "checkpoint_policy": "any"}
    whole = {**SEED, "contract": contract}
    alone = {**whole, "stages": SEED["stages"][1:]}
    for plan, policy in ((whole, "all_must_complete"), (alone, "any")):
        driver = BoardDriver()
        for command in plan_commands(parse_plan(json.dumps(plan))):
            driver.do(command)
            assert driver.do(command) == []
        kept = driver.board.stages[0].contract
        assert (kept.max_iterations_per_node, kept.timeout_seconds) == (7, 60)
        assert kept.checkpoint_policy == policy


RECONVENED = changed(contract={"coordinator_reconvenes": True, "timeout_seconds": 60})


def filled(driver: BoardDriver, plan: str = RECONVENED) -> str | None:
    """Fill a board as its coordinator does: at the start, and after each stage that it closed."""
    service = SimpleNamespace(
        board=driver.board, execute=lambda *commands: [driver.do(one) for one in commands]
    )
    return fill_board(cast(BoardService, service), plan)


def test_a_plan_that_is_reconvened_opens_a_stage_once_the_one_before_is_closed() -> None:
    driver = BoardDriver()
    assert filled(driver) is None
    assert [stage.name for stage in driver.board.stages] == ["Research"]
    assert [node.name for node in driver.board.nodes.values()] == ["alice", "bob"]
    assert has_unopened_stage(driver.board, RECONVENED)
    for name in ("alice", "bob"):
        driver.run(name, name)
        driver.done(name)
        assert filled(driver) is None
    assert len(driver.board.nodes) == 2, "the coordinator has not had its turn"
    driver.do(Reconvene("both know enough", "r1"))
    for _ in range(2):  # the second time as after a crash
        assert filled(driver) is None
    assert [stage.name for stage in driver.board.stages] == ["Research", "Report"]
    assert {stage.contract.timeout_seconds for stage in driver.board.stages} == {60}
    assert driver.board.is_ready(driver.at("alice-2"))
    assert not has_unopened_stage(driver.board, RECONVENED)


def test_stage_with_failed_needs_is_left_to_the_coordinator() -> None:
    driver = BoardDriver()
    filled(driver)
    driver.do(FailNode("alice", None, "no source"))
    driver.do(CancelNode("bob"))
    driver.do(Reconvene("nothing", "r1"))
    assert "node 'alice' is failed" in (filled(driver) or "")
    driver.node("other-way")
    assert [*driver.board.stages[1].nodes] == [driver.at("other-way").id]


@pytest.mark.parametrize(
    ("given", "waits"), [({"coordinator_reconvenes": True}, True), ({}, False)]
)
def test_coordinator_is_notified_how_its_plan_continues(given: Any, waits: bool) -> None:
    assert ("`reconvene`" in plan_notice(changed(contract=given), "dynamic")) is waits
    assert plan_notice(None, "dynamic") == ""


def test_a_plan_that_is_reconvened_counts_each_of_its_stages() -> None:
    plan = parse_plan(changed(contract={"max_stages": 2, "coordinator_reconvenes": True}))
    assert plan.max_stages == 2
