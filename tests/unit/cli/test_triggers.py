"""`agiraph triggers`: errors are reported before any request."""

import pytest

from cli.commands.triggers import does, waits_for
from tests.unit.cli.fakes import FakeClient, command


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("survey", "foo"), "unknown act 'foo' (known: add, cancel, fire, list, pause, resume)"),
        (("survey", "add", "x"), "give one of --cron, --in, --at, --every, --on and --idle"),
        (("survey", "add", "x", "--in", "5m", "--at", "2026-01-01"), "give one of --cron"),
        (("survey", "add", "x", "--in", "soon"), "'soon' is no length of time"),
        (("survey", "add", "--in", "5m"), "TASK is missing"),
        (
            ("survey", "add", "x", "--in", "5m", "--say", "a", "--node", "b"),
            "cannot be used together",
        ),
        (("survey", "add", "x", "--on", "node.failed", "--where", "name"), "is not KEY=VALUE"),
        (("survey", "pause"), "Missing argument 'TRIGGER'"),
    ],
)
def test_wrong_usage_is_exit_2_with_the_possible_values(
    args: tuple[str, ...], expected: str
) -> None:
    result = command(FakeClient(), "triggers", *args)
    assert result.exit_code == 2
    assert expected in result.stderr


@pytest.mark.parametrize("act", ["list", "add", "pause", "resume", "cancel", "fire"])
@pytest.mark.parametrize("agent", [(), ("survey",)], ids=["no agent", "an agent"])
def test_the_help_of_an_act_needs_no_agent(act: str, agent: tuple[str, ...]) -> None:
    result = command(FakeClient(), "triggers", *agent, act, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: agiraph triggers AGENT {act} ")


def test_condition_and_action_of_a_trigger_are_described() -> None:
    cron = {"type": "scheduled", "config": {"cron": "0 9 * * MON", "time_zone": "UTC"}}
    assert waits_for(cron) == "cron 0 9 * * MON (UTC)"
    event = {"type": "on_event", "config": {"event_pattern": "node.*", "filter": {"name": "a"}}}
    assert waits_for(event) == "on node.* where name=a"
    assert does({"type": "wake_agent", "payload": {"task": "look"}}) == "look"
    said = {"type": "send_message", "payload": {"to": "ada", "content": "hi"}}
    assert does(said) == "send_message: ada, hi"
