"""Events as sentences: each type has a template of its own fields, and any data can be rendered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.event_types import BY_NAME, EVENT_TYPES, EventType
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.core.naming import short_name
from agiraph.http.api import EventView
from agiraph.logs.event_text import AUTORUN, autorun_marks, fields_of
from cli.console.event_text import line_of

FORMATS = ("", "name", "count", "seconds", "apart", "call", "words", "each")


def event(type: str, entity: str = "coordinator", /, **data: Any) -> EventView:
    agent = AgentId("survey-3fa9c1")
    return EventView.of(Event(type=type, agent_id=agent, ts=1000.0, entity=entity, data=data))


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.name)
def test_each_sentence_uses_declared_fields_and_known_formats(kind: EventType) -> None:
    used = list(fields_of(kind.text))
    acting = [kind.who] if kind.who else []
    notable = [kind.notable[0]] if kind.notable else []
    assert {*(field for field, _ in used), *kind.detail, *acting, *notable} <= set(kind.fields)
    assert all("|" in form or form.split(" ")[0] in FORMATS for _, form in used)
    assert kind.text[0].upper() != kind.text[0] or kind.text[0] in "{[→"


@pytest.mark.parametrize(
    ("expected", "who", "text"),
    [
        (event("agent.started", goal="x", model="script/survey"), "coordinator",
         "started: script/survey"),
        (event("node.started", name="tables", worker="ada"), "ada", "works on tables"),
        (event("node.failed", name="tables", worker=None, reason="no time"), "coordinator",
         "failed tables: no time"),
        (event("node.checked", "ada", has_passed=True, checks=[{}, {}], failed=[]), "ada",
         "2 checks passed"),
        (event("node.checked", "ada", has_passed=False, checks=[{}, {}], failed=["make"]), "ada",
         "1 of 2 checks failed: make"),
        (event("tool.called", "ada", tool="bash", arguments={"command": "ls\n-la"}), "ada",
         "bash ls ⏎ -la"),
        (event("tool.called", "ada", tool="bash", arguments={"command": "# List\nls"}), "ada",
         "bash # List ⏎ …"),
        (event("tool.called", "ada", tool="list_files", arguments={}), "ada", "list_files"),
        (event("tool.called", tool="wait", arguments={"nodes": ["a", "b"]}), "coordinator",
         "wait a, b"),
        (event("tool.called", "ada", tool="x", arguments={"a": 1, "b": None}), "ada", "x a=1"),
        (event("tool.result", "ada", tool="bash", is_error=True, preview="exit 1"), "ada",
         "bash failed: exit 1"),
        (event("tool.result", tool="read", preview='{"a": "b"}'), "coordinator",
         "read done: a b"),
        (event("message.sent", "ada", **{"from": "ada", "to": "human", "content": "hi"}), "ada",
         "→ human: hi"),
        (event("human.question", "survey-3fa9c1/ada-0a1b2c", question="Which?"), "ada",
         "asks you: Which?"),
        (event("child.ready", "survey-3fa9c1/ada-0a1b2c", was_restarted=True), "ada",
         "its process was restarted and continues where it was"),
        (event("child.ready", "ada", incarnation=1), "ada", "its process is ready"),
        (event("agent.failed", reason="bad key"), "coordinator", "failed: bad key"),
        (event("agent.cycle_ended", cycle=2, next_at=1300.0, notes="n"), "coordinator",
         "cycle 2 ended, the next begins in 5 m: n"),
        (event("trigger.fired", "clock", name="nightly", due=1000.0 - 7200), "clock",
         "trigger nightly fired, 2 h late"),
        (event("trigger.fired", "clock", name="nightly", due=999.9), "clock",
         "trigger nightly fired"),
        (event("model.retry", "survey-3fa9c1/ada-0a1b2c", attempt=1, attempts=6,
               message="no answer", wait_seconds=4.2), "ada",
         "the model call failed (attempt 1 of 6), next try in 4 s: no answer"),
        (event("model.retry", "ada", attempt=5, message="no answer", wait_seconds=0.2), "ada",
         "the model call failed: no answer"),
        (event("model.retry", "ada", attempt=0, attempts=None, message="too many calls",
               wait_seconds=30), "ada",
         "the model call waits for its paused service, next try in 30 s: too many calls"),
        (event("role.turn", from_role="lead", to_role="qa", message="go"), "lead", "to qa: go"),
        (event("stage.met", stage="Draft", why="any", completed=1, of=3, without=["b"]),
         "coordinator", "stage Draft ends early: 1 of 3 nodes are completed"),
        (event("human.budget", "human", scope="agent", limit="$2.00 a day", is_own=True), "human",
         "the budget of the agent is $2.00 a day"),
        (event("worktree.conflict", name="page", files=["a.md", "b.md"]), "coordinator",
         "the changes of page are in conflict: a.md, b.md"),
        (event("knowledge.used", notes=[{"title": "Tools"}]), "coordinator",
         "gets 1 note from earlier work: Tools"),
        (event("human.response", "human", to="survey-3fa9c1/ada-0a1b2c", answer="{question}"),
         "human", "answered ada: {question}"),
        (event("moon.rose", phase="full", size=3, odd=[1]), "coordinator",
         "moon.rose phase=full size=3 odd=1"),
    ],
)  # fmt: skip
def test_event_is_rendered_as_a_sentence(expected: EventView, who: str, text: str) -> None:
    line = line_of(expected)
    assert (line.who, line.text) == (who, text)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.lists(st.one_of(st.text(max_size=5), st.dictionaries(st.text(), st.integers()))),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5)),
)  # fmt: skip


@given(st.sampled_from(EVENT_TYPES), st.data())
def test_any_data_can_be_rendered(kind: EventType, data: st.DataObject) -> None:
    values = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(kind.fields, VALUES)))
    told = event(kind.name, **values)
    assert "\n" not in told.text
    assert told.who


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.name)
def test_sentence_without_data_shows_no_template(kind: EventType) -> None:
    assert not set("{}[]") & set(event(kind.name).text)


def test_the_nodes_that_a_call_waits_for_are_shown_by_name() -> None:
    waits = event("tool.called", tool="wait", arguments={"nodes": ["cf1ea7", "tables"]})
    assert (
        EventView.of(waits, lambda id: {"cf1ea7": "texts"}.get(id, id)).text == "wait texts, tables"
    )


def test_failed_call_has_a_wider_audience_than_a_successful_one() -> None:
    assert event("tool.result", is_error=True).audience == "entity"
    assert event("tool.result").audience == "log"
    assert event("tool.result", is_error=True).tone == "bad"


def test_restart_is_shown_to_the_team_and_a_first_start_is_not() -> None:
    assert event("child.ready", was_restarted=True).audience == "team"
    assert event("child.ready", incarnation=1).audience == "log"


def test_only_goals_and_ends_of_runs_have_the_widest_audience() -> None:
    everyone = {kind.name for kind in BY_NAME.values() if kind.audience == "everyone"}
    assert everyone == {"agent.created", "agent.completed", "agent.failed", "agent.stopped"}


def test_short_names_drop_only_the_number() -> None:
    assert short_name("ada-54b044") == "ada"
    assert short_name("mary-jane-54b044") == "mary-jane"
    assert short_name("coordinator") == "coordinator"
    assert short_name("-54b044") == "-54b044"


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (
            {"paths": ["a/.git", ".envrc"], "marks": ["1.0", "2.7"]},
            {("a/.git", "1.0"), (".envrc", "2.7")},
        ),
        ({"paths": ["a/.git"], "marks": []}, set()),
        ({"paths": 3, "marks": None}, set()),
        ({"paths": [["x"]], "marks": [{}]}, set()),
        ({}, set()),
    ],
)
def test_autorun_files_are_read_from_an_event_of_any_shape(
    data: dict[str, Any], named: set[tuple[str, str]]
) -> None:
    assert autorun_marks(AUTORUN, data) == named
    assert autorun_marks("node.created", data) == set()
