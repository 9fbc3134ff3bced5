"""A rule on a tool applies to every call with the tool's effect."""

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
from agiraph.tools.approvals.spellings import KnownNames
from agiraph.tools.table import tool_names

ADA = ActingEntity("ada")
KNOWN = KnownNames("ada", of_ref=lambda name: [f"nodes/{name}/published/a.md"])
PLAN = {"key": "plan", "item": 1}
SENDING = {"type": "send_message", "payload": {"to": "human", "content": "hi"}}
WAKING = {"type": "wake_agent", "payload": {"task": "Look again"}}
STAGE = {"roles": [{"name": "eve", "prompt": "deploy"}], "retire": ["bob"]}
NODE = {"task": "build", "name": "n", "worker": "bob"}


def judged(rule: ApprovalRule, tool: str, arguments: dict[str, Any]) -> str:
    actions = actions_of_call(tool, arguments, KNOWN)
    return ApprovalPolicy((rule,)).judge_all(actions, ADA).action


@pytest.mark.parametrize("action", ["ask", "deny"])
@pytest.mark.parametrize(
    ("asked_about", "pattern", "tool", "arguments"),
    [
        ("write_shared_value", "plan", "append_shared_value", PLAN),
        ("send_message", "human", "schedule", {"type": "once", "config": {}, "action": SENDING}),
        ("send_message", "human", "schedule", {"action": json.dumps(SENDING)}),
        ("send_message", "human", "schedule", {"action": "  " + json.dumps(SENDING)}),
        ("send_message", "ada", "schedule", {
            "action": {"type": "send_message", "payload": {"to": " @Ada", "content": "x"}}}),
        ("spawn_worker", "eve", "launch_roles", {"stage": STAGE}),
        ("spawn_worker", "eve", "launch_roles", {"stage": json.dumps(STAGE)}),
        ("create_work_node", "deploy", "launch_roles", {"stage": STAGE}),
        ("spawn_worker", "eve", "launch_roles", {"stage": {"roles": [{"id": "eve", "task": "x"}]}}),
        ("spawn_worker", "eve", "launch_roles", {"stage": {"roles": [
            {"name": "x", "title": "eve", "task": "x"}]}}),
        ("spawn_worker", "eve", "spawn_worker", {"name": "x", "role": "eve"}),
        ("create_work_node", "eve", "launch_roles", {"stage": {"roles": [
            {"name": "x", "node": "eve", "task": "x"}]}}),
        ("create_work_node", "eve", "create_work_node", {"task": "x", "role": "eve"}),
        ("retire_worker", "*bob*", "launch_roles", {"stage": STAGE}),
        ("retire_worker", "*bob*", "launch_roles", {"stage": STAGE | {"retire": "bob"}}),
        ("assign_worker", "*bob*", "create_work_node", NODE),
        ("spawn_worker", "*", "create_work_node", {"task": "build"}),
        ("spawn_worker", "critic", "create_work_node", {"worker": " New", "role": "critic"}),
        ("create_work_node", "*deploy*", "create_work_node", {
            "repeats": "a", "name": "b", "changes": "now deploy"}),
        ("assign_worker", "*bob*", "update_node", {"node_id": "a", "worker": "bob"}),
        ("create_work_node", "*deploy*", "update_node", {"node_id": "a", "task": "deploy it"}),
        ("spawn_worker", "critic", "create_work_node", {"task": "build", "role": "critic"}),
        ("send_message", "ada", "schedule", {"type": "delayed", "action": "Look again"}),
        ("send_message", "coordinator", "schedule", {"action": WAKING}),
        ("send_message", "coordinator", "schedule", {"action": json.dumps(WAKING)}),
        ("create_work_node", "deploy", "schedule", {
            "action": {"type": "run_node", "payload": {"node_id": "deploy"}}}),
        ("memory_write", "*", "remember", {"kind": "pattern", "title": "t", "text": "x"}),
        ("remember", "*", "memory_write", {"path": "MEMORY.md", "content": "x"}),
        ("memory_write", "knowledge/a.md", "write_file", {"path": "memory/knowledge/a.md"}),
        ("memory_write", "memory/knowledge/a.md", "memory_write", {"path": "knowledge/a.md"}),
        ("memory_write", "memory.md", "write_file", {"path": "./memory.md", "content": "x"}),
        ("memory_read", "MEMORY.md", "read_file", {"path": "MEMORY.md"}),
        ("write_file", "memory/*", "memory_write", {"path": "knowledge/a.md", "content": "x"}),
        ("read_file", "notebook.md", "memory_read", {"path": "notebook.md"}),
        ("read_file", "nodes/facts/published/*", "read_ref", {"name": "facts"}),
        ("write_file", "scratch/a.md", "edit_file", {"path": "./scratch/a.md", "old": "a"}),
        ("memory_write", "memory.md", "edit_file", {"path": "memory.md", "old": "a"}),
        ("read_file", "input/private/*", "search", {"pattern": "key"}),
        ("read_file", "input/private/*", "search", {"pattern": "key", "path": "input/"}),
        ("memory_read", "*", "search", {"pattern": "key", "path": "memory/knowledge"}),
        ("list_files", "input/private", "find_files", {"glob": "input/private/*.pem"}),
        ("memory_write", "*", "publish", {"summary": "s", "insight": "x"}),
        ("memory_write", "memory.md", "publish", {"summary": "s", "learned": "x"}),
    ],
)  # fmt: skip
def test_a_rule_about_a_tool_judges_calls_with_its_effect(
    action: str, asked_about: str, pattern: str, tool: str, arguments: dict[str, Any]
) -> None:
    rule = ApprovalRule.model_validate(
        {"action": action, "name": "r", "tool": (asked_about,), "pattern": pattern}
    )
    assert judged(rule, tool, arguments) == action


