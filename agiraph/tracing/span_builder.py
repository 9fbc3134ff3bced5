"""SpanBuilder: an agent's events, in their order, become finished spans. Pure.

    run (invoke_agent)
    ├── turn of the coordinator
    │   ├── chat                    one model call
    │   └── execute_tool            each tool call that it requested
    └── node (invoke_agent)         a worker's work, under its parent's node if it has one
        ├── turn of the worker ...
        └── start (invoke_agent)    of the external agent that works for it, from launch to end
            └── execute_tool        each of its own tool calls

A turn begins with its model call and ends with its last tool call. Open spans are in the builder's
state, which is plain data and is stored beside the cursor into the log.

Every span's parent is sent: spans that are open when their run ends are ended with it, and events
of a run whose start was not seen make no span.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agiraph.core.event_types import RUN_ENDS
from agiraph.core.models import Event
from agiraph.tracing import spans as s
from agiraph.tracing.spans import Span, Value, span_id, trace_id

JsonObject = dict[str, Any]

MOST_OPEN = 2000
"""The maximum of open spans of one kind; beyond it the oldest are dropped."""

RUNS_KNOWN = 100
"""The number of remembered ended runs: the last events of a run arrive after its end."""

OUTSIDE = "outside."
"""The prefix of the step of an external agent's tool call: `outside.{its start}.{the call}`."""

TURN = "turn"
CUT_OFF = "it was never finished"
ENDS = {
    "agent.completed": "",
    "agent.failed": "the run failed",
    "agent.stopped": "the run was stopped",
    "node.completed": "",
    "node.failed": "the node failed",
    "node.cancelled": "the node was cancelled",
}


def last_ended_before(events: Iterable[Event], since: float) -> int:
    """Return the seq of the last event of the runs that ended before `since`, else 0."""
    ends = (event.seq for event in events if event.type in RUN_ENDS and event.ts < since)
    return max(ends, default=0)


@dataclass(slots=True)
class SpanBuilderState:
    """The open spans of one agent, as plain data; `cursor` is the last event that was applied.

    `runs`, `nodes`: by id; `turns`: by address; `calls`: by address and step; `heard`: the time of
    each address's last event. `starts`: the last start of an external agent, by its worker's
    address, also when it is over; `over`: the end of each of the last runs; `sent`: the end of each
    of the last nodes whose span was sent; `asked`: the step of each address's last turn.
    """

    cursor: int = 0
    name: str = ""
    runs: dict[str, JsonObject] = field(default_factory=dict)
    nodes: dict[str, JsonObject] = field(default_factory=dict)
    turns: dict[str, JsonObject] = field(default_factory=dict)
    calls: dict[str, JsonObject] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    starts: dict[str, JsonObject] = field(default_factory=dict)
    over: dict[str, float] = field(default_factory=dict)
    sent: dict[str, float] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)


