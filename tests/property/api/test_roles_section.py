"""The Studio's changes turn any team section of agents.yaml into the requested section."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from agiraph.api.settings.roles_section import section_changes
from agiraph.core.roles import DEFAULT_ROLES, SECTION, roles_of
from agiraph.settings.yaml_edit import YamlChange, edited
from agiraph.settings.yaml_text import read_yaml

WORDS = st.sampled_from(["", "x", "Do: it # now", "two\nlines", "null", "12"])
ROLE = st.fixed_dictionaries(
    {},
    optional={
        "title": WORDS,
        "agent": WORDS,
        "responsibilities": WORDS,
        "fallback": WORDS,
        "may_write": st.booleans(),
    },
)
NAMES = st.sampled_from([*DEFAULT_ROLES, "writer", "tester"])
BOUND = st.integers(1, 20)


@st.composite
def sections(draw: st.DrawFn) -> dict[str, Any]:
    roles = draw(st.dictionaries(NAMES, st.none() | ROLE, max_size=4))
    leads = [*DEFAULT_ROLES, *roles]
    bounds = st.fixed_dictionaries(
        {},
        optional={
            "lead_role": st.sampled_from(leads),
            "max_turns": BOUND,
            "repetitions": BOUND,
            "transcript_turns": BOUND,
        },
    )
    return {**draw(bounds), "roles": roles}


@given(sections() | st.none() | st.just({"max_turns": "many"}), sections(), st.booleans())
def test_section_changes_produce_the_requested_team(
    said: Any, asked: dict[str, Any], is_flow: bool
) -> None:
    before: dict[str, Any] = {"helper": {"command": ["helper"]}}
    if said is not None:
        before[SECTION] = said
    text = yaml.safe_dump(before, default_flow_style=None if is_flow else False, sort_keys=False)
    wanted = roles_of(asked)
    changes = section_changes(said, wanted)
    after = edited(text, [YamlChange(one.key, one.value, one.remove) for one in changes])
    found = read_yaml(after)
    assert roles_of(found.get(SECTION) or {}) == wanted
    assert found["helper"] == before["helper"]
    assert section_changes(found.get(SECTION), wanted) == ()