def test_calls_without_the_effect_are_not_matched() -> None:
    tools = ("send_message", "write_shared_value", "assign_worker", "memory_write", "memory_read")
    rule = ApprovalRule(action="deny", tool=tools)
    calling = {"type": "run_callback", "payload": {"callback": "send_message"}}
    assert judged(rule, "schedule", {"action": calling}) == "allow"
    assert judged(rule, "read_shared_value", PLAN) == "allow"
    assert judged(rule, "create_work_node", {"task": "build"}) == "allow"
    assert judged(rule, "write_file", {"path": "scratch/memory/a.md"}) == "allow"
    assert judged(rule, "read_file", {"path": "notes.md"}) == "allow"
    assert judged(rule, "search", {"pattern": "memory_read"}) == "allow"
    private = ApprovalRule(action="deny", tool=("read_file",), pattern="input/private/*")
    assert judged(private, "search", {"pattern": "x", "path": "input/public"}) == "allow"
    assert judged(rule, "publish", {"summary": "memory_write"}) == "allow"


def test_a_rule_about_every_tool_does_not_judge_the_effects_of_an_allowed_call() -> None:
    rules = (
        ApprovalRule(action="allow", tool=("launch_roles",)),
        ApprovalRule(action="deny", tool=("*",)),
    )
    judging = ApprovalPolicy(rules).judge_all
    assert judging(actions_of_call("launch_roles", {"stage": STAGE}), ADA).action == "allow"
    assert judging(actions_of_call("append_shared_value", PLAN), ADA).action == "deny"


def test_arguments_of_any_shape_are_accepted() -> None:
    for tool in EQUIVALENTS:
        values: list[Any] = [None, 1, "x", "{", [], {}, [[]], [None], {"roles": 3, "retire": {}}]
        for value in values:
            names = ("key", "item", "action", "stage", "worker", "name")
            assert actions_of_call(tool, dict.fromkeys(names, value))
    assert EQUIVALENTS.keys() <= set(tool_names())
