"""Spans of a team's events: the right parents, the same ids again, nothing lost at a restart."""

import json
from typing import Any

from agiraph.ids import AgentId, NodeId, RunId
from agiraph.models import Event
from agiraph.tracing import spans
from agiraph.tracing.spans import Span, span_id, trace_id
from agiraph.tracing.weaving import MOST_OPEN, State, Weaver

LEAD, ADA = "shop-1/coordinator", "shop-1/ada-7"


class Log:
    """The events of a run, one after the other, each a second after the one before."""

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
    log.add("model.answered", LEAD, "5", model="anthropic/fake", calls=[])
    log.add("agent.completed", result="done")
    return log


def woven(log: Log, *, restart_at: int = 0, with_content: bool = False) -> list[Span]:
    """Weave a log; with `restart_at`, by a weaver that goes on from the kept state there."""
    weaver = Weaver("shop-1", State(), with_content=with_content)
    found = []
    for event in log.events:
        if event.seq == restart_at:
            kept = json.loads(json.dumps(weaver.state.as_json()))
            weaver = Weaver("shop-1", State(**kept), with_content=with_content)
        found += weaver.weave(event)
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


def test_spans_last_from_the_question_to_the_last_result_and_say_what_they_cost() -> None:
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
    log = team()
    whole = woven(log)
    for seq in range(1, len(log.events) + 1):
        assert woven(log, restart_at=seq) == whole


def test_what_tools_were_given_is_shown_only_on_request() -> None:
    told = json.dumps([span.attributes for span in woven(team())])
    assert "make" not in told
    shown = next(s for s in woven(team(), with_content=True) if s.name == "execute_tool bash")
    assert "make" in str(shown.attributes[spans.TOOL_ARGUMENTS])
    assert shown.attributes[spans.TOOL_RESULT] == "no make"


def test_a_failed_run_says_why_and_ends_its_open_nodes() -> None:
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


def test_what_never_ends_is_given_up_beyond_a_bound() -> None:
    log = Log()
    for number in range(MOST_OPEN + 10):
        log.add("tool.called", ADA, f"{number}.0", tool="bash")
    weaver = Weaver("shop-1", State())
    for event in log.events:
        weaver.weave(event)
    assert len(weaver.state.calls) == MOST_OPEN


def test_the_names_are_those_of_the_published_conventions() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as published

    names = {value for name, value in vars(published).items() if name.startswith("GEN_AI_")}
    ours = {value for value in vars(spans).values() if str(value).startswith("gen_ai.")}
    assert ours <= names
    operations = {one.value for one in published.GenAiOperationNameValues}
    assert {spans.CHAT, spans.EXECUTE_TOOL, spans.INVOKE_AGENT} <= operations
