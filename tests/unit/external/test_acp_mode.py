"""The mode of an ACP session: set on every session, and held to by whatever the agent tells."""

from pathlib import Path
from typing import Any

import pytest

from agiraph.external.agent_events import SessionIdReported, SessionMustEnd
from agiraph.external.preset import load_agents
from tests.unit.external.test_acp import OPTIONS, Talk

JsonObject = dict[str, Any]
RESUMES: JsonObject = {"sessionCapabilities": {"resume": {}}}


def modes(current: str, *known: str) -> JsonObject:
    """Return modes as a session tells them, to be set by `session/set_mode`."""
    rows = [{"id": mode, "name": mode.title()} for mode in (current, *known)]
    return {"modes": {"currentModeId": current, "availableModes": rows}}


def options(current: str, *known: str) -> JsonObject:
    """Return modes as a choice among the options of a session's configuration."""
    rows = [{"value": mode, "name": mode.title()} for mode in (current, *known)]
    mode = {"id": "how", "category": "mode", "currentValue": current, "options": rows}
    model = {"id": "model", "category": "model", "currentValue": "auto", "options": []}
    return {"configOptions": [model, mode]}


def begun(folder: Path, told: JsonObject, session: str = "", **preset: Any) -> Talk:
    """Return a talk whose session has begun in the mode that it tells."""
    talk = Talk(folder, session=session, **{"mode": "default", **preset})
    talk.answers(protocolVersion=1, agentCapabilities=RESUMES if session else {})
    assert talk.answers(sessionId="s1", **told)[0] == SessionIdReported("s1")
    return talk


@pytest.mark.parametrize("session", ["", "s1"])
@pytest.mark.parametrize("current", ["auto", "default"])
def test_each_session_is_put_into_its_mode(tmp_path: Path, session: str, current: str) -> None:
    talk = begun(tmp_path, modes(current, "default"), session)
    assert talk.last["method"] == "session/set_mode"
    assert talk.last["params"] == {"sessionId": "s1", "modeId": "default"}
    assert talk.answers() == []
    assert talk.last["method"] == "session/prompt"


def test_an_option_of_the_configuration_sets_it_and_its_answer_says_what_holds(
    tmp_path: Path,
) -> None:
    both = modes("auto", "default") | options("auto", "default")
    talk = begun(tmp_path, both)
    assert talk.last["method"] == "session/set_config_option"
    assert talk.last["params"] == {"sessionId": "s1", "configId": "how", "value": "default"}
    assert talk.answers(**options("default", "auto")) == []
    assert talk.last["method"] == "session/prompt"
    deaf = begun(tmp_path, both)
    problem = "it is in its mode 'auto', and is to work in 'default' only"
    assert deaf.answers(**options("auto", "default")) == [SessionMustEnd(problem)]
    assert deaf.last["method"] == "session/set_config_option", "it was told no task"


def test_choices_in_groups_are_choices(tmp_path: Path) -> None:
    told = options("auto")
    rows = told["configOptions"][1]["options"]
    told["configOptions"][1]["options"] = [
        {"group": "a", "name": "A", "options": rows},
        {"group": "b", "name": "B", "options": [{"value": "default"}]},
    ]
    assert begun(tmp_path, told).last["params"]["value"] == "default"


def test_of_several_names_the_first_that_it_has_is_meant(tmp_path: Path) -> None:
    wanted: JsonObject = {"mode": ["auto", "agent"], "walled_mode": ["full", "agent-full"]}
    talk = begun(tmp_path, modes("read-only", "agent", "agent-full"), **wanted)
    assert talk.last["params"]["modeId"] == "agent"
    walled = begun(tmp_path, modes("read-only", "agent", "agent-full"), walled=True, **wanted)
    assert walled.last["params"]["modeId"] == "agent-full"


@pytest.mark.parametrize("told", [modes("auto", "yolo"), options("auto", "yolo")])
def test_one_that_has_no_such_mode_is_told_nothing_and_ended(
    tmp_path: Path, told: JsonObject
) -> None:
    talk = Talk(tmp_path, mode="default")
    talk.answers(protocolVersion=1)
    problem = "it has no mode 'default', in which it is to work (it has: auto, yolo)"
    assert talk.answers(sessionId="s1", **told) == [SessionMustEnd(problem)]
    assert talk.driver.verdict(0, "") == problem
    assert talk.last["method"] == "session/new"


