"""The weaver: an agent's events, in their order, become finished spans. Pure.

    run (invoke_agent)
    ├── turn of the coordinator
    │   ├── chat                    one model call
    │   └── execute_tool            each tool call that it asked for
    └── node (invoke_agent)         a worker's work, under its parent's node if it has one
        └── turn of the worker ...

A turn begins when its model is asked and ends with its last tool call. What is under way stands in
the weaver's state, which is plain data and is kept beside the cursor into the log.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from agiraph.models import Event
from agiraph.tracing import spans as s
from agiraph.tracing.spans import Span, Value, span_id, trace_id

JsonObject = dict[str, Any]

MOST_OPEN = 2000
"""Things of one kind that may be under way; the oldest are given up beyond that."""

CUT_OFF = "it was never finished"
ENDS = {
    "agent.completed": "",
    "agent.failed": "the run failed",
    "agent.stopped": "the run was stopped",
    "node.completed": "",
    "node.failed": "the node failed",
    "node.cancelled": "the node was cancelled",
}
RUN_ENDS = ("agent.completed", "agent.failed", "agent.stopped")
CONTENT_LIMIT = 2000


def past(events: Iterable[Event], since: float) -> int:
    """Return the seq of the last event of the runs that were over before `since`, 0 if none was."""
    ends = (event.seq for event in events if event.type in RUN_ENDS and event.ts < since)
    return max(ends, default=0)


@dataclass(slots=True)
class State:
    """What is under way in one agent, as plain data; `cursor` is the last event that was taken in.

    `runs`, `nodes`: by id; `turns`: by address; `calls`: by address and step; `heard`: when each
    address last did something.
    """

    cursor: int = 0
    name: str = ""
    runs: dict[str, JsonObject] = field(default_factory=dict)
    nodes: dict[str, JsonObject] = field(default_factory=dict)
    turns: dict[str, JsonObject] = field(default_factory=dict)
    calls: dict[str, JsonObject] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return it as plain data."""
        return asdict(self)


