"""The rules judge the effect of a trigger, in any spelling of its action."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.tools.approvals.equivalents import equivalent_calls
from agiraph.tools.approvals.spellings import KnownNames
from agiraph.triggers.parsing import action_of_worker, parse_action

VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    *(st.just({}), st.just([]), st.just(10**400)),
)
PAYLOADS = st.one_of(
    VALUES,
    st.fixed_dictionaries({"to": st.sampled_from(["bob", " human "]), "content": st.just("c")}),
    st.just({"node_id": "n"}),
    st.just({"task": "t"}),
)
TYPES = st.sampled_from(["send_message", "wake_agent", "run_node", "run_callback", "x", None])
SPACES = st.sampled_from(["", "", " ", "\n", "\u00a0", "\ufeff", "\x1c"])


@st.composite
def actions(draw: st.DrawFn) -> str:
    """Draw the text of an action: JSON with repeated keys, odd numbers and odd spaces."""
    keys = draw(st.lists(st.sampled_from(["type", "payload", "x", "typ\\u0065"]), min_size=1))
    items = [
        f'"{key}": {json.dumps(draw(TYPES if key.startswith("typ") else PAYLOADS))}' for key in keys
    ]
    return f"{draw(SPACES)}{{{draw(SPACES)}{', '.join(items)}}}{draw(SPACES)}"


@given(actions(), st.booleans())
@example('{"type": "send_message", "payload": {"to": "bob", "content": "c"}, "x": NaN}', False)
@example(' {"type": "send_message", "payload": {"to": "bob", "content": "c"}}', True)
def test_a_rule_judges_the_call_that_a_trigger_makes(text: str, is_worker: bool) -> None:
    name = "ada" if is_worker else "coordinator"
    written: Any = action_of_worker(text, name) if is_worker else text
    try:
        action = parse_action(written, ["backup"])
    except InvalidInput:
        return
    calls = list(equivalent_calls("schedule", {"action": text}, KnownNames(name)))
    match action.type:
        case "send_message":
            [(tool, arguments)] = calls
            assert (tool, str(arguments["to"]).strip()) == ("send_message", action.payload["to"])
        case "wake_agent":
            [(tool, arguments)] = calls
            assert (tool, arguments["to"]) == ("send_message", "coordinator")
        case "run_node":
            [(tool, arguments)] = calls
            assert (tool, arguments["node_id"]) == ("create_work_node", action.payload["node_id"])
        case "run_callback":
            assert calls == []
