"""The tools of stages: calls as models write them, and the resulting requests to the team."""

import asyncio
import json
from pathlib import Path
from typing import Any

from agiraph.core.specs import ContractTerms, RoleSpec, StageSpec
from tests.unit.tools.entity_tools import EntityTools

STAGE = {
    "name": "Research",
    "roles": [
        {
            "id": "alice",
            "name": "Alice",
            "title": "Market Analyst",
            "node_type": "api",
            "model": "a/b",
            "prompt": "Research the market.",
            "workspace_reads": ["_plan.md"],
            "workspace_writes": ["alice/"],
        },
        {"id": "bob", "prompt": "Sort it.", "mode": "single_inference", "refs": {"in": "Alice"}},
    ],
    "contract": {"checkpoint_policy": "all_must_checkpoint", "timeout_seconds": 60},
    "retire": "Dave",
}


def launch(tmp_path: Path, stage: object) -> tuple[str, list[tuple[Any, ...]]]:
    entity = EntityTools(tmp_path, kind="coordinator")
    turn = asyncio.run(entity.call("launch_roles", stage=stage))
    return turn.content, entity.team.asked


def test_stage_of_a_collaboration_plan_is_accepted_as_written(tmp_path: Path) -> None:
    content, asked = launch(tmp_path, STAGE)
    contract = ContractTerms(checkpoint_policy="all_must_complete", timeout_seconds=60)
    alice = RoleSpec(
        name="Alice",
        task="Research the market.",
        role="Market Analyst",
        model="a/b",
        type="harnessed",
    )
    bob = RoleSpec(name="bob", task="Sort it.", mode="single_inference", refs={"in": "Alice"})
    stage = StageSpec(name="Research", roles=(alice, bob), contract=contract, retire=("Dave",))
    assert asked == [("launch_roles", "call-1", stage)]
    assert json.loads(content) == {"stage": "Research"}


def test_stage_may_be_json_text(tmp_path: Path) -> None:
    assert launch(tmp_path / "a", json.dumps(STAGE))[1] == launch(tmp_path / "b", STAGE)[1]


def test_error_in_a_stage_names_its_place(tmp_path: Path) -> None:
    role = {"name": "Eve", "prompt": "x", "colour": "red"}
    wrong = {"roles": [role], "contract": {"checkpoint_policy": "most"}}
    content, asked = launch(tmp_path, wrong)
    assert "stage.roles.0.colour" in content
    assert "stage.contract.checkpoint_policy" in content
    assert "'all_must_complete', 'majority' or 'any'" in content
    assert asked == []


def test_unknown_fields_are_refused_with_the_nearest_one(tmp_path: Path) -> None:
    roles = [{"name": "Eve", "prompt": "x", "max_iteration": 3}]
    wrong = {"roles": roles, "contract": {"max_stage": 3, "time_limit": 9}}
    content, asked = launch(tmp_path, wrong)
    assert "unknown field 'max_stage', did you mean 'max_stages'?" in content
    assert "stage.contract.time_limit: unknown field 'time_limit' (known: check" in content
    assert "unknown field 'max_iteration', did you mean 'max_iterations'?" in content
    assert asked == []


def test_contract_accepts_its_documented_names(tmp_path: Path) -> None:
    stage = {"roles": [{"name": "Eve", "prompt": "x", "timeout": 5, "deps": ["a"]}]}
    _, asked = launch(tmp_path, {**stage, "contract": {"max_stages": 3, "timeout": 60}})
    [(_, _, spec)] = asked
    assert spec.contract == ContractTerms(max_stages=3, timeout_seconds=60)
    assert (spec.roles[0].timeout_seconds, spec.roles[0].dependencies) == (5, ("a",))


async def test_only_the_coordinator_sets_the_terms_of_a_stage(tmp_path: Path) -> None:
    stage = {"name": "Race", "checkpoint_policy": "any"}
    lead, worker = EntityTools(tmp_path / "lead", kind="coordinator"), EntityTools(tmp_path)
    await lead.call("create_work_node", task="run", stage=stage)
    [(_, _, node, terms)] = lead.team.asked
    assert (node.task, terms.name, terms.checkpoint_policy) == ("run", "Race", "any")
    refused = await worker.call("create_work_node", task="run", stage=stage)
    assert refused.is_error
    assert worker.team.asked == []
