"""The checkpoint policy of a plan with several stages counts for each stage by itself."""

import json

import pytest

from agiraph.board.plans.plan import parse_plan, plan_commands
from tests.unit.board.board_driver import BoardDriver

STAGES = [
    {"name": "Search", "roles": [{"id": name, "prompt": "p"} for name in ("ada", "bob", "cyd")]},
    {"name": "Write", "roles": [{"id": name, "prompt": "p"} for name in ("dot", "eve")]},
]


def filled(policy: str, *, same_name: bool = False) -> BoardDriver:
    """Return the board of a plan, with all possible workers at work."""
    stages = [{**stage, "name": "Work"} for stage in STAGES] if same_name else STAGES
    plan = parse_plan(json.dumps({"stages": stages, "contract": {"checkpoint_policy": policy}}))
    driver = BoardDriver()
    for command in plan_commands(plan):
        driver.do(command)
        driver.settle(max_concurrent=9)
    return driver


def complete(driver: BoardDriver, name: str) -> None:
    driver.done(name, summary=f"{name} is done")
    driver.settle(max_concurrent=9)


def fail(driver: BoardDriver, name: str) -> None:
    driver.fail(name)
    driver.settle(max_concurrent=9)


def statuses(driver: BoardDriver) -> dict[str, str]:
    return {node.name: node.status for node in driver.board.nodes.values()}


@pytest.mark.parametrize(
    ("policy", "needed"), [("any", ["bob"]), ("majority", ["bob", "cyd"])], ids=["any", "majority"]
)
@pytest.mark.parametrize("same_name", [False, True])
def test_the_next_stage_begins_without_the_stragglers(
    policy: str, needed: list[str], same_name: bool
) -> None:
    driver = filled(policy, same_name=same_name)
    for name in needed:
        assert statuses(driver)["dot"] == "pending"
        complete(driver, name)
    found = statuses(driver)
    assert found["ada"] == "cancelled"
    assert "went on without it" in (driver.at("ada").reason or "")
    assert (found["dot"], found["eve"]) == ("assigned", "assigned")


def test_policy_applies_to_the_last_stage() -> None:
    driver = filled("any")
    for name in ("ada", "dot"):
        complete(driver, name)
    assert statuses(driver) == {
        "ada": "completed",
        "bob": "cancelled",
        "cyd": "cancelled",
        "dot": "completed",
        "eve": "cancelled",
    }


def test_failure_is_tolerated_while_the_policy_can_still_be_met() -> None:
    driver = filled("majority")
    fail(driver, "ada")
    assert statuses(driver)["dot"] == "pending"
    fail(driver, "bob")
    assert statuses(driver)["dot"] == "failed"
    assert "its dependency 'ada' failed" in (driver.at("dot").reason or "")


def test_one_failure_ends_dependents_if_all_must_complete() -> None:
    driver = filled("all_must_complete")
    fail(driver, "ada")
    assert statuses(driver)["dot"] == "failed"
