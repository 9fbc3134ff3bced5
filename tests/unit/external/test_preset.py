"""What an agent_command means, and what an outside agent is started with."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.config import load_config
from agiraph.core.errors import InvalidInput
from agiraph.external.launching import (
    AgentLaunch,
    ProxyEndpoint,
    argv_of,
    environment_of,
    files_of,
    sandbox_readable,
)
from agiraph.external.preflight import check_agent_command
from agiraph.external.preset import (
    COMMAND,
    AgentPreset,
    ExternalAgent,
    find_program,
    load_agents,
    meant_by,
)

PROXY = ProxyEndpoint("http://127.0.0.1:7", "t0k")


def put_program(folder: Path, name: str) -> Path:
    program = folder / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def job(name: str, **more: object) -> AgentLaunch:
    agent = ExternalAgent(name, load_agents()[name], f"/opt/{name}")
    values = {"prompt": "do it", "folder": Path("/work"), "home": Path("/own"), "proxy": PROXY}
    return AgentLaunch(agent, **(values | more))  # type: ignore[arg-type]


def test_the_name_of_a_preset_is_that_agent_and_further_words_are_options(tmp_path: Path) -> None:
    program = put_program(tmp_path, "claude")
    agent = meant_by("claude-code --effort high", load_agents(), {"PATH": str(tmp_path)})
    assert (agent.name, agent.required()) == ("claude-code", str(program))
    words = argv_of(AgentLaunch(agent, "p", tmp_path, tmp_path))
    assert words[words.index("--effort") + 1] == "high"


def test_anything_else_is_a_command_line(tmp_path: Path) -> None:
    put_program(tmp_path, "build")
    agent = meant_by("build --all 'two words'", load_agents(), {"PATH": str(tmp_path)})
    assert agent.name == COMMAND
    words = argv_of(AgentLaunch(agent, "p", tmp_path, tmp_path))
    assert words == [str(tmp_path / "build"), "--all", "two words"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "agent_command is empty"),
        ("'half", "cannot be read: No closing quotation"),
        ("cluade-code", "did you mean 'claude-code'.*not a command on the PATH either"),
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
        ("mine: {command: [a], files: {../x: y}}", "mine.files.../x.*name a file below its HOME"),
        ("mine: {command: [a], files: {/x: y}}", "name a file below its HOME"),
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
    walled = argv_of(job("codex", is_sandboxed=True))
    assert "--dangerously-bypass-approvals-and-sandbox" in walled


def test_an_agent_at_the_door_is_given_its_token_and_no_key() -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "secret", "HOME": "/me"}
    given = environment_of(job("claude-code"), environ, {"AGIRAPH_RUN": "r"})
    assert given["ANTHROPIC_API_KEY"] == "t0k"
    assert given["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:7/anthropic"
    assert (given["HOME"], given["LC_ALL"], given["AGIRAPH_RUN"]) == ("/own", "C", "r")
    assert "secret" not in given.values()


def test_an_agent_with_the_persons_own_account_has_their_home() -> None:
    preset = AgentPreset(command=("mine",), account="own")
    own = AgentLaunch(ExternalAgent("mine", preset, "/bin/mine"), "p", Path("/work"), Path("/own"))
    assert environment_of(own, {"HOME": "/me", "PATH": "/bin"}, {})["HOME"] == "/me"


@pytest.mark.parametrize("name", ["gemini", "gemini-acp"])
def test_gemini_is_served_by_the_door_and_its_settings_are_in_its_own_home(name: str) -> None:
    environ = {"PATH": "/bin", "HOME": "/me", "GEMINI_API_KEY": "secret"}
    given = environment_of(job(name), environ, {})
    assert (given["GOOGLE_GEMINI_BASE_URL"], given["GEMINI_API_KEY"], given["HOME"]) == (
        "http://127.0.0.1:7/google", "t0k", "/own",
    )  # fmt: skip
    assert given["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    files = files_of(job(name))
    settings = json.loads(files[Path("/own/.gemini/settings.json")])
    assert (Path("/own/.gemini/policies/agiraph.toml") in files) == (name == "gemini-acp")
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"
    assert settings["privacy"]["usageStatisticsEnabled"] is False
    words = argv_of(job(name, model="gemini-3.8-pro"))
    assert words[words.index("-m") + 1] == "gemini-3.8-pro"


def test_files_of_its_home_are_filled_in_and_stay_below_it(tmp_path: Path) -> None:
    [(path, text)] = files_of(job("qwen")).items()
    assert path == Path("/own/.qwen/settings.json")
    assert "Read" in json.loads(text)["permissions"]["ask"]
    (tmp_path / "agents.yaml").write_text("mine: {command: [a], files: {../x: y}}")
    with pytest.raises(InvalidInput, match=r"mine\.files"):
        load_agents(tmp_path)


def test_a_mode_may_be_one_name_or_several(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text("qwen: {mode: ''}\ncodex-acp: {mode: [a, b]}\n")
    agents = load_agents(tmp_path)
    assert (agents["qwen"].mode, agents["codex-acp"].mode) == ((), ("a", "b"))
    assert agents["claude-code-acp"].mode == ("default",)


def permission_of(made: AgentLaunch) -> dict[str, Any]:
    permission: dict[str, Any] = json.loads(environment_of(made, {}, {})["OPENCODE_PERMISSION"])
    return permission


def test_opencode_may_use_what_is_handed_over_and_behind_a_wall_all_there_is() -> None:
    nodes = "/run/nodes/*/published"
    bare = permission_of(job("opencode", readable_patterns=("/input", nodes)))
    assert bare["*"] == "allow"
    assert list(bare["external_directory"].items()) == [
        ("*", "deny"),  # the last one that matches counts
        ("/own/*", "allow"),
        ("/input/*", "allow"),
        (f"{nodes}/*", "allow"),
    ]
    walled = permission_of(job("opencode", is_sandboxed=True))
    assert walled["external_directory"] == {"*": "allow"}


@pytest.mark.parametrize(
    ("home", "is_sandboxed", "environ", "wanted"),
    [
        ("/own", True, {}, "/own/tmp"),
        ("/own", False, {"TMPDIR": "/var/tmp"}, "/own/tmp"),
        (f"/{'x' * 80}", True, {"TMPDIR": "/var/tmp"}, "/tmp"),
        (f"/{'x' * 80}", False, {"TMPDIR": "/var/tmp"}, "/var/tmp"),
        (f"/{'x' * 80}", False, {}, "/tmp"),
        (f"/tmp/{'x' * 80}", True, {}, f"/tmp/{'x' * 80}/tmp"),
    ],
)
def test_an_agents_temporary_files_stand_in_a_folder_of_its_own(
    home: str, is_sandboxed: bool, environ: dict[str, str], wanted: str
) -> None:
    for name in ("codex", "gemini"):
        given = environment_of(job(name, home=Path(home), is_sandboxed=is_sandboxed), environ, {})
        assert given["TMPDIR"] == wanted
    codex_home = environment_of(
        job("codex", home=Path(home), is_sandboxed=is_sandboxed), environ, {}
    )
    assert not Path(codex_home["CODEX_HOME"]).is_relative_to(wanted)


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A link to a program in a virtual environment of its own, as pipx and uv make them."""
    base, venv = tmp_path / "pythons/3.12.1", tmp_path / "venvs/aider"
    put_program(base / "bin", "python3.12")
    (base / "lib").mkdir()
    (tmp_path / "pythons/3.12").symlink_to(base)
    (venv / "bin").mkdir(parents=True)
    (venv / "lib").mkdir()
    (venv / "bin/python").symlink_to(tmp_path / "pythons/3.12/bin/python3.12")
    (venv / "pyvenv.cfg").write_text(f"home = {tmp_path}/pythons/3.12/bin\n")
    (venv / ".netrc").write_text("secret")
    put_program(venv / "bin", "aider").write_text(f"#!{venv}/bin/python\nimport aider\n")
    link = tmp_path / "links/aider"
    link.parent.mkdir()
    link.symlink_to(venv / "bin/aider")
    return link


