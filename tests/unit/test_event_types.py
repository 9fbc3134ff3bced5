"""Every event type that the code reports is in the table, every type of the table is reported, and
docs/events.md lists the same."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.event_types import BY_NAME, EVENT_TYPES, GROUPS, EventType, types_meant
from agiraph.core.ids import AgentId, NodeId
from agiraph.core.models import Event
from agiraph.logs.event_filter import EventFilter, names_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "events.md"
MAY_HOLD_A_TYPE = re.compile(rf"['\"]({'|'.join(GROUPS)}|trigger)\.[a-z_]+['\"]")
LIKE_A_TYPE = re.compile(rf"^({'|'.join(GROUPS)}|trigger)\.[a-z_]+$")
# Files where such words name messages, records of journals, or readers of events.
ELSEWHERE = (
    *("agiraph/messages/", "agiraph/board/events.py", "agiraph/agent/records.py"),
    *("agiraph/core/event_types.py", "cli/console/", "cli/", "cli/chaos/"),
)
# Files, and names of OpenTelemetry's attributes, which look like types.
FILES = frozenset(
    {
        *("memory.md", "agent.json", "shared_values.jsonl", "events.jsonl"),
        *("memory.events", "memory.oom_control", "service.name", "service.version"),
        *("knowledge.db", "host.json", "host.jsonl", "host.key", "host.conf"),
    }
)
V2_SECTION_9 = """
    agent.created agent.started agent.paused agent.resumed agent.completed
    node.created node.assigned node.started node.completed node.failed
    worker.spawned worker.idle worker.busy worker.stopped
    message.sent message.received tool.called tool.result
    human.question human.response human.nudge
    stage.started stage.reconvened stage.completed memory.written memory.compacted
"""


@cache
def reported() -> dict[str, str]:
    """Return each literal in actors/ and agiraph/ that has the form of a type, and its file."""
    found: dict[str, str] = {}
    for folder in ("actors", "agiraph"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if name.startswith(ELSEWHERE) or "_bundled" in name:
                continue
            text = file.read_text(encoding="utf-8")
            tree = ast.parse(text if MAY_HOLD_A_TYPE.search(text) else "")
            for word in _words(tree):
                found.setdefault(word, name)
    return found


def _words(tree: ast.AST) -> Iterator[str]:
    skipped = {id(node) for node in ast.walk(tree) for node in _not_a_report(node)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str) and LIKE_A_TYPE.match(node.value):
            yield node.value


def _not_a_report(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the values of `TYPE = ...`, `type: Literal[...]`, a comparison or a `case`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.Compare | ast.MatchValue) or not names.isdisjoint(
        {"type", "TYPE", "HEARD"}
    ):
        yield from ast.walk(node)


def composed() -> set[str]:
    """Return the types composed of a prefix and a state, and the board's event types."""
    from actors.coordinator.public_events import NodeEvent
    from actors.supervisor.children import REPORTED

    of_nodes = {event.model_fields["type"].default for event in get_args(NodeEvent)}
    return {f"child.{state}" for state in REPORTED} | of_nodes


def test_every_type_that_is_reported_is_in_the_table() -> None:
    unknown = {word: file for word, file in reported().items() if word not in BY_NAME}
    assert {word: file for word, file in unknown.items() if word not in FILES} == {}
    assert composed() <= set(BY_NAME)


def test_every_type_in_the_table_is_reported() -> None:
    assert set(BY_NAME) - set(reported()) - composed() == set()


def test_the_table_has_every_type_of_the_first_design_and_each_once() -> None:
    assert set(V2_SECTION_9.split()) <= set(BY_NAME)
    assert len(BY_NAME) == len(EVENT_TYPES)


def test_the_page_shows_the_table() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE.read_text("utf-8"), re.M
    )
    told = [
        (name, when, by, tuple(re.findall(r"`(\w+)`", fields)), readers)
        for name, when, by, fields, readers in rows
    ]
    assert told == [
        (kind.name, kind.when, kind.by, kind.fields, _readers(kind)) for kind in EVENT_TYPES
    ]


