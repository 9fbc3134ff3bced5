"""A run as time lines: the spans of its events as bars, one line per entity. Pure.

The spans are made by `span_builder.py`; this module adds the waits: for the person, in a pause, or
without a process. Bars that are too short to be seen are merged.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from agiraph.core.event_types import RUN_ENDS
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import Event, SpanKind
from agiraph.core.naming import on_one_line
from agiraph.tracing import spans as s
from agiraph.tracing.span_builder import OUTSIDE, SpanBuilder, SpanBuilderState
from agiraph.tracing.spans import Span, span_id

WHOLE: Final = ("node", "outside")
"""Kinds of bars that are not merged: other bars are parts of them."""

TOOL_KINDS: Final[dict[str, SpanKind]] = {"wait": "wait", "ask_human": "human"}

BEGINS: Final[dict[str, SpanKind]] = {
    "human.question": "human",
    "agent.paused": "paused",
    "worker.paused": "paused",
    "child.crashed": "down",
}
ENDS: Final[dict[str, SpanKind]] = {
    "human.response": "human",
    "human.expired": "human",
    "human.withdrawn": "human",
    "agent.resumed": "paused",
    "worker.resumed": "paused",
    "child.ready": "down",
    "child.failed": "down",
    "child.exited": "down",
    "child.stopped": "down",
}
NAMES_SHOWN: Final = 3
LONGEST_NAME: Final = 120


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in an entity's time line; the fields have the same meaning as in a `SpanView`.

    `entity` is a name, or an address that is still to be replaced by a name.
    """

    id: str
    kind: SpanKind
    entity: str
    name: str
    start: float
    end: float | None
    parent: str | None = None
    node: str | None = None
    seconds: float = 0.0
    count: int = 1
    problem: str = ""
    is_critical: bool = False


@dataclass(slots=True)
class RunTimeline:
    """The bars of one run, made of its events in their order; `seq` belongs to the last event."""

    agent: str
    run: str
    seq: int = 0
    start: float | None = None
    end: float | None = None
    finished: list[Bar] = field(default_factory=list)
    _state: SpanBuilderState = field(default_factory=SpanBuilderState)
    _waits: dict[tuple[SpanKind, str], Bar] = field(default_factory=dict)
    _ids: dict[str, int] = field(default_factory=dict)
    _builder: SpanBuilder = field(init=False)

    def __post_init__(self) -> None:
        """Create the builder of its spans."""
        self._builder = SpanBuilder(self.agent, self._state)

    def apply(self, event: Event) -> None:
        """Add an event of this run, or of a process of the agent."""
        self.seq = event.seq
        if event.type == "agent.started" and event.run_id == self.run and self.start is None:
            self.start = event.ts
        if event.type == "agent.reopened" and self.run in self._state.over:
            del self._state.over[self.run]
            self._state.runs[self.run] = {"start": event.ts, "model": ""}
            self.end = None
        if self.start is None:
            return
        for span in self._builder.build_spans(event):
            bar = self._bar_of(span)
            if bar is not None:
                self.finished.append(bar)
        if event.type in BEGINS:
            self._begin(event, BEGINS[event.type])
        elif event.type in ENDS:
            self._end(event, ENDS[event.type])
        if event.type in RUN_ENDS and event.run_id == self.run:
            self.end = event.ts
            for key in list(self._waits):
                self._finish(key, event.ts)

    def bars(self) -> list[Bar]:
        """Return all bars; after the end of the run unfinished bars end with it."""
        cut_off = [replace(bar, end=self.end) for bar in self._unfinished()]
        return [*self.finished, *cut_off]

    def _unfinished(self) -> Iterator[Bar]:
        """Yield the bars that have begun and not ended."""
        yield from self._waits.values()
        for id, node in self._state.nodes.items():
            if node.get("is_begun"):
                whose, name = node.get("worker", ""), node.get("name", id)
                parent = self._node_bar(node.get("parent_node"))
                yield Bar(self._node_id(id), "node", whose, name, node["start"], None, parent, id)
        for address, start in self._state.starts.items():
            if not start.get("is_over"):
                bar_id = span_id("start", address, start["at"])
                whose, name, node = start["worker"], start["name"], start["node"]
                parent = self._node_bar(node)
                yield Bar(bar_id, "outside", whose, name, start["start"], None, parent, node)
        for key, call in self._state.calls.items():
            address, _, step = key.partition(":")
            node = call["about"].get("agiraph.node.id")
            yield Bar(
                span_id("tool", address, step),
                TOOL_KINDS.get(call["tool"], "tool"),
                call["about"][s.AGENT_NAME],
                call["tool"],
                call["start"],
                None,
                self._node_bar(node),
                node,
            )

    # --- spans ---

    def _bar_of(self, span: Span) -> Bar | None:
        """Return the bar of a span, None for a run or a turn."""
        about, node = span.attributes, str(span.attributes.get("agiraph.node.id") or "") or None
        operation, whose = about.get(s.OPERATION), str(about.get(s.AGENT_NAME) or "")
        parent = self._node_bar(node)
        kind: SpanKind
        if operation == s.CHAT:
            kind, name = "model", str(about.get(s.REQUEST_MODEL) or "")
        elif operation == s.EXECUTE_TOOL:
            name = str(about[s.TOOL_NAME])
            kind = TOOL_KINDS.get(name, "tool")
            if f":{OUTSIDE}" in str(about[s.TOOL_CALL_ID]):
                parent = span.parent_id
        elif "agiraph.worker" in about:
            kind, name, whose = "outside", whose, str(about["agiraph.worker"])
        elif "agiraph.node.name" in about:
            kind, name = "node", str(about["agiraph.node.name"])
            is_sub = span.parent_id != span_id("run", self.agent, self.run)
            parent = span.parent_id if is_sub else None
        else:
            return None
        id, took = self._fresh(span.span_id), span.end - span.start
        return Bar(
            id, kind, whose, name, span.start, span.end, parent, node, took, problem=span.problem
        )

    def _fresh(self, id: str) -> str:
        """Return an unused bar id: a node that is retried has a span with the same id."""
        number = self._ids[id] = self._ids.get(id, 0) + 1
        return id if number == 1 else f"{id}-{number}"

    def _node_id(self, node: str) -> str:
        return span_id("node", self.agent, self.run, node)

    def _node_bar(self, node: str | None) -> str | None:
        return self._node_id(node) if node else None

    # --- waits ---

    def _begin(self, event: Event, kind: SpanKind) -> None:
        data, key = event.data, (kind, _subject(event, kind))
        is_asked = kind == "human" and data.get("kind", "question") == "question"
        if is_asked or key in self._waits or event.run_id not in (None, self.run):
            return  # an entity with a question waits in a tool call, if at all
        words = str(data.get("question") or data.get("cause") or kind)
        name = on_one_line(words)[:LONGEST_NAME]
        id = self._fresh(span_id(kind, self.agent, self.run, key[1], str(event.ts)))
        self._waits[key] = Bar(id, kind, event.entity, name, event.ts, None)

    def _end(self, event: Event, kind: SpanKind) -> None:
        self._finish((kind, _subject(event, kind)), event.ts)

    def _finish(self, key: tuple[SpanKind, str], at: float) -> None:
        bar = self._waits.pop(key, None)
        if bar is not None:
            end = max(bar.start, at)
            self.finished.append(replace(bar, end=end, seconds=end - bar.start))