@pytest.mark.parametrize("told", [modes("auto", "default"), {}])
def test_one_that_refuses_its_mode_is_ended(tmp_path: Path, told: JsonObject) -> None:
    talk = begun(tmp_path, told)
    [ended] = talk.fails("Method not found", code=-32601)
    problem = "it refused its mode 'default', in which it is to work: Method not found"
    assert ended == SessionMustEnd(problem)
    assert talk.last["method"] == "session/set_mode", "it was told no task"


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "current_mode_update", "currentModeId": "auto"},
        {"sessionUpdate": "config_option_update", **options("auto", "default")},
    ],
)
def test_one_that_leaves_its_mode_is_ended_and_allowed_nothing_more(
    tmp_path: Path, update: JsonObject
) -> None:
    talk = begun(tmp_path, modes("auto", "default"))
    talk.hears({"method": "session/update", "params": {"update": update}})
    talk.answers()
    assert talk.last["method"] == "session/prompt", "it may tell of any mode before it is set"
    params = {"sessionId": "s1", "update": update}
    problem = "it is in its mode 'auto', and is to work in 'default' only"
    assert talk.hears({"method": "session/update", "params": params}) == [SessionMustEnd(problem)]
    asked = talk.asks("r", "session/request_permission", toolCall={"toolCallId": "t"},
                      options=OPTIONS)  # fmt: skip
    assert asked == []
    assert talk.driver.encode_prompt("go on") == b""
    assert talk.driver.verdict(0, "") == problem


def test_qwens_own_notice_of_its_mode_counts(tmp_path: Path) -> None:
    talk = begun(tmp_path, modes("auto", "default"))
    notice = {"method": "qwen/notify/session/mode-update"}
    told = {"v": 1, "sessionId": "s1", "currentModeId": "default"}
    talk.answers()
    assert talk.hears({**notice, "params": told}) == []
    [ended] = talk.hears({**notice, "params": told | {"currentModeId": "yolo"}})
    assert isinstance(ended, SessionMustEnd)


def test_it_may_change_to_a_mode_that_allows_no_more(tmp_path: Path) -> None:
    talk = begun(tmp_path, modes("auto", "default", "plan"), further_modes="plan")
    talk.answers()
    assert talk.updates("current_mode_update", currentModeId="plan") == []
    assert talk.updates("current_mode_update", currentModeId="default") == []
    other = {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "auto"}}
    assert talk.hears({"method": "session/update", "params": {"sessionId": "sub", **other}}) == []
    assert isinstance(talk.updates("current_mode_update", currentModeId="auto")[0], SessionMustEnd)


def test_a_session_is_told_the_settings_of_its_preset_whichever_way_it_begins(
    tmp_path: Path,
) -> None:
    for session, method in (("", "session/new"), ("s0", "session/resume")):
        talk = Talk(tmp_path, session=session, meta={"maker": {"ask": ["Bash"]}})
        talk.answers(protocolVersion=1, agentCapabilities=RESUMES)
        assert talk.last["method"] == method
        assert talk.last["params"]["_meta"] == {"maker": {"ask": ["Bash"]}}


def test_every_shipped_agent_says_how_rules_hold_it_and_who_asks_is_put_into_a_mode() -> None:
    for name, preset in load_agents().items():
        assert "rules" in preset.model_fields_set, f"{name} does not say how rules hold it"
        if preset.rules == "asked" and preset.driver == "acp":
            assert preset.mode, f"{name} asks, but in whichever mode it begins in"
        if preset.driver not in ("acp", "claude"):
            assert preset.rules != "asked", f"{name} has nobody whom it could ask"


@pytest.mark.parametrize(
    "name", ["claude-code", "claude-code-acp", "opencode-acp", "qwen", "gemini-acp"]
)
def test_one_that_holds_some_actions_harmless_is_told_to_ask_for_those_too(name: str) -> None:
    told = load_agents()[name].model_dump_json()
    assert "ask" in told
    assert any(word in told for word in ("Read", "*"))