def _readers(kind: EventType) -> str:
    if kind.notable is None or kind.notable[2] == kind.audience:
        return kind.audience
    return f"{kind.audience}, {kind.notable[2]} if `{kind.notable[0]}`"


def test_the_german_sentences_are_of_all_types_and_name_declared_fields() -> None:
    text = (ROOT / "frontend" / "src" / "text" / "de" / "events.ts").read_text("utf-8")
    found: dict[str, str] = {}
    group = ""
    for line in text.partition("  sentence: {")[2].splitlines():
        if named := re.match(r"^    (\w+): \{$", line):
            group = named[1]
        elif row := re.match(r'^      (\w+): "(.+)",$', line):
            found[f"{group}.{row[1]}"] = row[2]
    assert set(BY_NAME) - set(found) == {"tool.called", "tool.result"}, "these need no translation"
    for name, sentence in found.items():
        assert set(re.findall(r"\{\{(\w+)\}\}", sentence)) <= set(BY_NAME[name].fields)


def test_the_web_ui_offers_all_groups() -> None:
    page = ROOT / "frontend" / "src" / "pages" / "events" / "eventList.ts"
    listed = page.read_text("utf-8").partition("GROUPS = [")[2].partition("]")[0]
    assert set(re.findall(r'"(\w+)"', listed)) == set(GROUPS)


@pytest.mark.parametrize("pattern", ["node.*", "node.", "node"])
def test_event_group_is_accepted_in_each_spelling(pattern: str) -> None:
    meant = types_meant([pattern])
    assert meant == frozenset(name for name in BY_NAME if name.startswith("node."))


def test_types_are_named_one_by_one_or_by_their_beginning() -> None:
    assert types_meant([]) is None
    assert types_meant(["node.failed", "tool.called"]) == frozenset({"node.failed", "tool.called"})
    assert types_meant(["node.c*"]) == frozenset(n for n in BY_NAME if n.startswith("node.c"))
    assert types_meant(["*"]) == frozenset(BY_NAME)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("nodes.*", r"unknown event type 'nodes\.\*' \(possible: agent\.\*, stage\.\*, node\.\*"),
        ("node.complete", r"unknown event type 'node.complete' \(possible: node.created, "),
        ("node.z*", r"possible: node.created"),
        ("", r"unknown event type ''"),
    ],
)
def test_unknown_event_type_is_refused_with_the_possible_ones(pattern: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        types_meant([pattern])


def test_an_entity_is_known_by_name_id_and_address() -> None:
    assert names_of("shop-1/Ada-7f3a01") == {"shop-1/ada-7f3a01", "ada-7f3a01", "ada"}
    assert names_of("coordinator") == {"coordinator"}

    def event(entity: str, type: str = "tool.called", **data: object) -> Event:
        return Event(type=type, agent_id=AgentId("a"), ts=1, entity=entity, data=data)

    ada = EventFilter(entity="Ada")
    assert ada.takes(event("ada"))
    assert ada.takes(event("shop-1/ada-7f3a01", "child.ready"))
    assert ada.takes(event("coordinator", "node.assigned", worker="ada"))
    assert ada.takes(event("coordinator", "worker.spawned", name="ada"))
    assert not ada.takes(event("coordinator", "node.created", name="ada"))
    assert not ada.takes(event("bob", "tool.called", tool="ada"))


def test_filter_accepts_events_that_match_all_its_parts() -> None:
    one = Event(type="node.failed", agent_id=AgentId("a"), ts=1, node_id=NodeId("abc123"))
    assert EventFilter().takes_all
    assert EventFilter(types_meant(["node.*"]), None, "abc123").takes(one)
    assert not EventFilter(types_meant(["tool.*"]), None, "abc123").takes(one)
    assert not EventFilter(None, None, "fff123").takes(one)
    assert not EventFilter(None, "ada", "abc123").takes(one)