def _subject(event: Event, kind: SpanKind) -> str:
    """Return a key of a wait that its beginning and its end have in common."""
    return str(event.data.get("question_id") or "") if kind == "human" else event.entity


def entity_order(bars: Iterable[Bar]) -> tuple[str, ...]:
    """Return the names that have bars: the coordinator first, then in order of appearance."""
    names = dict.fromkeys(bar.entity for bar in sorted(bars, key=_begin))
    return tuple(sorted(names, key=lambda name: name != COORDINATOR_NAME))


def marked(bar: Bar, critical: Sequence[tuple[float, float]], now: float) -> Bar:
    """Return a bar, marked if it overlaps a critical interval; the intervals are sorted."""
    place = bisect_left(critical, (bar.end or now, 0.0)) - 1
    is_critical = place >= 0 and critical[place][1] > bar.start
    return replace(bar, is_critical=True) if is_critical else bar


def bounded(bars: Iterable[Bar], resolution_seconds: float, most: int) -> tuple[list[Bar], float]:
    """Return bars merged until at most `most` remain, and the resolution of the merge.

    The merge starts with `resolution_seconds` and continues with coarser resolutions.
    """
    found = put_together(sorted(bars, key=_begin), resolution_seconds)
    times = [bar.end or bar.start for bar in found]
    longest = max(times) - found[0].start if found else 0.0
    while len(found) > most and resolution_seconds <= longest:
        resolution_seconds = max(2 * resolution_seconds, longest / most)
        found = put_together(found, resolution_seconds)
    return found, resolution_seconds


def put_together(bars: Iterable[Bar], resolution_seconds: float) -> list[Bar]:
    """Return bars sorted by their start, with short bars in close succession merged.

    Bars are short if shorter than `resolution_seconds`, and so are the gaps between them. Only bars
    of one entity, kind and node are merged, and no unfinished bars.
    """
    found: list[list[Bar]] = []
    ends: dict[tuple[str, str, str | None, bool], tuple[list[Bar], float]] = {}
    for bar in bars:
        end = bar.end
        if end is None or bar.kind in WHOLE:
            found.append([bar])
            continue
        key = (bar.entity, bar.kind, bar.node, bool(bar.problem))
        if bar.count == 1 and end - bar.start >= resolution_seconds:
            ends.pop(key, None)
            found.append([bar])
            continue
        known = ends.get(key)
        if known is not None and bar.start - known[1] < resolution_seconds:
            known[0].append(bar)
            ends[key] = (known[0], max(known[1], end))
        else:
            group = [bar]
            ends[key] = (group, end)
            found.append(group)
    return [group[0] if len(group) == 1 else _as_one(group) for group in found]


def _begin(bar: Bar) -> float:
    return bar.start


def _as_one(bars: Sequence[Bar]) -> Bar:
    names = dict.fromkeys(name for bar in bars for name in bar.name.split(", "))
    return replace(
        bars[0],
        name=", ".join(islice(names, NAMES_SHOWN)),
        end=max(bar.end or 0.0 for bar in bars),
        seconds=sum(bar.seconds for bar in bars),
        count=sum(bar.count for bar in bars),
        is_critical=any(bar.is_critical for bar in bars),
    )
