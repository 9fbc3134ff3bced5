"""The published schema marks all plans that the reader refuses, and no others."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from agiraph.board.plans.plan import parse_plan
from agiraph.board.plans.reading import file_schema
from agiraph.core.errors import InvalidInput

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
EXAMPLES = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if ":" in text]
SHORT: dict[str, Any] = {
    "nodes": [
        {"id": "a", "task": "Find", "checks": "test -s a", "labels": "x", "tools": "bash"},
        {"id": "b", "task": "Look", "dependencies": ["a"], "for_each": "result.files"},
        {"id": "c", "task": "Mend", "deps": [{"node": "a", "when": "result"}], "timeout": 9},
    ]
}


def marks(plan: object) -> list[str]:
    return [error.message for error in Draft202012Validator(file_schema()).iter_errors(plan)]


@pytest.mark.parametrize("plan", [*map(yaml.safe_load, EXAMPLES), SHORT])
def test_valid_plan_has_no_schema_errors(plan: object) -> None:
    parse_plan(yaml.safe_dump(plan))
    assert marks(plan) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": 7},
        {"needs": ["a"]},
        {"deps": [{"when": "result"}]},
        {"for_each": {"over": "result"}},
        {"retries": 99},
        {"mode": "fast"},
    ],
)
def test_refused_plan_has_schema_errors(wrong: dict[str, Any]) -> None:
    plan = {"nodes": [{"id": "a", "task": "x"}, {"id": "b", "task": "x", **wrong}]}
    if "task" not in wrong:  # YAML's numbers are read as texts
        with pytest.raises(InvalidInput):
            parse_plan(yaml.safe_dump(plan))
    assert marks(plan)
