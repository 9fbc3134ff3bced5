"""Events told as lines for people."""

import re
from typing import Any

import pytest

from agiraph.core.event_types import BY_NAME, EVENT_TYPES, EventType
from agiraph.core.ids import AgentId, NodeId
from agiraph.core.models import Event
from cli.console.event_text import _DESCRIBERS, EventNarrator
from cli.sanitize import short_name


def event(type: str, entity: str = "coordinator", node: str | None = None, **data: object) -> Event:
    return Event(
        type=type,
        agent_id=AgentId("survey-3fa9c1"),
        ts=1.0,
        entity=entity,
        node_id=NodeId(node) if node else None,
        data=dict(data),
    )


@pytest.mark.parametrize(
    ("told", "who", "text"),
    [
        (event("agent.started", goal="x", model="script/survey"), "coordinator",
         "started: script/survey"),
        (event("node.started", name="tables", worker="ada"), "ada", "works on tables"),
        (event("node.failed", name="tables", worker=None, reason="no time"), "coordinator",
         "failed tables: no time"),
        (event("tool.called", "ada", tool="bash", arguments={"command": "ls\n-la"}), "ada",
         "bash ls -la"),
        (event("tool.called", "ada", tool="list_files", arguments={}), "ada", "list_files"),
        (event("tool.result", "ada", tool="bash", is_error=True, preview="exit 1"), "ada",
         "bash failed: exit 1"),
        (event("message.sent", "ada", **{"from": "ada", "to": "human", "content": "hi"}), "ada",
         "→ human: hi"),
        (event("human.question", "survey-3fa9c1/ada-0a1b2c", question="Which?"), "ada",
         "asks you: Which?"),
        (event("child.ready", "survey-3fa9c1/ada-0a1b2c", incarnation=2), "ada",
         "its process was restarted and continues where it was"),
        (event("agent.failed", reason="bad key"), "coordinator", "failed: bad key"),
        (event("model.retry", "survey-3fa9c1/ada-0a1b2c", attempt=1, attempts=6,
               message="no answer", wait_seconds=4.2), "ada",
         "the model call failed (2 of 6, again in 4 s): no answer"),
        (event("model.retry", "survey-3fa9c1/ada-0a1b2c", attempt=1, attempts=None,
               message="too many calls", wait_seconds=30), "ada",
         "the model call failed (again in 30 s): too many calls"),
        (event("model.retry", "survey-3fa9c1/ada-0a1b2c", attempt=5, attempts=6,
               message="no answer", wait_seconds=0.2), "ada",
         "the model call failed (6 of 6, again now): no answer"),
        (event("model.retry", "survey-3fa9c1/ada-0a1b2c", attempt=0, attempts=None,
               message="too many calls", wait_seconds=30), "ada",
         "the model call waits: the service pauses (again in 30 s): too many calls"),
    ],
)  # fmt: skip
def test_who_did_what(told: Event, who: str, text: str) -> None:
    line = EventNarrator().describe(told)
    assert (line.who, line.text) == (who, text)


def test_the_sentences_are_those_of_the_types_that_there_are() -> None:
    assert set(_DESCRIBERS) == set(BY_NAME)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.name)
def test_no_type_of_event_shows_its_name_its_keys_or_a_raw_time(kind: EventType) -> None:
    whole = {name: 1795000000.5 if name.endswith(("due", "_at")) else "it" for name in kind.fields}
    for data in (whole, {}):
        told = event(kind.name).model_copy(update={"data": data})
        text = EventNarrator().describe(told).text
        assert text or not data
        assert not any(raw in text for raw in ("=", "{", kind.name, "1795000000", "1,795,000"))


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (event("worker.paused", "ada"), "paused"),
        (event("worker.idle", worker="ada"), "ada has no node"),
        (event("stage.met", stage="Draft", why="any", completed=1, of=3, without=["b"]),
         "stage Draft ends early: 1 of 3 nodes are completed"),
        (event("human.budget", "human", scope="agent", period="day", usd=2.0, is_own=True),
         "the budget is $2.00 a day"),
        (event("human.budget", "human", scope="agent", period="day", is_own=False),
         "the budget is that of the settings again"),
        (event("worktree.conflict", name="page", files=["a.md", "b.md"]),
         "the changes of page are in conflict: a.md, b.md"),
    ],
)  # fmt: skip
def test_values_are_part_of_a_sentence(told: Event, text: str) -> None:
    assert EventNarrator().describe(told).text == text


def test_a_firing_names_the_time_as_people_read_it() -> None:
    fired = event("trigger.fired", "clock", name="nightly", due=1795000000.0, lineage=["t1"])
    text = EventNarrator().describe(fired).text
    assert re.fullmatch(r"trigger nightly fired, due at (2026-11-1\d )?\d\d:\d\d:\d\d", text)


def test_an_event_that_nobody_has_heard_of_is_told_by_its_values() -> None:
    line = EventNarrator().describe(event("moon.rose", phase="full", size=3, odd=[1]))
    assert line.text == "moon.rose phase=full size=3 odd=[1]"


def test_nodes_are_called_by_the_names_that_events_taught() -> None:
    narrator = EventNarrator()
    narrator.describe(event("node.created", node="cf1ea7", name="tables", task="Look"))
    waits = event("tool.called", tool="wait", arguments={"nodes": ["cf1ea7", "unknown"]})
    assert narrator.describe(waits).text == "waits for tables, unknown"


MINOR_ONES = [
    "agent.created", "worker.busy", "model.answered", "model.failed", "tool.result",
    "child.backing_off",
]  # fmt: skip


@pytest.mark.parametrize("type", MINOR_ONES)
def test_minor_events_are_not_worth_a_line_of_a_run(type: str) -> None:
    assert EventNarrator().describe_if_major(event(type)) is None


def test_a_first_start_is_minor_a_restart_is_not() -> None:
    assert EventNarrator().describe_if_major(event("child.ready", incarnation=1)) is None
    assert EventNarrator().describe_if_major(event("child.ready", incarnation=2)) is not None
    back = event("child.ready", incarnation=3, was_parked=True)
    assert EventNarrator().describe_if_major(back) is None
    assert EventNarrator().describe(back).text == "woke up"


def test_a_coordinator_that_waits_for_whatever_comes_says_so() -> None:
    waits = event("tool.called", tool="wait", arguments={})
    assert EventNarrator().describe(waits).text == "waits for its nodes or a message"


@pytest.mark.parametrize(
    "data",
    [
        {"name": None, "worker": 3, "task": ["x"]},
        {"arguments": "raw", "tool": None},
        {"content": None, "to": None, "from": 5},
        {"incarnation": "two", "on": 7, "calls": {"a": 1}},
    ],
)
@pytest.mark.parametrize(
    "type",
    ["node.created", "node.blocked", "tool.called", "message.sent", "child.ready",
     "model.answered", "worker.spawned", "human.question"],
)  # fmt: skip
def test_odd_data_never_breaks_the_telling(type: str, data: dict[str, Any]) -> None:
    assert EventNarrator().describe(event(type, **data)).who


def test_short_names_drop_only_the_number() -> None:
    assert short_name("ada-54b044") == "ada"
    assert short_name("mary-jane-54b044") == "mary-jane"
    assert short_name("coordinator") == "coordinator"
    assert short_name("-54b044") == "-54b044"
