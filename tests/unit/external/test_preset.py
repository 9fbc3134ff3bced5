"""The meaning of an agent_command, and the arguments of an external agent."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.core.specs import AskedAgent, Author
from agiraph.external.launching import (
    AgentLaunch,
    ProxyEndpoint,
    argv_of,
    environment_of,
    files_of,
    sandbox_readable,
)
from agiraph.external.preflight import check_agent
from agiraph.external.preset import (
    COMMAND,
    AgentPreset,
    ExternalAgent,
    find_program,
    load_agents,
    meant_by,
)
from agiraph.settings.config import load_config

PROXY = ProxyEndpoint("http://127.0.0.1:7", "t0k")
ENVIRON = {
    "PATH": "/bin",
    "HOME": "/me",
    "LC_ALL": "C",
    "ANTHROPIC_API_KEY": "of-the-person",
    "GEMINI_API_KEY": "of-the-person",
    "OPENAI_API_KEY": "of-the-person",
    "COPILOT_GITHUB_TOKEN": "of-the-person",
}


def put_program(folder: Path, name: str) -> Path:
    program = folder / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def launch_of(agent: ExternalAgent, **more: Any) -> AgentLaunch:
    folders = {"folder": Path("/work"), "home": Path("/own")}
    return AgentLaunch(agent, "do it", **{**folders, "proxy": PROXY, **more})


def launch(name: str, **more: Any) -> AgentLaunch:
    return launch_of(ExternalAgent(name, load_agents()[name], f"/opt/{name}"), **more)


def agents_with(folder: Path, text: str) -> dict[str, AgentPreset]:
    """Return the agents of a home with this agents.yaml."""
    (folder / "agents.yaml").write_text(text)
    return load_agents(folder)


# --- the meaning of a command --------------------------------------------------------------------


@pytest.mark.parametrize("author", ["model", "person"])
def test_parameter_value_adds_the_arguments_of_the_preset(author: Author, tmp_path: Path) -> None:
    program = put_program(tmp_path, "claude")
    path = {"PATH": str(tmp_path)}
    agent = meant_by("claude-code effort=high", load_agents(), path, author)
    assert (agent.name, agent.required()) == ("claude-code", str(program))
    assert agent.preset.rules == "asked"
    words = argv_of(launch_of(agent))
    assert words[words.index("--effort") + 1] == "high"


def test_extra_words_of_a_person_are_options_and_disable_the_rules(
    tmp_path: Path,
) -> None:
    put_program(tmp_path, "claude")
    path = {"PATH": str(tmp_path)}
    agent = meant_by("claude-code --effort high", load_agents(), path, "person")
    words = argv_of(launch_of(agent))
    assert words[words.index("--effort") + 1] == "high"
    assert agent.preset.rules == "sandbox"


def test_any_other_command_of_a_person_is_a_command_line(tmp_path: Path) -> None:
    program = put_program(tmp_path, "build")
    agent = meant_by("build --all 'two words'", load_agents(), {"PATH": str(tmp_path)}, "person")
    assert agent.name == COMMAND
    assert argv_of(launch_of(agent)) == [str(program), "--all", "two words"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "agent_command is empty"),
        ("'half", "cannot be read: No closing quotation"),
        ("cluade-code", "did you mean 'claude-code'.*not a command on the PATH either"),
        ("claude-code", "'claude-code' .claude. is not installed: npm install -g"),
        ("./none --x", "'./none' is not installed: put ./none on the PATH"),
    ],
)
def test_unusable_command_is_refused_with_the_possible_ones(
    command: str, message: str, tmp_path: Path
) -> None:
    agents_with(tmp_path, "claude-code: {carried: ''}\n")
    asked = AskedAgent(command=command, author="person", name="ada")
    with pytest.raises(InvalidInput, match=message):
        check_agent(asked, tmp_path, load_config().sandbox, {"PATH": str(tmp_path)})


def test_a_program_in_a_python_package_is_found(tmp_path: Path) -> None:
    program = put_program(tmp_path, "some_package/bin/tool")
    preset = AgentPreset(command=("tool",), carried="some_package/bin/tool")
    assert find_program(preset, {"PATH": ""}, [str(tmp_path)]) == str(program)


def test_a_home_overrides_shipped_agents_and_adds_its_own(tmp_path: Path) -> None:
    own = "codex: {silence_seconds: 5}\nmine: {command: [mine], start: ['{prompt}']}\n"
    agents = agents_with(tmp_path, own + "qwen: {mode: ''}\ncodex-acp: {mode: [a, b]}\n")
    assert (agents["codex"].silence_seconds, agents["codex"].driver) == (5, "codex")
    assert agents["mine"].driver == "plain"
    assert (agents["qwen"].mode, agents["codex-acp"].mode) == ((), ("a", "b"))
    assert agents["claude-code-acp"].mode == ("default",), "one name is a list of it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine: {}", "agents.yaml:1: mine.command: is missing"),
        ("mine: {command: [a], colour: red}", "agents.yaml:1: mine.colour: is an unknown key"),
        ("mine: 7", "agents.yaml: mine: expected a name"),
        ("mine: {command: [a], files: {../x: y}}", "mine.files.../x.*name a file below its HOME"),
        ("mine: {command: [a], files: {/x: y}}", "name a file below its HOME"),
    ],
)
def test_a_bad_preset_is_refused_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        agents_with(tmp_path, text)


# --- the arguments of an agent -------------------------------------------------------------------


def test_every_shipped_agent_gets_its_task_and_its_model() -> None:
    for name, preset in load_agents().items():
        started = launch(name, model="m-1")
        words, given = argv_of(started), environment_of(started, {}, {}).values()
        assert any("m-1" in word for word in (*words, *given)), name
        has_task = any("do it" in word for word in words)
        assert has_task or preset.driver in ("claude", "acp"), name
        assert not any("{" + place + "}" in " ".join(words) for place in ("model", "door")), name


def test_a_session_is_resumed_where_the_agent_can() -> None:
    assert argv_of(launch("codex", session="s-1"))[-3:] == ["resume", "s-1", "do it"]
    assert "s-1" not in argv_of(launch("aider", session="s-1"))


def test_options_depend_on_whether_there_is_a_sandbox() -> None:
    assert "workspace-write" in argv_of(launch("codex"))
    bypass = "--dangerously-bypass-approvals-and-sandbox"
    assert bypass in argv_of(launch("codex", is_sandboxed=True))


def test_an_agent_at_the_proxy_gets_its_token_and_no_key() -> None:
    given = environment_of(launch("claude-code"), ENVIRON, {"AGIRAPH_RUN": "r"})
    assert given["ANTHROPIC_API_KEY"] == "t0k"
    assert given["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:7/anthropic"
    assert (given["HOME"], given["LC_ALL"], given["AGIRAPH_RUN"]) == ("/own", "C", "r")
    assert "of-the-person" not in given.values()


def test_an_agent_with_the_persons_own_account_has_their_home() -> None:
    preset = AgentPreset(command=("mine",), account="own")
    own = launch_of(ExternalAgent("mine", preset, "/bin/mine"))
    assert environment_of(own, ENVIRON, {})["HOME"] == "/me"


@pytest.mark.parametrize("name", ["gemini", "gemini-acp"])
def test_gemini_uses_the_proxy_and_its_settings_are_in_its_own_home(name: str) -> None:
    started = launch(name, model="gemini-3.8-pro")
    given = environment_of(started, ENVIRON, {})
    assert given["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:7/google"
    assert (given["GEMINI_API_KEY"], given["HOME"]) == ("t0k", "/own")
    assert given["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    files = files_of(started)
    settings = json.loads(files[Path("/own/.gemini/settings.json")])
    assert (Path("/own/.gemini/policies/agiraph.toml") in files) == (name == "gemini-acp")
    assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"
    assert settings["privacy"]["usageStatisticsEnabled"] is False
    words = argv_of(started)
    assert words[words.index("-m") + 1] == "gemini-3.8-pro"


def test_files_of_its_home_are_filled_in() -> None:
    files = files_of(launch("qwen"))
    assert [*files] == [Path("/own/.qwen/system.json"), Path("/own/.qwen/settings.json")]
    assert all("Read" in json.loads(text)["permissions"]["ask"] for text in files.values())


@pytest.mark.parametrize("name", ["copilot", "pi", "mini-swe-agent"])
def test_agents_with_providers_of_their_own_know_only_the_proxy(name: str) -> None:
    started = launch(name, model="m-1")
    given = environment_of(started, ENVIRON, {}).values()
    known = " ".join([*argv_of(started), *given, *files_of(started).values()])
    for word in ("http://127.0.0.1:7/openai/v1", "t0k", "m-1"):
        assert word in known
    assert "of-the-person" not in known


@pytest.mark.parametrize(
    ("is_sandboxed", "directories"),
    [
        # The last pattern that matches counts.
        (False, {"*": "deny", "/own/*": "allow", "/input/*": "allow", "/n/*/published/*": "allow"}),
        (True, {"*": "allow"}),
    ],
)
def test_opencode_may_read_its_inputs_and_in_a_sandbox_all_there_is(
    is_sandboxed: bool, directories: dict[str, str]
) -> None:
    patterns = ("/input", "/n/*/published")
    started = launch("opencode", readable_patterns=patterns, is_sandboxed=is_sandboxed)
    permission = json.loads(environment_of(started, {}, {})["OPENCODE_PERMISSION"])
    assert permission["*"] == "allow"
    assert [*permission["external_directory"].items()] == [*directories.items()]


LONG = "x" * 80


@pytest.mark.parametrize(
    ("home", "is_sandboxed", "environ", "folder"),
    [
        ("/own", True, {}, "/own/tmp"),
        ("/own", False, {"TMPDIR": "/var/tmp"}, "/own/tmp"),
        (f"/{LONG}", True, {"TMPDIR": "/var/tmp"}, "/tmp"),
        (f"/{LONG}", False, {"TMPDIR": "/var/tmp"}, "/var/tmp"),
        (f"/{LONG}", False, {}, "/tmp"),
        (f"/tmp/{LONG}", True, {}, f"/tmp/{LONG}/tmp"),
    ],
)
def test_an_agents_temporary_files_are_in_a_folder_of_its_own(
    home: str, is_sandboxed: bool, environ: dict[str, str], folder: str
) -> None:
    for name in ("gemini", "codex"):
        started = launch(name, home=Path(home), is_sandboxed=is_sandboxed)
        given = environment_of(started, environ, {})
        assert given["TMPDIR"] == folder
    assert not Path(given["CODEX_HOME"]).is_relative_to(folder)


# --- the contents of a sandbox -------------------------------------------------------------------


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


def test_sandbox_shows_the_environment_of_a_script_and_its_python(tool: Path) -> None:
    top = tool.parents[1]
    shown = sandbox_readable(agent_at(tool), "")
    needed = ("aider/bin", "aider/lib", "aider/pyvenv.cfg", "../pythons/3.12/lib")
    assert {(top / "venvs" / one).resolve() for one in needed} <= {one.resolve() for one in shown}
    assert top / "venvs/aider" not in shown, "nothing else in its folder"
    argv = argv_of(launch_of(agent_at(tool), is_sandboxed=True))
    assert argv[0] == str(top / "venvs/aider/bin/aider"), "the link is not shown there"
    assert argv_of(launch_of(agent_at(tool)))[0] == str(tool)


@pytest.mark.parametrize(
    "head",
    [
        "#!/usr/bin/env python\n",
        "#!/usr/bin/env -S python -P\n",
        "#!/bin/sh\n'''exec' \"{venv}/bin/python\" \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_interpreter_of_a_script_is_found_in_every_shebang_form(tool: Path, head: str) -> None:
    venv = tool.parents[1] / "venvs/aider"
    tool.resolve().write_text(head.replace("{venv}", str(venv)) + "import aider\n")
    shown = sandbox_readable(agent_at(tool), str(venv / "bin"))
    assert {venv / "bin/python", venv / "lib", venv / "pyvenv.cfg"} <= set(shown)


@pytest.mark.parametrize("name", ["aider", "PATH"])
def test_interpreter_of_a_script_in_a_command_line_is_mounted(tool: Path, name: str) -> None:
    command = str(tool) if name == "PATH" else name
    shown = sandbox_readable(agent_at(tool, COMMAND, command), "")
    assert (shown[0], tool.parents[1] / "venvs/aider/bin/python" in shown) == (tool, True)


def test_a_binary_and_a_script_without_its_interpreter_need_nothing_else(tmp_path: Path) -> None:
    program = put_program(tmp_path, "tool")
    for text in (b"\x7fELF\xff", b"#!\n", b"#!/no/such/python\n", b"#!/usr/bin/env\n", b""):
        program.write_bytes(text)
        assert sandbox_readable(agent_at(program), "") == [program, program]
