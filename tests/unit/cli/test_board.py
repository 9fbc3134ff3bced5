"""`agiraph board`: the summary of a node is its end, its worker's step, or its task's beginning."""

from typing import Any

import pytest

from cli.commands.board import summary_of

TASK = "Read every file. Then write a long report about all of them."


@pytest.mark.parametrize(
    ("node", "summary"),
    [
        ({"status": "running", "assigned_worker": "ada"}, "runs `ls`"),
        ({"status": "running", "assigned_worker": "bob"}, "Read every file"),
        ({"status": "pending"}, "Read every file"),
        ({"status": "completed", "assigned_worker": "ada", "summary": "Found 7"}, "Found 7"),
        ({"status": "failed", "assigned_worker": "ada", "reason": "out of time"}, "out of time"),
    ],
)
def test_summary_of_a_node_is_not_its_whole_task(node: dict[str, Any], summary: str) -> None:
    assert summary_of(node | {"task": TASK}, {"ada": "runs `ls`", "bob": ""}) == summary
