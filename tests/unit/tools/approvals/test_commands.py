"""To give a command as a check is to run one: rules about `bash` see it in whatever form it is."""

import json
from typing import Any

import pytest

from agiraph.tools.approvals.policy import commands_in

ROLE = {"name": "ada", "prompt": "build", "checks": ["make", " "]}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_work_node", {"task": "build", "checks": ["make"]}),
        ("create_work_node", {"task": "build", "checks": "make"}),
        ("update_node", {"node_id": "build", "checks": ["make"]}),
        ("create_work_node", {"task": "build", "checks": '["make"]'}),
        ("launch_roles", {"stage": {"roles": [ROLE]}}),
        ("launch_roles", {"stage": json.dumps({"roles": [ROLE]})}),
        ("launch_roles", {"stage": {"roles": [json.dumps(ROLE)]}}),
    ],
)
def test_the_checks_of_new_nodes_are_commands(tool: str, arguments: dict[str, Any]) -> None:
    assert commands_in(tool, arguments) == ["make"]


def test_call_without_checks_contains_no_commands() -> None:
    assert commands_in("write_file", {"content": '{"checks": ["make"]}'}) == []
    assert commands_in("create_work_node", {"task": "no checks"}) == []
