"""Any JSON value at any place of an external agent's message is handled by each driver."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from agiraph.agent.activity import step_of
from agiraph.core.turns import ToolCall, Usage
from agiraph.external.agent_events import (
    AgentEvent,
    PermissionRequested,
    ProtocolOutput,
    ToolUseStarted,
)
from agiraph.external.driver import Driver
from agiraph.external.drivers import DRIVERS
from agiraph.external.launching import AgentLaunch
from agiraph.external.preset import AgentPreset, DriverName, ExternalAgent
from agiraph.tools.approvals.policy import actions_of_call
from tests.unit.external.acp_connection import OPTIONS, AcpConnection

LINES = Path(__file__).parents[1] / "unit/external/lines"
CUT = "half an emoji \ud83d"
HUGE = 10**4000

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([HUGE, 1 << 63, 10**18, 1e300, -1, CUT, "\0", "", "x" * 5000, "id", "text"])
    | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["command", "path", "text", "type", CUT]), inner)
    ),
    max_leaves=10,
)


def acp_messages() -> list[Any]:
    """Return messages of each kind that an agent sends, with all their fields."""
    text = {"type": "text", "text": "hello"}
    call = {
        "toolCallId": "t",
        "title": "make it",
        "kind": "edit",
        "status": "pending",
        "rawInput": {"command": ["make"], "path": "a", "cmd": "x"},
        "locations": [{"path": "a"}],
        "content": [{"type": "content", "content": text}, {"type": "diff", "path": "a"}],
        "rawOutput": {"exit_code": 1, "stdout": "x"},
    }
    updates = [
        {"sessionUpdate": "agent_message_chunk", "content": text},
        {"sessionUpdate": "tool_call", **call},
        {"sessionUpdate": "tool_call_update", **call, "kind": "execute", "status": "completed"},
        {"sessionUpdate": "plan", "entries": [{"content": "look", "status": "pending"}]},
        {"sessionUpdate": "usage_update", "cost": {"amount": 0.5, "currency": "USD"}},
        {"sessionUpdate": "current_mode_update", "currentModeId": "auto"},
    ]
    session = {"sessionId": "s1"}
    usage = {"inputTokens": 1, "outputTokens": 2, "cachedReadTokens": 3, "totalTokens": 6}
    mode = {"id": "mode", "category": "mode", "currentValue": "a", "options": [{"value": "a"}]}
    modes = {"currentModeId": "a", "availableModes": [{"id": "a"}]}
    capable = {"loadSession": True, "mcpCapabilities": {"http": True}}
    results: list[Any] = [
        {"stopReason": "end_turn", "usage": usage},
        {"protocolVersion": 1, "agentCapabilities": capable},
        {**session, "modes": modes, "configOptions": [mode]},
    ]
    return [
        *({"method": "session/update", "params": {**session, "update": one}} for one in updates),
        {
            "id": 7,
            "method": "session/request_permission",
            "params": {**session, "toolCall": call, "options": OPTIONS},
        },
        {"id": 8, "method": "fs/read_text_file", "params": {"path": "a", "line": 1, "limit": 2}},
        {"id": 9, "method": "fs/write_text_file", "params": {"path": "a", "content": "x"}},
        *({"id": id, "result": result} for id in (1, 2, 3) for result in results),
        {"id": 3, "error": {"code": 1, "message": "no", "data": {"details": "x"}}},
    ]


def recorded_lines(name: DriverName) -> list[Any]:
    return [json.loads(line) for line in (LINES / f"{name}.jsonl").read_text().splitlines()]


CONTROL = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
MESSAGES: dict[DriverName, list[Any]] = {
    "acp": acp_messages(),
    "claude": [
        *recorded_lines("claude"),
        {"type": "control_request", "request_id": "r", "request": CONTROL},
    ],
    "codex": recorded_lines("codex"),
    "gemini": recorded_lines("gemini"),
    "opencode": recorded_lines("opencode"),
}


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value inside a JSON value."""
    if before:
        yield before
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*before, key))


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a JSON value with another value at a place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


PLACES = [
    (name, message, place)
    for name, messages in MESSAGES.items()
    for message in messages
    for place in places(message)
]


def driver_in(folder: Path, name: DriverName, *, has_begun: bool) -> Driver:
    if name == "acp":
        connection = AcpConnection(folder, mode=("a",), session="s0")
        return connection.driver if not has_begun else AcpConnection(folder).begin().driver
    preset = AgentPreset(command=("agent",), driver=name, resume=("{options}",))
    agent = ExternalAgent("agent", preset, "/bin/agent")
    driver = DRIVERS[name](AgentLaunch(agent, "do it", folder, folder / "home"))
    driver.opening()
    return driver


def assert_can_be_recorded(driver: Driver, event: AgentEvent) -> None:
    """Check that an event can be sent and stored, and that a request can be judged."""
    if isinstance(event, ProtocolOutput):
        json.loads(event.data.splitlines()[-1])
        return
    msgpack.packb(asdict(event), default=Usage.model_dump)
    json.dumps(
        asdict(event), ensure_ascii=False, allow_nan=False, default=Usage.model_dump
    ).encode()
    if isinstance(event, ToolUseStarted | PermissionRequested):
        step_of(ToolCall(id="c", name=event.tool, arguments=event.arguments))
        assert actions_of_call(event.tool, event.arguments)
    if isinstance(event, PermissionRequested):
        driver.answer(event.request, "").decode()
        driver.answer(event.request, "no").decode()


@given(st.lists(st.tuples(st.sampled_from(PLACES), values), min_size=1, max_size=4), st.booleans())
def test_any_value_at_any_place_of_a_message_is_handled(
    changes: list[tuple[tuple[DriverName, Any, tuple[Any, ...]], Any]], has_begun: bool
) -> None:
    with TemporaryDirectory() as folder:
        drivers = {
            name: driver_in(Path(folder), name, has_begun=has_begun)
            for name in {name for (name, _, _), _ in changes}
        }
        for (name, message, place), value in changes:
            line = json.dumps(replaced(message, place, value)).encode() + b"\n"
            for event in drivers[name].feed(line):
                assert_can_be_recorded(drivers[name], event)
        for driver in drivers.values():
            for event in driver.feed(b""):
                assert_can_be_recorded(driver, event)
            driver.verdict(1, "").encode()
