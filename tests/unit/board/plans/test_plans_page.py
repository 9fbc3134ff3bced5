"""docs/plans.md: its plans can be read, and it lists every key with its default."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from agiraph.board.plans.plan import parse_plan
from agiraph.board.plans.reading import (
    CollaborationFile,
    ContractForm,
    GraphFile,
    GraphNode,
    RoleForm,
    StageForm,
)
from agiraph.settings.yaml_text import keys_of

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "plans.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```(?:yaml|json)\n(.*?)^```", PAGE, re.M | re.S)
FORMS: dict[str, type[BaseModel]] = {
    "A graph": GraphFile,
    "A node": GraphNode,
    "A collaboration plan": CollaborationFile,
    "A stage": StageForm,
    "A role": RoleForm,
    "The contract": ContractForm,
}
ROW = re.compile(r"^\| (`[a-z_`, ]+) \| \S.*? \| (\S+) \| \S.* \|$", re.M)


def test_examples_of_the_page_are_plans_of_both_forms() -> None:
    plans = [parse_plan(text) for text in EXAMPLES]
    assert [len(plan.nodes) for plan in plans] == [3, 1, 4, 3, 3]


@pytest.mark.parametrize("heading", FORMS)
def test_page_lists_every_key_with_its_default(heading: str) -> None:
    part = re.split(rf"^#{{2,4}} {heading}$", PAGE, flags=re.M)[1].partition("\n##")[0]
    written = {tuple(re.findall(r"`(\w+)`", keys)): told for keys, told in ROW.findall(part)}
    form = FORMS[heading]
    assert {keys: _default(told) for keys, told in written.items()} == {
        tuple(keys_of(form, name)): "required" if field.is_required() else _plain(field.default)
        for name, field in form.model_fields.items()
    }


def _default(told: str) -> Any:
    return {"none": None, "required": told}.get(told, yaml.safe_load(told.strip("`")))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return list(value) if isinstance(value, tuple) else value
