"""The console's view: for any order of news, no entry twice, no raw text, all within limits."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import NodeId
from agiraph.core.models import Event
from agiraph.http.api import BoardView, EntityView, EventView, NodeView
from agiraph.readmodel.thread import Thread
from cli.console.commands import completions, read_line
from cli.console.plain_text import tree_of
from cli.console.ui import timeline as timeline_module
from cli.console.ui.entries import TimelineEntry
from cli.console.ui.state import ConsoleState
from cli.console.ui.timeline import Timeline
from tests.unit.cli.fakes import AGENT, summary

NASTY = st.text(max_size=30) | st.sampled_from(["\x1b[2J", "\x9b1m", "\u202egnp", "a\x07b", "@"])
NAMES = st.sampled_from(["ada", "bob", "coordinator", "human"])


def event_of(seq: int, type: str, entity: str, text: str) -> EventView:
    data = {"tool": "bash", "text": text, "arguments": {"command": text}, "preview": text,
            "question": text, "content": text, "name": text, "from": entity}  # fmt: skip
    key = f"a:{type}:call-{seq // 2}" if type.startswith("tool.") else ""
    return EventView.of(
        Event(type=type, agent_id=AGENT, ts=float(seq), seq=seq, entity=entity, data=data, key=key)
    )


TYPES = st.sampled_from(
    ["tool.called", "tool.result", "model.answered", "human.question", "node.completed",
     "agent.completed", "message.sent", "new.and.unknown"]
)  # fmt: skip


LOGS = st.lists(st.tuples(TYPES, NAMES, NASTY), max_size=14).map(
    lambda kinds: [event_of(seq, *kind) for seq, kind in enumerate(kinds, start=1)]
)


def story(state: ConsoleState) -> list[tuple[object, ...]]:
    """Return the shown lines, in order."""
    entries = state.timeline.entries
    return [(e.key, e.who, sorted(e.to), e.title, e.body, e.outcome) for e in entries]


@given(LOGS, st.integers(1, 14))
def test_entries_in_pieces_are_shown_as_the_whole_thread(events: list[EventView], cut: int) -> None:
    whole, pieces, thread = ConsoleState(summary()), ConsoleState(summary()), Thread()
    whole.add_entries(Thread().add_all(events))
    for start in range(0, len(events), cut):
        pieces.add_entries(thread.add_all(events[start : start + cut]))
    pieces.add_entries(thread.entries.values())
    assert story(pieces) == story(whole)


@given(LOGS)
def test_entries_are_ordered_unique_and_printable(events: list[EventView]) -> None:
    state = ConsoleState(summary())
    state.add_entries(Thread().add_all(events))
    entries = state.timeline.entries
    assert [e.seq for e in entries] == sorted(e.seq for e in entries)
    assert len({e.key for e in entries}) == len(entries)
    for entry in entries:
        shown = "".join((entry.who, *entry.to, entry.title, entry.body))
        assert all(c == "\n" or c.isprintable() or ord(c) > 0x9F for c in shown)
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(shown)


@given(st.lists(st.integers(0, 400), max_size=60), st.booleans())
def test_a_timeline_never_outgrows_its_bound(places: list[int], keeps_oldest: bool) -> None:
    most, slack = timeline_module.MOST, timeline_module.SLACK
    timeline_module.MOST, timeline_module.SLACK = 20, 5  # type: ignore[misc]
    try:
        timeline = Timeline()
        for place in places:
            new = [TimelineEntry(key=f"e:{n}", at=float(n), seq=n, kind="notice", who="ada")
                   for n in range(place, place + 7)]  # fmt: skip
            timeline.add(new, "oldest" if keeps_oldest else "newest")
            assert len(timeline.entries) <= 25
            assert set(timeline.known) == {e.key for e in timeline.entries}
    finally:
        timeline_module.MOST, timeline_module.SLACK = most, slack  # type: ignore[misc]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_tree_contains_each_entity_once_for_any_board(
    parts: list[tuple[int, int]],
) -> None:
    rows = [EntityView(address=f"{AGENT}/coordinator", kind="coordinator", name="x", state="ready")]
    rows += [
        EntityView(address=f"{AGENT}/w{n}", kind="worker", name=f"w{n}", state="busy")
        for n in range(6)
    ]
    nodes = tuple(
        NodeView(id=NodeId(f"n{place}"), name=f"n{worker}", role="worker", task="t",
                 status="running", assigned_worker=f"w{worker}", parent_node=f"n{parent}")
        for place, (worker, parent) in enumerate(parts)
    )  # fmt: skip
    twigs = tree_of(AGENT, rows, BoardView(nodes=nodes))
    assert sorted(twig.row.address for twig in twigs) == sorted(row.address for row in rows)


@given(st.text(max_size=40), st.lists(NAMES, max_size=3, unique=True))
def test_typed_text_is_a_command_or_is_refused(line: str, names: list[str]) -> None:
    for completed in completions(line, tuple(names)):
        assert completed.startswith(("/", "@"))
    with suppress(InvalidInput):
        assert read_line(line, ()) is not None or not line.strip()
