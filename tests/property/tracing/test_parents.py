"""Whatever is lost, late or cut off: every span's parent is sent, and no span twice."""

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.models import Event
from agiraph.tracing.span_builder import SpanBuilder, SpanBuilderState
from agiraph.tracing.spans import Span
from tests.unit.tracing.test_span_builder import Log, orphans, outside, team

LOST_BY_A_KILL = (
    "model.answered",
    "tool.called",
    "tool.result",
    "outside.started",
    "outside.ended",
)
"""Events that a killed process may not have reported; a board's events are reported again."""


def merged(first: Log, second: Log, order: list[bool]) -> list[Event]:
    """Return the events of both logs, each in its order, within one run."""
    lines = [list(first.events[2:-1]), list(second.events[1:-1])]
    found = list(first.events[:2])
    for is_second in order:
        if lines[is_second]:
            found.append(lines[is_second].pop(0))
    return [*found, *lines[0], *lines[1]]


def of_another_node(log: Log) -> Log:
    """Return the log with its node under another id, and its worker under another address."""
    for index, event in enumerate(log.events):
        node = event.node_id and f"{event.node_id}-b"
        key = event.key.replace("shop-1/ada-7", "shop-1/bob-8")
        log.events[index] = event.model_copy(update={"node_id": node, "key": key})
    return log


@given(
    order=st.lists(st.booleans(), max_size=40),
    lost=st.sets(st.integers(0, 40)),
    end=st.integers(2, 40),
    restarts=st.sets(st.integers(0, 40), max_size=4),
)
def test_every_span_has_a_parent_and_is_sent_once(
    order: list[bool], lost: set[int], end: int, restarts: set[int]
) -> None:
    events = merged(team(), of_another_node(outside()), order)
    kept = [
        event
        for index, event in enumerate(events)
        if index not in lost or event.type not in LOST_BY_A_KILL
    ]
    last = outside().events[-1]
    board = [event for event in kept[end:] if event.type.startswith("node.")]
    late = [event for event in kept[end:] if event not in board]
    told = [*kept[:end], *board, last, *late]
    found: list[Span] = []
    state = SpanBuilderState()
    for seq, event in enumerate(told, 1):
        if seq in restarts:
            state = SpanBuilderState(**json.loads(json.dumps(asdict(state))))
        found += SpanBuilder("shop-1", state).build_spans(
            event.model_copy(update={"seq": seq, "ts": seq})
        )
    assert orphans(found) == []
    ids = [span.span_id for span in found]
    assert len(ids) == len(set(ids)), [s.name for s in found if ids.count(s.span_id) > 1]
    assert [span for span in found if not span.parent_id]
