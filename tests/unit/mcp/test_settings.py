"""Settings of servers: errors are reported without secrets, and the command of a server."""

import os
import sys
from pathlib import Path

import pytest

from actors.runtime.environment import environment_for, naming_settings
from actors.tools.mcp.command_line import command_of
from agiraph.core.errors import InvalidInput
from agiraph.mcp.secrets import (
    MissingServerVariable,
    filled_in,
    read_secrets,
    redacted,
    secrets_of,
    why_unusable,
)
from agiraph.settings.config import load_config
from agiraph.settings.mcp_servers import McpServerConfig, fingerprint, without_secrets
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy_file import read_policy
from cli.doctor_checks.beside import check_servers
from cli.doctor_checks.check import DoctorContext

TRACKER = McpServerConfig(
    url="https://mcp.example.org/${TEAM}", headers={"Authorization": "Bearer ${TRACKER_TOKEN}"}
)


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "agiraph.yaml"
    file.write_text(f"mcp:\n  servers:\n    {text}\n")
    with pytest.raises(InvalidInput) as raised:
        load_config(file)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {}", "needs either `command` or `url`"),
        ("a: {command: x, url: 'http://x'}", "needs either `command` or `url`"),
        ("a: {url: 'http://x', args: [y]}", "a server with a `url` has no `args`"),
        ("a: {command: x, headers: {A: b}}", "a server with a `command` has no `headers`"),
        ("a: {command: x, wrap: podman}", "wrap"),
        ("a: {command: x, writable: [here]}", "'here' in writable or readable is not an absolute"),
        ("a: {command: x, comand: y}", "possible: args, command, cwd, env, grant"),
        ("web: {command: x}", "'web' is taken"),
        ("a__b: {command: x}", "must not hold '__'"),
        ("A: {command: x}", "mcp.servers.A"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, text)


def test_the_message_about_a_mistake_does_not_contain_a_secret(tmp_path: Path) -> None:
    assert "s3cret" not in refused(tmp_path, "a: {url: 'http://x', headers: [s3cret]}")


def test_variables_are_filled_in_and_a_missing_one_is_named() -> None:
    known = {"TEAM": "blue", "TRACKER_TOKEN": "t0k3n-of-blue"}
    filled = filled_in("tracker", TRACKER, known)
    assert filled.url == "https://mcp.example.org/blue"
    assert filled.headers == {"Authorization": "Bearer t0k3n-of-blue"}
    with pytest.raises(MissingServerVariable, match="server 'tracker': the variable TRACKER_TOKEN"):
        filled_in("tracker", TRACKER, {"TEAM": "blue"})


def test_only_secret_values_are_redacted() -> None:
    environ = {"TEAM": "blue-team-of-many", "TRACKER_TOKEN": "t0k3n-of-blue"}
    secrets = secrets_of(TRACKER, environ, {})
    assert secrets == ("t0k3n-of-blue",)
    shown = redacted("t0k3n-of-blue of blue-team-of-many", secrets)
    assert shown == "[redacted] of blue-team-of-many"
    assert secrets_of(TRACKER, {}, {"TEAM": "all-in-the-file"}) == ("all-in-the-file",)


def test_the_file_of_secrets_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    assert read_secrets(file) == {}
    file.write_text("# mine\nexport A='b c'\nD=e=f\n\n")
    file.chmod(0o600)
    assert read_secrets(file) == {"A": "b c", "D": "e=f"}
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        read_secrets(file)
    file.chmod(0o600)
    file.write_text("what is this")
    with pytest.raises(InvalidInput, match="1: expected NAME=value"):
        read_secrets(file)


def test_shown_settings_have_variable_names_and_no_values() -> None:
    shown = without_secrets({"tracker": {**TRACKER.model_dump(), "env": {"KEY": "literal"}}})
    assert shown["tracker"]["headers"] == {"Authorization": "Bearer ${TRACKER_TOKEN}"}
    assert shown["tracker"]["env"] == {"KEY": "[redacted]"}