class SpanBuilder:
    """Builds the spans of one agent, from `state` on, which is modified.

    `with_content` adds the arguments and results of tool calls.
    """

    def __init__(self, agent: str, state: SpanBuilderState, *, with_content: bool = False) -> None:
        self._agent = agent
        self.state = state
        self._with_content = with_content
        self._spans: list[Span] = []

    def build_spans(self, event: Event) -> list[Span]:
        """Apply an event; return the spans that it finishes."""
        self._spans = []
        self.state.cursor = event.seq
        if event.type == "agent.started":
            self._begin_run(event)
        if event.run_id in self.state.runs or event.run_id in self.state.over:
            self._apply(event)
            self._bound()
        return self._spans

    def _apply(self, event: Event) -> None:
        address, step = _place(event)
        run, node = event.run_id or "", event.node_id or ""
        if step and event.node_id not in self.state.sent:
            self._begin_node(event)  # its worker's events may arrive before its coordinator's
        match event.type:
            case "agent.completed" | "agent.failed" | "agent.stopped" if run in self.state.runs:
                self._close_run(run, event.ts, _problem(event))
            case "node.created" | "node.assigned" | "node.started":
                self._begin_node(event)
            case "node.completed" | "node.failed" | "node.cancelled" if node in self.state.nodes:
                self._close_node(node, event.ts, _problem(event))
            case "outside.started" if step:
                self._begin_start(event, address, step)
            case "outside.ended" if address:
                self._end_start(event, address)
            case "model.answered" if step and _is_call(event):
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

    # --- runs and nodes --------------------------------------------------------------------------

    def _begin_run(self, event: Event) -> None:
        if event.run_id and event.run_id not in self.state.over:
            self.state.runs.setdefault(
                event.run_id, {"start": event.ts, "model": str(event.data.get("model") or "")}
            )

    def _close_run(self, id: str, end: float, problem: str) -> None:
        """End a run and all its open spans: further events of it may not arrive."""
        state = self.state
        run = state.runs.pop(id)
        state.over[id] = end
        for address in [one for one, turn in state.turns.items() if turn["run"] == id]:
            self._close_turn(address, end)
        for address in [one for one, start in state.starts.items() if start["run"] == id]:
            self._close_start(address, end, "the run ended first")
        for node in [one for one, node in state.nodes.items() if node["run"] == id]:
            self._close_node(node, end, "the run ended first")
        name = state.name or self._agent
        about = self._about(name, id) | {s.AGENT_ID: self._agent, **s.model_of(run["model"])}
        self._finish(
            s.INVOKE_AGENT, name, id, self._run_span(id), "", run["start"], end, about, problem
        )

    def _begin_node(self, event: Event) -> None:
        if not event.node_id or event.run_id not in self.state.runs:
            return
        node = self.state.nodes.setdefault(event.node_id, {"run": event.run_id, "start": event.ts})
        data = event.data
        for key in ("name", "role", "worker", "parent_node"):
            if data.get(key) and event.type.startswith("node."):
                node[key] = str(data[key])
        if event.type != "node.created" and not node.get("is_begun"):
            node |= {"is_begun": True, "start": event.ts}

    def _close_node(self, id: str, end: float, problem: str) -> None:
        node = self.state.nodes.pop(id)
        if not node.get("is_begun"):
            return
        self.state.sent[id] = end
        worker = node.get("worker", "")
        parent = node.get("parent_node")
        run = node["run"]
        about = self._about(worker, run, id)
        about |= {"agiraph.node.name": node.get("name", "")}
        about |= {"agiraph.node.role": node.get("role", "")}
        self._finish(
            s.INVOKE_AGENT,
            worker or node.get("name", id),
            run,
            self._node_span(run, id),
            self._work_span(run, parent),
            node["start"],
            end,
            about,
            problem,
        )

    # --- turns -----------------------------------------------------------------------------------

    def _answered(self, event: Event, address: str, step: str) -> None:
        self._close_turn(address)
        data, run = event.data, event.run_id or ""
        asked = data.get("asked_at") or self.state.heard.get(address) or event.ts
        start = min(float(asked), event.ts)
        turn = span_id("turn", address, step)
        about = self._about(event.entity, run, event.node_id)
        model = str(data.get("model") or "")
        self._finish(
            s.CHAT,
            model.partition("/")[2] or model,
            run,
            span_id("chat", address, step),
            turn,
            start,
            event.ts,
            {**s.model_of(model), **s.usage_of(data), **about},
        )
        self.state.asked[address] = step
        self.state.turns[address] = {
            "step": step,
            "run": run,
            "node": event.node_id,
            "start": start,
            "end": event.ts,
            "left": len(data.get("calls") or ()),
            "about": about,
        }
        if not data.get("calls") or run not in self.state.runs:
            self._close_turn(address)

    def _close_turn(self, address: str, end: float = 0.0) -> None:
        """End an entity's turn with its last tool call, and not before `end`."""
        turn = self.state.turns.pop(address, None)
        if turn is None:
            return
        run, node = turn["run"], turn["node"]
        self._finish(
            TURN,
            "",
            run,
            span_id("turn", address, turn["step"]),
            self._work_span(run, node),
            turn["start"],
            max(turn["end"], end),
            turn["about"],
        )

    # --- starts of external agents --------------------------------------------------------------

    def _begin_start(self, event: Event, address: str, at: str) -> None:
        """Open the start with the worker's id `at`, unless it is open."""
        known = self.state.starts.get(address)
        if known is None or known["at"] != at:
            self._close_start(address, event.ts, CUT_OFF)
            run = event.run_id or ""
            known = {"at": at, "run": run, "node": event.node_id, "start": event.ts, "name": ""}
            known["worker"] = event.entity
            self.state.starts[address] = known
        known["name"] = str(event.data.get("agent") or known["name"])
        if event.run_id not in self.state.runs:
            self._close_start(address, event.ts, CUT_OFF)

    def _end_start(self, event: Event, address: str) -> None:
        known = self.state.starts.get(address)
        if known is not None:
            known["name"] = str(event.data.get("agent") or known["name"])
            is_known = s.has_usage(event.data) or event.data.get("account") == "door"
            usage = s.usage_of(event.data) if is_known else {}
            self._close_start(address, event.ts, str(event.data.get("problem") or ""), usage)

    def _close_start(
        self, address: str, end: float, problem: str, usage: dict[str, Value] | None = None
    ) -> None:
        """End a start that is not over, and its open tool calls."""
        known = self.state.starts.get(address)
        if known is None or known.get("is_over"):
            return
        known["is_over"] = True
        run, node, at = known["run"], known["node"], known["at"]
        for step in [
            one for one in self.state.calls if one.startswith(f"{address}:{OUTSIDE}{at}.")
        ]:
            call = self.state.calls.pop(step)
            self._finish_call(address, step.removeprefix(f"{address}:"), call, end, CUT_OFF)
        about = self._about(known["name"], run, node)
        about |= {"agiraph.worker": known["worker"], **(usage or {})}
        self._finish(
            s.INVOKE_AGENT,
            known["name"] or "external agent",
            run,
            span_id("start", address, at),
            self._work_span(run, node),
            known["start"],
            end,
            about,
            problem,
        )

    # --- tool calls ------------------------------------------------------------------------------

    def _called(self, event: Event, address: str, step: str) -> None:
        if step.startswith(OUTSIDE):
            self._begin_start(event, address, _start_of(step))
        self.state.calls[f"{address}:{step}"] = self._call_of(event) | {
            "arguments": s.as_json(event.data.get("arguments") or {})
            if self._with_content
            else None
        }

    def _returned(self, event: Event, address: str, step: str) -> None:
        known = self.state.calls.pop(f"{address}:{step}", None)
        if step.startswith(OUTSIDE):
            self._begin_start(event, address, _start_of(step))
            if known is None and self.state.starts[address].get("is_over"):
                return  # it was ended and sent with its start
        call = known or self._call_of(event)
        call |= {"tool": event.data.get("tool") or call["tool"]}
        if self._with_content:
            call["result"] = str(event.data.get("preview") or "")
        problem = "the tool failed" if event.data.get("is_error") else ""
        self._finish_call(address, step, call, event.ts, problem)
        turn, at = self.state.turns.get(address), step.partition(".")[0]
        if turn is not None and turn["step"] == at:
            turn |= {"end": max(turn["end"], event.ts), "left": turn["left"] - 1}
            if turn["left"] <= 0:
                self._close_turn(address)

    def _call_of(self, event: Event) -> JsonObject:
        """Return the facts about a call from its first event."""
        tool = str(event.data.get("tool") or "")
        about = self._about(event.entity, event.run_id, event.node_id)
        return {"tool": tool, "run": event.run_id or "", "start": event.ts, "about": about}

    def _finish_call(
        self, address: str, step: str, call: JsonObject, end: float, problem: str
    ) -> None:
        shown = {s.TOOL_ARGUMENTS: call.get("arguments"), s.TOOL_RESULT: call.get("result")}
        attributes: dict[str, Value] = {
            s.TOOL_NAME: call["tool"],
            s.TOOL_TYPE: "function",
            s.TOOL_CALL_ID: f"{address}:{step}",
            **call["about"],
            **{name: value for name, value in shown.items() if value is not None},
        }
        self._finish(
            s.EXECUTE_TOOL,
            call["tool"],
            call["run"],
            span_id("tool", address, step),
            self._above_call(address, step, call),
            call["start"],
            end,
            attributes,
            problem,
        )

    def _above_call(self, address: str, step: str, call: JsonObject) -> str:
        """Return the span above a tool call; its node's if the report of its turn was lost."""
        if step.startswith(OUTSIDE):
            return span_id("start", address, _start_of(step))
        at = step.partition(".")[0]
        if self.state.asked.get(address) == at:
            return span_id("turn", address, at)
        return self._work_span(call["run"], call["about"].get("agiraph.node.id"))

    # --- common parts ----------------------------------------------------------------------------

    def _about(self, name: str, run: str | None, node: str | None = None) -> dict[str, Value]:
        about: dict[str, Value] = {s.AGENT_NAME: name, s.CONVERSATION_ID: self._agent}
        about["agiraph.run.id"] = run or ""
        return about | ({"agiraph.node.id": node} if node else {})

    def _run_span(self, run: str) -> str:
        return span_id("run", self._agent, run)

    def _work_span(self, run: str, node: str | None) -> str:
        """Return the span of a node that has begun; else the span of the run."""
        is_known = node in self.state.nodes or node in self.state.sent
        return self._node_span(run, node) if node and is_known else self._run_span(run)

    def _node_span(self, run: str, node: str) -> str:
        return span_id("node", self._agent, run, node)

    def _finish(
        self,
        operation: str,
        name: str,
        run: str,
        id: str,
        parent: str,
        start: float,
        end: float,
        attributes: dict[str, Value],
        problem: str = "",
    ) -> None:
        if operation != TURN:
            attributes = {s.OPERATION: operation, **attributes}
        if problem:
            attributes = attributes | {s.ERROR_TYPE: "agiraph"}
        trace, end = trace_id(self._agent, run), max(start, end)
        called, is_call = f"{operation} {name}".rstrip(), operation == s.CHAT
        self._spans.append(
            Span(called, trace, id, parent, start, end, attributes, is_call, problem)
        )

    def _bound(self) -> None:
        state = self.state
        for kept in (state.calls, state.heard, state.sent, state.asked):
            for key in _surplus(kept):
                kept.pop(key)
        for key in _surplus(state.over, RUNS_KNOWN):
            state.over.pop(key)
        for address in _surplus(state.turns):
            self._close_turn(address)
        for address in _surplus(state.starts):
            self._close_start(address, state.heard.get(address, 0.0), CUT_OFF)
            state.starts.pop(address)
        for id in _surplus(state.nodes):
            self._close_node(id, state.nodes[id]["start"], CUT_OFF)
        for id in _surplus(state.runs):
            self._close_run(id, state.runs[id]["start"], CUT_OFF)


def _surplus(kept: Mapping[str, object], most: int = MOST_OPEN) -> list[str]:
    """Return the oldest keys beyond a limit."""
    if len(kept) <= most:
        return []
    return list(islice(kept, max(0, len(kept) - most)))


def _place(event: Event) -> tuple[str, str]:
    """Return the address and step of an entity's event: its key is `address:type:step`."""
    address, _, rest = event.key.partition(":")
    return (address, rest.partition(":")[2]) if rest.startswith(f"{event.type}:") else ("", "")


def _start_of(step: str) -> str:
    """Return the start of an external agent to which its tool call belongs."""
    return step.removeprefix(OUTSIDE).partition(".")[0]


def _is_call(event: Event) -> bool:
    """Whether a model's answer belongs to a call of ours.

    The output of an external agent is also reported as an answer, without the time of its model
    call and without its usage.
    """
    return bool(event.data.get("asked_at")) or s.has_usage(event.data)


def _problem(event: Event) -> str:
    words = ENDS[event.type]
    return f"{words}: {event.data['reason']}" if words and event.data.get("reason") else words
