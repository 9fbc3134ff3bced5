"""A result schema: its findings in a result, and unsupported schemas."""

import json

import pytest
from pydantic import ValidationError

from agiraph.core.results import LONGEST_SCHEMA, misfits, read_result
from agiraph.core.specs import NodeSpec

SCORE = {
    "type": "object",
    "required": ["score"],
    "properties": {"score": {"type": "number", "maximum": 1}},
}


def test_result_is_accepted_or_its_mismatch_is_located() -> None:
    assert read_result('{"score": 0.5}', SCORE) == ({"score": 0.5}, "")
    assert misfits(SCORE, {"score": 2}) == "$.score: 2 is greater than the maximum of 1"
    assert misfits(SCORE, {}) == "$: 'score' is a required property"
    assert "it is not JSON" in read_result("score: 1", SCORE)[1]


def test_a_reference_is_never_fetched() -> None:
    assert "leads nowhere" in misfits({"$ref": "http://localhost:1/x.json"}, 1)
    assert misfits({"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}, 1) == ""


def test_a_schema_that_cannot_be_followed_is_refused() -> None:
    for schema, why in (
        ({"type": "nonsense"}, "is not a JSON Schema"),
        ({"description": "x" * LONGEST_SCHEMA}, "characters"),
    ):
        with pytest.raises(ValidationError, match=why):
            NodeSpec(task="t", output_schema=schema)
    assert NodeSpec.model_validate({"task": "t", "output_schema": json.dumps(SCORE)})
