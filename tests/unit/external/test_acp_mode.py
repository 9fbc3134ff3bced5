"""The mode of an ACP session: set on every session, and checked whenever the agent reports one."""

from pathlib import Path
from typing import Any

import pytest

from agiraph.external.agent_events import SessionIdReported, SessionMustEnd
from agiraph.external.preset import load_agents
from tests.unit.external.acp_connection import AcpConnection, JsonObject

RESUMES: JsonObject = {"sessionCapabilities": {"resume": {}}}
IN_AUTO = "it is in its mode 'auto', and is to work in 'default' only"


def modes(current: str, *known: str) -> JsonObject:
    """Return modes that are set by `session/set_mode`."""
    rows = [{"id": mode, "name": mode.title()} for mode in (current, *known)]
    return {"modes": {"currentModeId": current, "availableModes": rows}}


def options(current: str, *known: str) -> JsonObject:
    """Return modes as a choice among the options of a session's configuration."""
    rows = [{"value": mode, "name": mode.title()} for mode in (current, *known)]
    mode = {"id": "how", "category": "mode", "currentValue": current, "options": rows}
    model = {"id": "model", "category": "model", "currentValue": "auto", "options": []}
    return {"configOptions": [model, mode]}


def begun(folder: Path, report: JsonObject, session: str = "", **preset: Any) -> AcpConnection:
    """Return a connection whose session has begun with this report of its modes."""
    connection = AcpConnection(folder, session, **{"mode": "default", **preset})
    connection.answers(protocolVersion=1, agentCapabilities=RESUMES if session else {})
    assert connection.answers(sessionId="s1", **report)[0] == SessionIdReported("s1")
    return connection


@pytest.mark.parametrize("session", ["", "s1"])
@pytest.mark.parametrize("current", ["auto", "default"])
def test_each_session_is_set_to_its_mode(tmp_path: Path, session: str, current: str) -> None:
    connection = begun(tmp_path, modes(current, "default"), session)
    assert connection.last["method"] == "session/set_mode"
    assert connection.last["params"] == {"sessionId": "s1", "modeId": "default"}
    assert connection.answers() == []
    assert connection.last["method"] == "session/prompt"


def test_mode_is_set_by_a_configuration_option_and_checked_in_the_response(tmp_path: Path) -> None:
    both = modes("auto", "default") | options("auto", "default")
    connection = begun(tmp_path, both)
    assert connection.last["method"] == "session/set_config_option"
    assert connection.last["params"] == {"sessionId": "s1", "configId": "how", "value": "default"}
    assert connection.answers(**options("default", "auto")) == []
    assert connection.last["method"] == "session/prompt"
    ignoring = begun(tmp_path, both)
    assert ignoring.answers(**options("auto", "default")) == [SessionMustEnd(IN_AUTO)]
    assert ignoring.last["method"] == "session/set_config_option", "it got no task"


def test_choices_may_be_in_groups(tmp_path: Path) -> None:
    report = options("auto")
    mode = report["configOptions"][1]
    mode["options"] = [
        {"group": "a", "name": "A", "options": mode["options"]},
        {"group": "b", "name": "B", "options": [{"value": "default"}]},
    ]
    assert begun(tmp_path, report).last["params"]["value"] == "default"


@pytest.mark.parametrize(("sandboxed", "mode"), [(False, "agent"), (True, "agent-full")])
def test_first_supported_name_of_a_mode_is_set(tmp_path: Path, sandboxed: bool, mode: str) -> None:
    wanted: JsonObject = {"mode": ["auto", "agent"], "walled_mode": ["full", "agent-full"]}
    report = modes("read-only", "agent", "agent-full")
    connection = begun(tmp_path, report, sandboxed=sandboxed, **wanted)
    assert connection.last["params"]["modeId"] == mode


@pytest.mark.parametrize("report", [modes("auto", "yolo"), options("auto", "yolo")])
def test_an_agent_without_the_mode_gets_no_task_and_is_ended(
    tmp_path: Path, report: JsonObject
) -> None:
    connection = AcpConnection(tmp_path, mode="default")
    connection.answers(protocolVersion=1)
    problem = "it has no mode 'default', in which it is to work (it has: auto, yolo)"
    assert connection.answers(sessionId="s1", **report) == [SessionMustEnd(problem)]
    assert connection.driver.verdict(0, "") == problem
    assert connection.last["method"] == "session/new"


