"""Whatever an agent does when it is woken, its triggers do not keep it awake."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.triggers.triggered_agent import TriggeredAgent

WAITS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("heartbeat", {"interval_seconds": 60}),
    ("heartbeat", {"interval_seconds": 90}),
    ("on_idle", {"idle_seconds": 60}),
    ("on_event", {"event_pattern": "*"}),
    ("on_event", {"event_pattern": "tool.*"}),
    ("on_event", {"event_pattern": "node.*"}),
    ("on_event", {"event_pattern": "message.*"}),
)

triggers = st.lists(st.sampled_from(WAITS), min_size=1, max_size=3)
doings = st.lists(
    st.sampled_from(["tool", "node", "wait", "say", "memory", "worker"]), min_size=0, max_size=4
)


def respond(life: TriggeredAgent, doing: list[str], number: int) -> None:
    """Let the coordinator react to being woken, until it rests."""
    for step, what in enumerate(doing):
        node = f"n{number}.{step}"
        match what:
            case "tool":
                life.answers("bash")
            case "memory":
                life.answers("memory_write")
                life.happens("memory.written", path="x")
            case "node":
                life.answers("create_work_node")
                life.happens("node.created", node=node)
                life.happens("node.assigned", node=node)
                life.happens("worker.busy", worker="bob")
            case "worker":
                life.answers("create_work_node")
                life.happens("node.created", node=node)
                life.happens("tool.called", entity="bob", node=node, tool="bash")
                life.happens("node.completed", node=node)
                life.happens("worker.idle", worker="bob")
            case "wait":
                life.happens("model.answered", calls=["create_work_node", "wait"])
                life.happens("node.created", node=node)
                life.happens("node.completed", node=node)
                life.happens("worker.idle", worker="bob")
                life.happens("tool.result", tool="wait", is_error=False)
            case _:
                life.answers("send_message")
                life.happens("message.sent", **{"from": "coordinator", "to": "human"})
                life.happens("message.received", entity="human", **{"from": "coordinator"})
    life.happens("model.answered", calls=[])
    life.happens("message.sent", **{"from": "coordinator", "to": "human"})


@settings(max_examples=25, deadline=None)
@given(waits=triggers, doing=doings)
def test_triggers_stop_firing_after_one_external_event(
    waits: list[tuple[str, dict[str, Any]]], doing: list[str]
) -> None:
    life = TriggeredAgent()
    for type_, config in waits:
        life.add(type_, **config)
    life.happens("message.received", **{"from": "human"})
    respond(life, doing, 0)
    waiting, count = life.fired(), 0
    for _ in range(8):
        waiting += life.passes(60)
        while waiting:
            firing = waiting.pop(0)
            count += 1
            assert count < 200
            life.hears(firing)
            respond(life, doing, count)
            waiting += life.fired()
    assert life.passes(3600) == []
    assert life.passes(3600) == []
