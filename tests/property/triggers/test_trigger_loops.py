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


def respond(agent: TriggeredAgent, doing: list[str], number: int) -> None:
    """Let the coordinator react to being woken, until it rests."""
    for step, response in enumerate(doing):
        node = f"n{number}.{step}"
        match response:
            case "tool":
                agent.answers("bash")
            case "memory":
                agent.answers("memory_write")
                agent.happens("memory.written", path="x")
            case "node":
                agent.answers("create_work_node")
                agent.happens("node.created", node=node)
                agent.happens("node.assigned", node=node)
                agent.happens("worker.busy", worker="bob")
            case "worker":
                agent.answers("create_work_node")
                agent.happens("node.created", node=node)
                agent.happens("tool.called", entity="bob", node=node, tool="bash")
                agent.happens("node.completed", node=node)
                agent.happens("worker.idle", worker="bob")
            case "wait":
                agent.happens("model.answered", calls=["create_work_node", "wait"])
                agent.happens("node.created", node=node)
                agent.happens("node.completed", node=node)
                agent.happens("worker.idle", worker="bob")
                agent.happens("tool.result", tool="wait", is_error=False)
            case _:
                agent.answers("send_message")
                agent.happens("message.sent", **{"from": "coordinator", "to": "human"})
                agent.happens("message.received", entity="human", **{"from": "coordinator"})
    agent.happens("model.answered", calls=[])
    agent.happens("message.sent", **{"from": "coordinator", "to": "human"})


@settings(max_examples=25, deadline=None)
@given(waits=triggers, doing=doings)
def test_triggers_stop_firing_after_one_external_event(
    waits: list[tuple[str, dict[str, Any]]], doing: list[str]
) -> None:
    agent = TriggeredAgent()
    for type_, config in waits:
        agent.add(type_, **config)
    agent.happens("message.received", **{"from": "human"})
    respond(agent, doing, 0)
    waiting, count = agent.fired(), 0
    for _ in range(8):
        waiting += agent.passes(60)
        while waiting:
            firing = waiting.pop(0)
            count += 1
            assert count < 200
            agent.hears(firing)
            respond(agent, doing, count)
            waiting += agent.fired()
    assert agent.passes(3600) == []
    assert agent.passes(3600) == []
