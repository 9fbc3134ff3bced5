"""A run as bars: work from its spans, waits beside it, and short bars merged."""

from typing import Any

from agiraph.core.models import Event
from agiraph.tracing.timeline import Bar, RunTimeline, bounded, entity_order, marked, put_together
from tests.unit.tracing.test_span_builder import ADA, LEAD, Log, team


def made(log: Log) -> RunTimeline:
    timeline = RunTimeline("shop-1", "r1")
    for event in log.events:
        timeline.apply(event)
    return timeline


def shown(bar: Bar) -> tuple[Any, ...]:
    return bar.kind, bar.entity, bar.name, bar.start, bar.end


def bar(start: float, end: float | None, kind: Any = "tool", **more: Any) -> Bar:
    seconds = (end or start) - start
    return Bar(f"{kind}{start}", kind, "ada", "bash", start, end, seconds=seconds, **more)


def test_a_run_has_bars_for_nodes_models_tools_and_waits() -> None:
    timeline = made(team())
    assert (timeline.start, timeline.end, timeline.seq) == (2.0, 15.0, 15)
    bars = timeline.bars()
    assert sorted(map(shown, bars)) == [
        ("model", "ada", "gpt", 7.0, 7.0),
        ("model", "coordinator", "fake", 2.5, 3.0),
        ("model", "coordinator", "fake", 13.5, 14.0),
        ("node", "ada", "facts", 6.0, 11.0),
        ("tool", "ada", "bash", 8.0, 9.0),
        ("tool", "ada", "publish", 10.0, 12.0),
        ("wait", "coordinator", "wait", 4.0, 13.0),
    ]
    [node] = [one for one in bars if one.kind == "node"]
    assert {one.parent for one in bars if one.entity == "ada" and one is not node} == {node.id}
    assert [one.problem for one in bars if one.name == "bash"] == ["the tool failed"]
    assert entity_order(bars) == ("coordinator", "ada")


def test_running_bars_have_no_end_and_end_with_the_run() -> None:
    whole = team()
    log = Log()
    log.events = whole.events[:8]
    timeline = made(log)
    going = [shown(one) for one in timeline.bars() if one.end is None]
    assert sorted(going) == [
        ("node", "ada", "facts", 6.0, None),
        ("tool", "ada", "bash", 8.0, None),
        ("wait", "coordinator", "wait", 4.0, None),
    ]
    log.add("agent.stopped", reason="enough")
    timeline.apply(log.events[-1])
    assert timeline.end == 9.0
    assert {one.end for one in timeline.bars() if one.kind in ("node", "tool")} == {9.0}


def test_approvals_pauses_and_crashes_are_waits() -> None:
    log = Log()
    log.events = team().events[:7]
    log.add("human.question", question_id="q1", kind="approval", question="May I\n run it?")
    log.add("human.question", question_id="q2", kind="question", question="Which?")
    log.add("worker.paused", ADA)
    log.add("human.response", question_id="q1", kind="approval")
    log.add("human.response", question_id="q2", kind="question")
    log.add("worker.resumed", ADA)
    log.add("child.crashed", cause="signal 9")
    log.add("child.backing_off", cause="signal 9")
    log.add("child.ready")
    log.add("agent.paused", LEAD)
    found = [one for one in map(shown, made(log).bars()) if one[0] in ("human", "paused", "down")]
    assert found == [
        ("human", "", "May I ⏎ run it?", 8.0, 11.0),
        ("paused", "ada", "paused", 10.0, 13.0),
        ("down", "", "signal 9", 14.0, 16.0),
        ("paused", "coordinator", "paused", 17.0, None),
    ]


def test_reopened_run_has_bars_of_both_parts() -> None:
    log = Log()
    log.events = team().events[:10]
    log.add("node.failed", node="n1", name="facts", worker="ada", reason="x")
    log.add("agent.failed", reason="x")
    log.add("agent.reopened")
    log.add("node.started", node="n1", name="facts", worker="ada")
    log.add("node.completed", node="n1", name="facts", worker="ada")
    timeline = made(log)
    nodes = [one for one in timeline.bars() if one.kind == "node"]
    assert [(one.start, one.end) for one in nodes] == [(6.0, 11.0), (14.0, 15.0)]
    assert len({one.id for one in nodes}) == 2
    assert timeline.end is None


def test_events_of_other_runs_change_nothing() -> None:
    timeline = RunTimeline("shop-1", "r2")
    for event in team().events:
        timeline.apply(event)
    assert (timeline.start, timeline.bars()) == (None, [])
    another: Event = team().events[-1]
    timeline = made(team())
    timeline.apply(another.model_copy(update={"run_id": "r2", "seq": 16}))
    assert timeline.end == 15.0


def test_short_bars_that_follow_each_other_closely_are_one() -> None:
    bars = [bar(0, 1), bar(1.5, 2), bar(2.1, 2.2, "model"), bar(9, 9.5), bar(10, 30)]
    found = put_together(bars, 2.0)
    assert [(one.kind, one.start, one.end, one.count, one.seconds) for one in found] == [
        ("tool", 0, 2, 2, 1.5),
        ("model", 2.1, 2.2, 1, 2.2 - 2.1),
        ("tool", 9, 9.5, 1, 0.5),
        ("tool", 10, 30, 1, 20),
    ]
    apart = [bar(0, 1), bar(1, 2, problem="failed"), bar(2, 3, node="n1"), bar(3, None)]
    assert put_together(apart, 5.0) == apart, "what differs, or goes on, stays by itself"


def test_many_bars_become_few_at_a_coarser_resolution() -> None:
    many = [bar(number / 10, number / 10 + 0.05) for number in range(5000)]
    found, resolution = bounded(many, 0.0, 100)
    assert len(found) <= 100
    assert resolution > 0
    assert sum(one.count for one in found) == 5000
    nodes = [bar(number, number + 1, "node") for number in range(300)]
    assert len(bounded(nodes, 0.0, 100)[0]) == 300, "nodes are never put together"
    assert bounded([], 1.0, 100) == ([], 1.0)


def test_bar_within_a_critical_stretch_is_critical() -> None:
    stretches = [(0.0, 5.0), (10.0, 20.0)]
    spans = [(1, 2), (5, 10), (4, 11), (20, 30), (19, None)]
    found = [marked(bar(*span), stretches, 40.0).is_critical for span in spans]
    assert found == [True, False, True, False, True]