def test_different_settings_have_different_fingerprints() -> None:
    assert fingerprint(TRACKER) == fingerprint(TRACKER.model_copy())
    assert fingerprint(TRACKER) != fingerprint(McpServerConfig(command="x"))


def test_a_host_sees_the_variables_of_its_own_server_alone() -> None:
    servers = {"tracker": TRACKER.model_dump(), "other": {"env": {"X": "${OTHER_TOKEN}"}}}
    config = {"mcp": {"servers": servers}}
    environ = {"PATH": "/bin", "TEAM": "blue", "TRACKER_TOKEN": "t", "OTHER_TOKEN": "o"}
    settings = naming_settings("tools", "tools/tracker", config)
    seen = environment_for("tools", environ, settings)
    assert seen == {"PATH": "/bin", "TEAM": "blue", "TRACKER_TOKEN": "t"}
    assert environment_for("worker", environ, naming_settings("worker", "a/b", config)) == {
        "PATH": "/bin"
    }


def test_a_server_in_docker_gets_its_secrets_by_name(tmp_path: Path) -> None:
    settings = McpServerConfig(
        command="mcp-git",
        args=("--verbose",),
        env={"GIT_TOKEN": "s3cret"},
        wrap="docker mcp/git:1",
        writable=("/srv/repo",),
        readable=("/srv/docs",),
        network=False,
        cwd="/srv/repo",
    )
    environ = {"PATH": os.defpath, "ANTHROPIC_API_KEY": "no"}
    command = command_of(settings, environ, tmp_path)
    words = " ".join(command.words)
    assert "s3cret" not in words
    assert "ANTHROPIC_API_KEY" not in command.environment
    assert command.environment["GIT_TOKEN"] == "s3cret"
    assert words == (
        "docker run --rm --interactive --init --network none --env GIT_TOKEN "
        "--mount type=bind,source=/srv/repo,target=/srv/repo "
        "--mount type=bind,source=/srv/docs,target=/srv/docs,readonly "
        "--workdir /srv/repo mcp/git:1 mcp-git --verbose"
    )
    bare = command_of(settings.model_copy(update={"wrap": "none"}), environ, tmp_path)
    assert bare.words == ("mcp-git", "--verbose")


def test_a_missing_variable_or_program_is_named() -> None:
    known = {"PATH": os.defpath}
    assert why_unusable("a", McpServerConfig(command=sys.executable), known) == ""
    assert why_unusable("a", McpServerConfig(url="http://127.0.0.1:1/"), known) == ""
    missing = why_unusable("a", McpServerConfig(command="no-such-program"), known)
    assert missing == "server 'a': the program 'no-such-program' is not installed"
    unset = why_unusable("a", McpServerConfig(command="x", env={"K": "${NO_SUCH}"}), known)
    assert "server 'a': the variable NO_SUCH is not set" in unset
    boxed = why_unusable("a", McpServerConfig(command="x", wrap="docker i"), {"PATH": "/nowhere"})
    assert "'docker' is not installed" in boxed


def test_the_doctor_reports_servers(tmp_path: Path) -> None:
    context = DoctorContext(Home(tmp_path), {"PATH": os.defpath})
    assert "none is configured" in check_servers(context).detail
    text = "mcp: {servers: {a: {command: no-such-program}, b: {url: 'http://127.0.0.1:1/'}}}"
    (tmp_path / "agiraph.yaml").write_text(text)
    found = check_servers(context)
    assert found.status == "warn"
    assert "no-such-program" in found.detail
    (tmp_path / "agiraph.yaml").write_text("mcp: {servers: {b: {url: 'http://127.0.0.1:1/'}}}")
    assert check_servers(context).status == "ok"


def test_approval_rule_may_name_a_tool_of_a_server(tmp_path: Path) -> None:
    file = tmp_path / "approvals.yaml"
    file.write_text("rules:\n  - {tool: files__write_file, action: ask}\n")
    [rule] = read_policy(file, ("bash",)).rules
    assert rule.tool == ("files__write_file",)