def agent_at(tool: Path, name: str = "aider", command: str = "aider") -> ExternalAgent:
    return ExternalAgent(name, AgentPreset(command=(command,)), str(tool))


def test_a_sandbox_shows_a_scripts_environment_and_the_python_below_it(tool: Path) -> None:
    top = tool.parents[1]
    shown = sandbox_readable(agent_at(tool), "")
    for needed in (
        "venvs/aider/bin",
        "venvs/aider/lib",
        "venvs/aider/pyvenv.cfg",
        "pythons/3.12/lib",
    ):
        assert top / needed in shown, needed
    assert top / "venvs/aider" not in shown, "nothing else that stands in its folder"
    argv = argv_of(AgentLaunch(agent_at(tool), "p", top, top, is_sandboxed=True))
    assert argv[0] == str(top / "venvs/aider/bin/aider"), "the link is not shown there"
    assert argv_of(AgentLaunch(agent_at(tool), "p", top, top))[0] == str(tool)


@pytest.mark.parametrize(
    "head",
    [
        "#!/usr/bin/env python\n",
        "#!/usr/bin/env -S python -P\n",
        "#!/bin/sh\n'''exec' \"{venv}/bin/python\" \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_the_interpreter_is_found_however_a_script_names_it(tool: Path, head: str) -> None:
    venv = tool.parents[1] / "venvs/aider"
    tool.resolve().write_text(head.replace("{venv}", str(venv)) + "import aider\n")
    shown = sandbox_readable(agent_at(tool), str(venv / "bin"))
    assert {venv / "bin/python", venv / "lib", venv / "pyvenv.cfg"} <= set(shown)


def test_of_a_command_line_with_a_path_the_programs_file_alone_is_shown(tool: Path) -> None:
    assert sandbox_readable(agent_at(tool, COMMAND, str(tool)), "") == [tool]
    assert len(sandbox_readable(agent_at(tool, COMMAND, "aider"), "")) > 1, (
        "one on the PATH is trusted"
    )


def test_a_binary_and_a_script_without_its_interpreter_need_nothing_else(tmp_path: Path) -> None:
    program = put_program(tmp_path, "tool")
    for text in (b"\x7fELF\xff", b"#!\n", b"#!/no/such/python\n", b"#!/usr/bin/env\n", b""):
        program.write_bytes(text)
        assert sandbox_readable(agent_at(program), "") == [program, program]


@pytest.mark.parametrize("name", ["copilot", "pi", "mini-swe-agent"])
def test_agents_with_providers_of_their_own_know_the_door_alone(name: str) -> None:
    environ = {"OPENAI_API_KEY": "sk-of-the-person", "COPILOT_GITHUB_TOKEN": "of-the-person"}
    started = job(name, model="m-1")
    given = environment_of(started, environ, {}).values()
    told = " ".join([*argv_of(started), *given, *files_of(started).values()])
    assert "http://127.0.0.1:7/openai/v1" in told
    assert "t0k" in told
    assert "m-1" in told
    assert "of-the-person" not in told