class Weaver:
    """Weaves the events of one agent."""

    def __init__(self, agent: str, state: State, *, with_content: bool = False) -> None:
        """Go on from `state`, which is changed; `with_content` shows what tools were given."""
        self._agent = agent
        self.state = state
        self._with_content = with_content
        self._spans: list[Span] = []

    def weave(self, event: Event) -> list[Span]:
        """Take an event in; return the spans that it finishes."""
        self._spans = []
        self.state.cursor = event.seq
        address, step = _place(event)
        match event.type:
            case "agent.created" | "agent.started":
                self._begin_run(event)
            case "agent.completed" | "agent.failed" | "agent.stopped":
                self._end_run(event)
            case "node.created" | "node.assigned" | "node.started":
                self._begin_node(event)
            case "node.completed" | "node.failed" | "node.cancelled":
                self._end_node(event)
            case "model.answered" if step:
                self._answered(event, address, step)
            case "tool.called" if step:
                self._called(event, address, step)
            case "tool.result" if step:
                self._returned(event, address, step)
            case _:
                pass
        if address:
            self.state.heard.pop(address, None)
            self.state.heard[address] = event.ts
        self._bound()
        return self._spans

    # --- runs and nodes --------------------------------------------------------------------------

    def _begin_run(self, event: Event) -> None:
        if event.type == "agent.started" and event.run_id:
            self.state.runs.setdefault(
                event.run_id, {"start": event.ts, "model": str(event.data.get("model") or "")}
            )

    def _end_run(self, event: Event) -> None:
        run = self.state.runs.pop(event.run_id or "", None)
        if run is None or not event.run_id:
            return
        for id, node in list(self.state.nodes.items()):
            if node["run"] == event.run_id:
                self._close_node(id, event.ts, "the run ended first")
        name = self.state.name or self._agent
        self._finish(
            f"{s.INVOKE_AGENT} {name}",
            event.run_id,
            self._run_span(event.run_id),
            "",
            run["start"],
            event.ts,
            {
                s.OPERATION: s.INVOKE_AGENT,
                s.AGENT_ID: self._agent,
                s.AGENT_NAME: name,
                s.CONVERSATION_ID: self._agent,
                "agiraph.run.id": event.run_id,
                **_model_of(run["model"]),
            },
            problem=_problem(event),
        )

    def _begin_node(self, event: Event) -> None:
        if not event.node_id or not event.run_id:
            return
        node = self.state.nodes.setdefault(event.node_id, {"run": event.run_id, "start": event.ts})
        data = event.data
        for key in ("name", "role", "worker", "parent_node"):
            if data.get(key):
                node[key] = str(data[key])
        if event.type != "node.created" and not node.get("is_begun"):
            node |= {"is_begun": True, "start": event.ts}

    def _end_node(self, event: Event) -> None:
        if event.node_id in self.state.nodes:
            self._close_node(event.node_id, event.ts, _problem(event))

    def _close_node(self, id: str, end: float, problem: str) -> None:
        node = self.state.nodes.pop(id)
        if not node.get("is_begun"):
            return
        worker = node.get("worker", "")
        parent = node.get("parent_node")
        run = node["run"]
        attributes: dict[str, Value] = {
            s.OPERATION: s.INVOKE_AGENT,
            s.AGENT_NAME: worker,
            s.CONVERSATION_ID: self._agent,
            "agiraph.run.id": run,
            "agiraph.node.id": id,
            "agiraph.node.name": node.get("name", ""),
            "agiraph.node.role": node.get("role", ""),
        }
        self._finish(
            f"{s.INVOKE_AGENT} {worker or node.get('name', id)}",
            run,
            span_id("node", self._agent, run, id),
            span_id("node", self._agent, run, parent) if parent else self._run_span(run),
            node["start"],
            end,
            attributes,
            problem=problem,
        )

    # --- turns -----------------------------------------------------------------------------------

    def _answered(self, event: Event, address: str, step: str) -> None:
        self._close_turn(address)
        data, run = event.data, event.run_id or ""
        asked = data.get("asked_at") or self.state.heard.get(address) or event.ts
        start = min(float(asked), event.ts)
        turn = span_id("turn", address, step)
        about = self._about(event)
        model = str(data.get("model") or "")
        usage = {
            s.INPUT_TOKENS: data.get("input_tokens"),
            s.OUTPUT_TOKENS: data.get("output_tokens"),
            s.CACHE_READ: data.get("cache_read_tokens"),
            s.CACHE_WRITE: data.get("cache_write_tokens"),
            "agiraph.cost_usd": data.get("cost_usd"),
        }
        known: dict[str, Value] = {
            name: value for name, value in usage.items() if value is not None
        }
        self._finish(
            f"{s.CHAT} {model.partition('/')[2] or model}",
            run,
            span_id("chat", address, step),
            turn,
            start,
            event.ts,
            {s.OPERATION: s.CHAT, **_model_of(model), **known, **about},
            is_call=True,
        )
        self.state.turns[address] = {
            "step": step,
            "run": run,
            "node": event.node_id,
            "start": start,
            "end": event.ts,
            "left": len(data.get("calls") or ()),
            "about": about,
        }
        if not data.get("calls"):
            self._close_turn(address)

    def _close_turn(self, address: str) -> None:
        turn = self.state.turns.pop(address, None)
        if turn is None:
            return
        run, node = turn["run"], turn["node"]
        self._finish(
            "turn",
            run,
            span_id("turn", address, turn["step"]),
            span_id("node", self._agent, run, node) if node else self._run_span(run),
            turn["start"],
            turn["end"],
            turn["about"],
        )

    def _called(self, event: Event, address: str, step: str) -> None:
        shown = str(event.data.get("arguments") or "")[:CONTENT_LIMIT] if self._with_content else ""
        self.state.calls[f"{address}:{step}"] = {"start": event.ts, "arguments": shown}

    def _returned(self, event: Event, address: str, step: str) -> None:
        call = self.state.calls.pop(f"{address}:{step}", None)
        tool, data = str(event.data.get("tool") or ""), event.data
        at = step.partition(".")[0]
        attributes: dict[str, Value] = {
            s.OPERATION: s.EXECUTE_TOOL,
            s.TOOL_NAME: tool,
            s.TOOL_TYPE: "function",
            s.TOOL_CALL_ID: f"{address}:{step}",
            **self._about(event),
        }
        if self._with_content:
            attributes[s.TOOL_ARGUMENTS] = call["arguments"] if call else ""
            attributes[s.TOOL_RESULT] = str(data.get("preview") or "")
        self._finish(
            f"{s.EXECUTE_TOOL} {tool}",
            event.run_id or "",
            span_id("tool", address, step),
            span_id("turn", address, at),
            call["start"] if call else event.ts,
            event.ts,
            attributes,
            problem="the tool failed" if data.get("is_error") else "",
        )
        turn = self.state.turns.get(address)
        if turn is not None and turn["step"] == at:
            turn |= {"end": max(turn["end"], event.ts), "left": turn["left"] - 1}
            if turn["left"] <= 0:
                self._close_turn(address)

    # --- what all have in common -----------------------------------------------------------------

    def _about(self, event: Event) -> dict[str, Value]:
        about: dict[str, Value] = {
            s.AGENT_NAME: event.entity,
            s.CONVERSATION_ID: self._agent,
            "agiraph.run.id": event.run_id or "",
        }
        return about | ({"agiraph.node.id": event.node_id} if event.node_id else {})

    def _run_span(self, run: str) -> str:
        return span_id("run", self._agent, run)

    def _finish(
        self,
        name: str,
        run: str,
        id: str,
        parent: str,
        start: float,
        end: float,
        attributes: dict[str, Value],
        *,
        is_call: bool = False,
        problem: str = "",
    ) -> None:
        if problem:
            attributes = attributes | {s.ERROR_TYPE: "agiraph"}
        trace = trace_id(self._agent, run)
        end = max(start, end)
        self._spans.append(Span(name, trace, id, parent, start, end, attributes, is_call, problem))

    def _bound(self) -> None:
        state = self.state
        for kept in (state.runs, state.nodes, state.calls, state.heard):
            while len(kept) > MOST_OPEN:
                kept.pop(next(iter(kept)))
        while len(state.turns) > MOST_OPEN:
            self._close_turn(next(iter(state.turns)))


def _place(event: Event) -> tuple[str, str]:
    """Return the address and step of what an entity did: its key is `address:type:step`."""
    address, _, rest = event.key.partition(":")
    return (address, rest.partition(":")[2]) if rest.startswith(f"{event.type}:") else ("", "")


def _problem(event: Event) -> str:
    words = ENDS[event.type]
    return f"{words}: {event.data['reason']}" if words and event.data.get("reason") else words


def _model_of(model: str) -> dict[str, Value]:
    if not model:
        return {}
    provider, slash, name = model.partition("/")
    attributes: dict[str, Value] = {s.REQUEST_MODEL: name or model, s.RESPONSE_MODEL: name or model}
    return attributes | ({s.PROVIDER: provider} if slash else {})
