"""A rule about a tool is asked about each call that has the tool's effect."""

import json
from typing import Any

import pytest

from agiraph.tools.approvals.equivalents import EQUIVALENTS
from agiraph.tools.approvals.policy import (
    ActingEntity,
    ApprovalPolicy,
    ApprovalRule,
    actions_of_call,
)
from agiraph.tools.table import tool_names

ADA = ActingEntity("ada")
PLAN = {"key": "plan", "item": 1}
SENDING = {"type": "send_message", "payload": {"to": "human", "content": "hi"}}
STAGE = {"roles": [{"name": "eve", "prompt": "deploy"}], "retire": ["bob"]}
NODE = {"task": "build", "name": "n", "worker": "bob"}


def judged(rule: ApprovalRule, tool: str, arguments: dict[str, Any]) -> str:
    return ApprovalPolicy((rule,)).judge_all(actions_of_call(tool, arguments), ADA).action


@pytest.mark.parametrize("action", ["ask", "deny"])
@pytest.mark.parametrize(
    ("asked_about", "pattern", "tool", "arguments"),
    [
        ("write_context", "plan", "append_context", PLAN),
        ("send_message", "human", "schedule", {"type": "once", "config": {}, "action": SENDING}),
        ("send_message", "human", "schedule", {"action": json.dumps(SENDING)}),
        ("send_message", "human", "schedule", {"action": "  " + json.dumps(SENDING)}),
        ("send_message", "ada", "schedule", {
            "action": {"type": "send_message", "payload": {"to": " @Ada", "content": "x"}}}),
        ("spawn_worker", "eve", "launch_roles", {"stage": STAGE}),
        ("spawn_worker", "eve", "launch_roles", {"stage": json.dumps(STAGE)}),
        ("create_work_node", "deploy", "launch_roles", {"stage": STAGE}),
        ("retire_worker", "*bob*", "launch_roles", {"stage": STAGE}),
        ("retire_worker", "*bob*", "launch_roles", {"stage": STAGE | {"retire": "bob"}}),
        ("assign_worker", "*bob*", "create_work_node", NODE),
        ("spawn_worker", "*", "create_work_node", {"task": "build"}),
        ("spawn_worker", "critic", "create_work_node", {"task": "build", "role": "critic"}),
    ],
)  # fmt: skip
def test_a_rule_about_a_tool_judges_calls_with_its_effect(
    action: str, asked_about: str, pattern: str, tool: str, arguments: dict[str, Any]
) -> None:
    rule = ApprovalRule.model_validate(
        {"action": action, "name": "r", "tool": (asked_about,), "pattern": pattern}
    )
    assert judged(rule, tool, arguments) == action


def test_calls_without_the_effect_are_not_judged() -> None:
    rule = ApprovalRule(action="deny", tool=("send_message", "write_context", "assign_worker"))
    for action in ("Look again", {"type": "wake_agent", "payload": {"task": "send_message"}}, None):
        assert judged(rule, "schedule", {"action": action}) == "allow"
    assert judged(rule, "read_context", PLAN) == "allow"
    assert judged(rule, "create_work_node", {"task": "build"}) == "allow"


def test_a_rule_about_every_tool_does_not_judge_the_effects_of_an_allowed_call() -> None:
    rules = (
        ApprovalRule(action="allow", tool=("launch_roles",)),
        ApprovalRule(action="deny", tool=("*",)),
    )
    judging = ApprovalPolicy(rules).judge_all
    assert judging(actions_of_call("launch_roles", {"stage": STAGE}), ADA).action == "allow"
    assert judging(actions_of_call("append_context", PLAN), ADA).action == "deny"


def test_arguments_of_any_shape_are_judged() -> None:
    for tool in EQUIVALENTS:
        values: list[Any] = [None, 1, "x", "{", [], {}, [[]], [None], {"roles": 3, "retire": {}}]
        for value in values:
            names = ("key", "item", "action", "stage", "worker", "name")
            assert actions_of_call(tool, dict.fromkeys(names, value))
    assert EQUIVALENTS.keys() <= set(tool_names())
