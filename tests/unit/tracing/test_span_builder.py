"""Spans of a team's events: the right parents, the same ids again, nothing lost at a restart."""

import json
from dataclasses import asdict
from typing import Any

from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Event
from agiraph.tracing import spans
from agiraph.tracing.span_builder import CUT_OFF, MOST_OPEN, SpanBuilder, SpanBuilderState
from agiraph.tracing.spans import CONTENT_LIMIT, Span, span_id, trace_id

LEAD, ADA = "shop-1/coordinator", "shop-1/ada-7"
USED = {"input_tokens": 30, "output_tokens": 3, "cost_usd": None}


class Log:
    """The events of a run, in order, each a second after the last."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(
        self, type: str, address: str = "", step: str = "", node: str | None = None, **data: Any
    ) -> None:
        seq = len(self.events) + 1
        self.events.append(
            Event(
                type=type,
                agent_id=AgentId("shop-1"),
                ts=float(seq),
                entity=address.rpartition("/")[2].partition("-")[0],
                run_id=RunId("r1"),
                node_id=NodeId(node) if node else None,
                data=data,
                seq=seq,
                key=f"{address}:{type}:{step}" if address else "",
            )
        )


def team() -> Log:
    """Return a run in which a worker does one node in two turns."""
    log = Log()
    log.add("agent.created", goal="g")
    log.add("agent.started", model="anthropic/fake")
    log.add("model.answered", LEAD, "3", model="anthropic/fake", calls=["wait"], asked_at=2.5)
    log.add("tool.called", LEAD, "3.0", tool="wait", arguments={})
    log.add("node.created", node="n1", name="facts", role="writer")
    log.add("node.started", node="n1", name="facts", worker="ada")
    log.add(
        "model.answered", ADA, "2", "n1",
        model="openai/gpt", calls=["bash", "publish"], input_tokens=10, output_tokens=2,
        cost_usd=0.5,
    )  # fmt: skip
    log.add("tool.called", ADA, "2.0", "n1", tool="bash", arguments={"command": "make"})
    log.add("tool.result", ADA, "2.0", "n1", tool="bash", is_error=True, preview="no make")
    log.add("tool.called", ADA, "2.1", "n1", tool="publish", arguments={})
    log.add("node.completed", node="n1", name="facts", worker="ada")
    log.add("tool.result", ADA, "2.1", "n1", tool="publish", is_error=False, preview="ok")
    log.add("tool.result", LEAD, "3.0", tool="wait", is_error=False, preview="ok")
    log.add("model.answered", LEAD, "5", model="anthropic/fake", calls=[], asked_at=13.5)
    log.add("agent.completed", result="done")
    return log


def woven(log: Log, *, restart_at: int = 0, with_content: bool = False) -> list[Span]:
    """Weave a log; with `restart_at`, by a weaver that continues from the kept state there."""
    weaver = SpanBuilder("shop-1", SpanBuilderState(), with_content=with_content)
    found = []
    for event in log.events:
        if event.seq == restart_at:
            kept = json.loads(json.dumps(asdict(weaver.state)))
            weaver = SpanBuilder("shop-1", SpanBuilderState(**kept), with_content=with_content)
        found += weaver.build_spans(event)
    return found


def test_a_run_is_one_tree() -> None:
    found = woven(team())
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found)
    assert {span.trace_id for span in found} == {trace_id("shop-1", "r1")}

    def path(span: Span) -> list[str]:
        parent = by_id.get(span.parent_id)
        return [*(path(parent) if parent else []), span.name]

    assert sorted(path(span) for span in found) == sorted(
        [
            ["invoke_agent shop-1"],
            ["invoke_agent shop-1", "turn"],
            ["invoke_agent shop-1", "turn", "chat fake"],
            ["invoke_agent shop-1", "turn", "execute_tool wait"],
            ["invoke_agent shop-1", "turn"],
            ["invoke_agent shop-1", "turn", "chat fake"],
            ["invoke_agent shop-1", "invoke_agent ada"],
            ["invoke_agent shop-1", "invoke_agent ada", "turn"],
            ["invoke_agent shop-1", "invoke_agent ada", "turn", "chat gpt"],
            ["invoke_agent shop-1", "invoke_agent ada", "turn", "execute_tool bash"],
            ["invoke_agent shop-1", "invoke_agent ada", "turn", "execute_tool publish"],
        ]
    )


def test_span_lasts_from_the_request_to_the_last_result_and_has_its_cost() -> None:
    found = woven(team())
    chat = next(span for span in found if span.name == "chat gpt")
    assert chat.is_call
    assert chat.attributes[spans.PROVIDER] == "openai"
    assert chat.attributes[spans.INPUT_TOKENS] == 10
    assert chat.attributes["agiraph.cost_usd"] == 0.5
    asked = next(span for span in found if span.name == "chat fake")
    assert (asked.start, asked.end) == (2.5, 3.0)
    wait = next(span for span in found if span.name == "execute_tool wait")
    turn = next(span for span in found if span.span_id == wait.parent_id)
    assert (turn.start, turn.end) == (2.5, 13.0)
    bash = next(span for span in found if span.name == "execute_tool bash")
    assert (bash.problem, bash.attributes[spans.ERROR_TYPE]) == ("the tool failed", "agiraph")


def test_a_restart_at_any_event_makes_the_same_spans() -> None:
    for log in (team(), outside()):
        whole = woven(log)
        for seq in range(1, len(log.events) + 1):
            assert woven(log, restart_at=seq) == whole


def test_tool_arguments_are_exported_only_on_request() -> None:
    told = json.dumps([span.attributes for span in woven(team())])
    assert "make" not in told
    shown = next(s for s in woven(team(), with_content=True) if s.name == "execute_tool bash")
    assert "make" in str(shown.attributes[spans.TOOL_ARGUMENTS])
    assert shown.attributes[spans.TOOL_RESULT] == "no make"


def outside() -> Log:
    """Return a run in which an external agent is killed, and finishes its node when restarted.

    The worker has died with its first start: nothing tells of that one's end.
    """
    log = Log()
    log.add("agent.started", model="anthropic/fake")
    log.add("node.created", node="n1", name="tool")
    log.add("node.started", node="n1", name="tool", worker="ada")
    log.add("outside.started", ADA, "e-2", "n1", agent="codex", number=1)
    log.add("model.answered", ADA, "e-4", "n1", model="codex", text="I look.", calls=[],
            asked_at=None, input_tokens=0, output_tokens=0)  # fmt: skip
    log.add("tool.called", ADA, "outside.e-2.item_1", "n1", tool="bash", arguments={"command": "a"})
    log.add("tool.called", ADA, "outside.e-2.item_2", "n1", tool="bash", arguments={"command": "b"})
    log.add("tool.result", ADA, "outside.e-2.item_1", "n1", tool="bash", preview="ok")
    log.add("outside.started", ADA, "e-6", "n1", agent="codex", number=2)
    log.add("tool.called", ADA, "outside.e-6.item_1", "n1", tool="bash", arguments={})
    log.add("tool.result", ADA, "outside.e-6.item_1", "n1", tool="bash", preview="done")
    log.add("outside.ended", ADA, "e-6", "n1", agent="codex", number=2, problem="", **USED)
    log.add("node.completed", node="n1", name="tool", worker="ada")
    log.add("agent.completed", result="done")
    return log


def orphans(found: list[Span]) -> list[str]:
    """Return the names of the spans whose parent was never sent."""
    sent = {span.span_id for span in found}
    return [span.name for span in found if span.parent_id and span.parent_id not in sent]


def test_each_start_of_an_external_agent_is_a_span_with_its_tools_and_usage() -> None:
    found = woven(outside())
    by_id = {span.span_id: span for span in found}
    assert (len(by_id), orphans(found)) == (len(found), [])
    first, second = (span for span in found if span.name == "invoke_agent codex")
    node = span_id("node", "shop-1", "r1", "n1")
    assert (first.parent_id, first.start, first.end, first.problem) == (node, 4.0, 9.0, CUT_OFF)
    assert (second.parent_id, second.start, second.end, second.problem) == (node, 9.0, 12.0, "")
    assert second.attributes[spans.INPUT_TOKENS] == 30
    assert second.attributes[spans.OUTPUT_TOKENS] == 3
    tools = [span for span in found if span.name == "execute_tool bash"]
    assert [(tool.parent_id, tool.problem) for tool in tools] == [
        (first.span_id, ""),
        (first.span_id, CUT_OFF),
        (second.span_id, ""),
    ]
    assert not [span for span in found if span.name.startswith("chat") or span.name == "turn"]


def test_start_without_its_report_is_inferred_from_its_tools() -> None:
    log = outside()
    log.events = [event for event in log.events if event.type != "outside.started"]
    found = woven(log)
    assert orphans(found) == []
    starts = [span for span in found if span.attributes.get("agiraph.worker") == "ada"]
    assert [span.name for span in starts] == ["invoke_agent external agent", "invoke_agent codex"]


def test_events_of_a_run_without_a_beginning_have_no_span() -> None:
    log = team()
    log.events = log.events[2:]
    assert woven(log) == []


def test_exported_arguments_are_always_json() -> None:
    for arguments in (
        {},
        {"path": "it's", "deep": [{"text": 'a "b" ü\n'}]},
        {"content": "x" * 100_000, "path": "a.md"},
        {f"name-{number}": "y" * 100 for number in range(1000)},
    ):
        log = Log()
        log.add("agent.started", model="m")
        log.add("tool.called", ADA, "2.0", tool="bash", arguments=arguments)
        log.add("tool.result", ADA, "2.0", tool="bash", preview="ok")
        [span] = woven(log, with_content=True)
        told = str(span.attributes[spans.TOOL_ARGUMENTS])
        shown = json.loads(told)
        assert len(told) < 2 * CONTENT_LIMIT
        assert shown == arguments or shown.get("path") == "a.md" or set(shown) == {"cut"}


def test_failed_run_has_its_reason_and_ends_open_nodes() -> None:
    log = Log()
    log.add("agent.started", model="m")
    log.add("node.created", node="n1", name="top")
    log.add("node.started", node="n1", worker="ada")
    log.add("node.created", node="n2", name="sub", parent_node="n1")
    log.add("node.started", node="n2", worker="bob")
    log.add("agent.failed", reason="no luck")
    log.add("agent.stopped", reason="stopped")
    found = woven(log)
    assert [span.name for span in found] == [
        "invoke_agent ada",
        "invoke_agent bob",
        "invoke_agent shop-1",
    ]
    assert found[2].problem == "the run failed: no luck"
    assert found[1].parent_id == span_id("node", "shop-1", "r1", "n1")
    assert found[0].problem == "the run ended first"


def test_open_calls_are_bounded() -> None:
    log = Log()
    log.add("agent.started", model="m")
    for number in range(MOST_OPEN + 10):
        log.add("tool.called", ADA, f"{number}.0", tool="bash")
    weaver = SpanBuilder("shop-1", SpanBuilderState())
    for event in log.events:
        weaver.build_spans(event)
    assert len(weaver.state.calls) == MOST_OPEN


def test_attribute_names_are_in_the_published_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as published

    names = {value for name, value in vars(published).items() if name.startswith("GEN_AI_")}
    ours = {value for value in vars(spans).values() if str(value).startswith("gen_ai.")}
    assert ours <= names
    operations = {one.value for one in published.GenAiOperationNameValues}
    assert {spans.CHAT, spans.EXECUTE_TOOL, spans.INVOKE_AGENT} <= operations
