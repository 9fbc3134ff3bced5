"""The checkpoint policy of a plan with several stages counts for each stage by itself."""

import json

import pytest

from agiraph.board.plans.plan import parse_plan, plan_commands
from tests.unit.board.desk import Desk

STAGES = [
    {"name": "Search", "roles": [{"id": name, "prompt": "p"} for name in ("ada", "bob", "cyd")]},
    {"name": "Write", "roles": [{"id": name, "prompt": "p"} for name in ("dot", "eve")]},
]


def filled(policy: str, *, same_name: bool = False) -> Desk:
    """Return the board of a plan, with everybody at work who can be."""
    stages = [{**stage, "name": "Work"} for stage in STAGES] if same_name else STAGES
    plan = parse_plan(json.dumps({"stages": stages, "contract": {"checkpoint_policy": policy}}))
    desk = Desk()
    for command in plan_commands(plan):
        desk.do(command)
        desk.settle(max_concurrent=9)
    return desk


def complete(desk: Desk, name: str) -> None:
    desk.done(name, summary=f"{name} is done")
    desk.settle(max_concurrent=9)


def fail(desk: Desk, name: str) -> None:
    desk.fail(name)
    desk.settle(max_concurrent=9)


def statuses(desk: Desk) -> dict[str, str]:
    return {node.name: node.status for node in desk.board.nodes.values()}


@pytest.mark.parametrize(
    ("policy", "needed"), [("any", ["bob"]), ("majority", ["bob", "cyd"])], ids=["any", "majority"]
)
@pytest.mark.parametrize("same_name", [False, True])
def test_the_next_stage_begins_without_the_stragglers(
    policy: str, needed: list[str], same_name: bool
) -> None:
    desk = filled(policy, same_name=same_name)
    for name in needed:
        assert statuses(desk)["dot"] == "pending"
        complete(desk, name)
    found = statuses(desk)
    assert found["ada"] == "cancelled"
    assert "went on without it" in (desk.at("ada").reason or "")
    assert (found["dot"], found["eve"]) == ("assigned", "assigned")


def test_the_last_stage_has_its_policy_too() -> None:
    desk = filled("any")
    for name in ("ada", "dot"):
        complete(desk, name)
    assert statuses(desk) == {
        "ada": "completed",
        "bob": "cancelled",
        "cyd": "cancelled",
        "dot": "completed",
        "eve": "cancelled",
    }


def test_a_failure_is_borne_as_long_as_enough_can_be_completed() -> None:
    desk = filled("majority")
    fail(desk, "ada")
    assert statuses(desk)["dot"] == "pending"
    fail(desk, "bob")
    assert statuses(desk)["dot"] == "failed"
    assert "its dependency 'ada' failed" in (desk.at("dot").reason or "")


def test_where_all_must_complete_one_failure_ends_what_is_behind() -> None:
    desk = filled("all_must_complete")
    fail(desk, "ada")
    assert statuses(desk)["dot"] == "failed"