@pytest.mark.parametrize("report", [modes("auto", "default"), {}])
def test_an_agent_that_refuses_its_mode_is_ended(tmp_path: Path, report: JsonObject) -> None:
    connection = begun(tmp_path, report)
    problem = "it refused its mode 'default', in which it is to work: Method not found"
    assert connection.fails("Method not found", code=-32601) == [SessionMustEnd(problem)]
    assert connection.last["method"] == "session/set_mode", "it got no task"


@pytest.mark.parametrize(
    ("update", "report"),
    [
        ("current_mode_update", {"currentModeId": "auto"}),
        ("config_option_update", options("auto", "default")),
    ],
)
def test_agent_that_changes_its_mode_is_ended_without_further_permissions(
    tmp_path: Path, update: str, report: JsonObject
) -> None:
    connection = begun(tmp_path, modes("auto", "default"))
    assert connection.updates(update, **report) == [], "it may be in any mode before it is set"
    connection.answers()
    assert connection.last["method"] == "session/prompt"
    assert connection.updates(update, **report) == [SessionMustEnd(IN_AUTO)]
    assert connection.asks("r", toolCallId="t") == []
    assert connection.driver.encode_prompt("go on") == b""
    assert connection.driver.verdict(0, "") == IN_AUTO


def test_the_notification_of_qwen_code_is_checked(tmp_path: Path) -> None:
    connection = begun(tmp_path, modes("auto", "default"))
    connection.answers()
    params = {"v": 1, "sessionId": "s1"}
    for mode, is_ended in (("default", False), ("yolo", True)):
        method = "qwen/notify/session/mode-update"
        events = connection.receive({"method": method, "params": params | {"currentModeId": mode}})
        assert [type(event) for event in events] == [SessionMustEnd] * is_ended


def test_agent_may_change_to_a_stricter_mode(tmp_path: Path) -> None:
    connection = begun(tmp_path, modes("auto", "default", "plan"), further_modes="plan")
    connection.answers()
    for mode in ("plan", "default"):
        assert connection.updates("current_mode_update", currentModeId=mode) == []
    update = {"sessionUpdate": "current_mode_update", "currentModeId": "auto"}
    of_sub_agent = {"sessionId": "sub", "update": update}
    assert connection.receive({"method": "session/update", "params": of_sub_agent}) == []
    assert isinstance(
        connection.updates("current_mode_update", currentModeId="auto")[0], SessionMustEnd
    )


@pytest.mark.parametrize(("session", "method"), [("", "session/new"), ("s0", "session/resume")])
def test_a_session_gets_the_meta_of_its_preset(tmp_path: Path, session: str, method: str) -> None:
    connection = AcpConnection(tmp_path, session, meta={"maker": {"ask": ["Bash"]}})
    connection.answers(protocolVersion=1, agentCapabilities=RESUMES)
    assert connection.last["method"] == method
    assert connection.last["params"]["_meta"] == {"maker": {"ask": ["Bash"]}}


def test_every_shipped_preset_has_rules_and_an_asking_preset_has_a_mode() -> None:
    for name, preset in load_agents().items():
        assert "rules" in preset.model_fields_set, f"{name} does not say how rules apply to it"
        if preset.rules == "asked" and preset.driver == "acp":
            assert preset.mode, f"{name} asks, but in whichever mode it begins"
        if preset.driver not in ("acp", "claude"):
            assert preset.rules != "asked", f"{name} has no way to ask"


@pytest.mark.parametrize(
    "name", ["claude-code", "claude-code-acp", "opencode-acp", "qwen", "gemini-acp"]
)
def test_agent_that_skips_harmless_requests_is_configured_to_ask_for_all(name: str) -> None:
    settings = load_agents()[name].model_dump_json()
    assert "ask" in settings
    assert any(word in settings for word in ("Read", "*"))
