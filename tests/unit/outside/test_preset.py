"""What an agent_command means, and what an outside agent is started with."""

import stat
from pathlib import Path

import pytest

from agiraph.config import load_config
from agiraph.errors import InvalidInput
from agiraph.outside.launching import Door, Job, argv_of, environment_of
from agiraph.outside.preset import (
    COMMAND,
    AgentPreset,
    OutsideAgent,
    find_program,
    load_agents,
    meant_by,
)
from agiraph.outside.trial import check_agent_command

DOOR = Door("http://127.0.0.1:7", "t0k")


def put_program(folder: Path, name: str) -> Path:
    program = folder / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def job(name: str, **more: object) -> Job:
    agent = OutsideAgent(name, load_agents()[name], f"/opt/{name}")
    values = {"prompt": "do it", "folder": Path("/work"), "home": Path("/own"), "door": DOOR}
    return Job(agent, **(values | more))  # type: ignore[arg-type]


def test_the_name_of_a_preset_is_that_agent_and_further_words_are_options(tmp_path: Path) -> None:
    program = put_program(tmp_path, "claude")
    agent = meant_by("claude-code --effort high", load_agents(), {"PATH": str(tmp_path)})
    assert (agent.name, agent.required()) == ("claude-code", str(program))
    words = argv_of(Job(agent, "p", tmp_path, tmp_path))
    assert words[words.index("--effort") + 1] == "high"


def test_anything_else_is_a_command_line(tmp_path: Path) -> None:
    put_program(tmp_path, "build")
    agent = meant_by("build --all 'two words'", load_agents(), {"PATH": str(tmp_path)})
    assert agent.name == COMMAND
    words = argv_of(Job(agent, "p", tmp_path, tmp_path))
    assert words == [str(tmp_path / "build"), "--all", "two words"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "agent_command is empty"),
        ("'half", "cannot be read: No closing quotation"),
        ("cluade-code", "did you mean 'claude-code'.*no command on the PATH either"),
        ("claude-code", "'claude-code' .claude. is not installed: npm install -g"),
        ("./none --x", "'./none' is not installed: put ./none on the PATH"),
    ],
)
def test_what_cannot_be_run_is_told_with_what_is_possible(
    command: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "agents.yaml").write_text("claude-code: {carried: ''}\n")
    with pytest.raises(InvalidInput, match=said):
        check_agent_command(command, tmp_path, load_config().sandbox, {"PATH": str(tmp_path)})


def test_a_program_that_a_python_package_carries_is_found(tmp_path: Path) -> None:
    program = put_program(tmp_path, "some_package/bin/tool")
    preset = AgentPreset(command=("tool",), carried="some_package/bin/tool")
    assert find_program(preset, {"PATH": ""}, [str(tmp_path)]) == str(program)


def test_a_home_lays_its_own_agents_over_the_shipped_ones(tmp_path: Path) -> None:
    own = "codex: {silence_seconds: 5}\nmine: {command: [mine], start: ['{prompt}']}\n"
    (tmp_path / "agents.yaml").write_text(own)
    agents = load_agents(tmp_path)
    assert agents["codex"].silence_seconds == 5
    assert agents["codex"].driver == "codex"
    assert agents["mine"].driver == "plain"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine: {}", "agents.yaml: mine.command: Field required"),
        ("mine: {command: [a], colour: red}", "agents.yaml: mine.colour: Extra inputs"),
        ("mine: 7", "agents.yaml: mine: expected a name"),
    ],
)
def test_a_bad_preset_is_told_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=said):
        load_agents(tmp_path)


def test_every_shipped_agent_takes_its_task_and_its_model() -> None:
    for name, preset in load_agents().items():
        words = argv_of(job(name, model="m-1"))
        given = environment_of(job(name, model="m-1"), {}, {}).values()
        assert any("m-1" in word for word in (*words, *given)), name
        is_told = any("do it" in word for word in words)
        assert is_told or preset.driver in ("claude", "acp"), name
        assert not any("{" + place + "}" in " ".join(words) for place in ("model", "door")), name


def test_a_conversation_is_taken_up_again_where_the_agent_can() -> None:
    assert argv_of(job("codex", session="s-1"))[-3:] == ["resume", "s-1", "do it"]
    assert "s-1" not in argv_of(job("aider", session="s-1"))


def test_options_depend_on_whether_there_is_a_wall() -> None:
    assert "workspace-write" in argv_of(job("codex"))
    walled = argv_of(job("codex", is_walled=True))
    assert "--dangerously-bypass-approvals-and-sandbox" in walled


def test_an_agent_at_the_door_is_given_its_token_and_no_key() -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "secret", "HOME": "/me"}
    given = environment_of(job("claude-code"), environ, {"AGIRAPH_RUN": "r"})
    assert given["ANTHROPIC_API_KEY"] == "t0k"
    assert given["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:7/anthropic"
    assert (given["HOME"], given["LC_ALL"], given["AGIRAPH_RUN"]) == ("/own", "C", "r")
    assert "secret" not in given.values()


def test_an_agent_with_the_persons_own_account_has_their_home() -> None:
    given = environment_of(job("gemini"), {"HOME": "/me", "PATH": "/bin"}, {})
    assert given["HOME"] == "/me"
