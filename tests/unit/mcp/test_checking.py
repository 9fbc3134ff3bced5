"""What a doctor tells of a server before anybody starts it."""

import os
import sys
from pathlib import Path

from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.checking import why_unusable
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy_file import read_policy
from cli.doctor_checks import DoctorContext
from cli.doctor_checks.others import check_servers


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


def test_the_doctor_tells_of_servers(tmp_path: Path) -> None:
    patient = DoctorContext(Home(tmp_path), {"PATH": os.defpath})
    assert "none is configured" in check_servers(patient).detail
    text = "mcp: {servers: {a: {command: no-such-program}, b: {url: 'http://127.0.0.1:1/'}}}"
    (tmp_path / "agiraph.yaml").write_text(text)
    found = check_servers(patient)
    assert found.status == "warn"
    assert "no-such-program" in found.detail
    (tmp_path / "agiraph.yaml").write_text("mcp: {servers: {b: {url: 'http://127.0.0.1:1/'}}}")
    assert check_servers(patient).status == "ok"


def test_a_rule_may_be_about_a_servers_tool(tmp_path: Path) -> None:
    file = tmp_path / "approvals.yaml"
    file.write_text("rules:\n  - {tool: files__write_file, action: ask}\n")
    [rule] = read_policy(file, ("bash",)).rules
    assert rule.tool == ("files__write_file",)
