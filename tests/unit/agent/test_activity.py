"""The activity of an entity, in one line."""

from agiraph.agent.activity import STEP_LIMIT, step_of, waiting_for
from agiraph.core.turns import ToolCall


def test_step_names_the_tool_and_its_subject() -> None:
    call = ToolCall(id="1", name="bash", arguments={"command": "make\n  test", "timeout": 5})
    assert step_of(call) == "bash: make ⏎ test"
    assert step_of(ToolCall(id="1", name="check_board")) == "check_board"
    assert waiting_for(["tables", "prices"]) == "tables, prices"


def test_step_is_short_and_shows_no_secret() -> None:
    key = "sk-ant-" + "a1B2" * 12
    step = step_of(ToolCall(id="1", name="bash", arguments={"command": f"X={key} run {'y' * 200}"}))
    assert key not in step
    assert len(step) == STEP_LIMIT
