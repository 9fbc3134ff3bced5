"""`agiraph doctor` and `agiraph config`: they need no supervisor."""

import fcntl
import os
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from agiraph.storage.files import open_folder
from agiraph.storage.home import Home
from agiraph.storage.walk import closing
from cli.doctor_checks import check_up
from cli.doctor_checks.check import DoctorCheck, DoctorContext
from cli.doctor_checks.machine import packages_by_extra
from tests.unit.cli.fakes import command, json_of

ROOT = Path(__file__).resolve().parents[3]


def checks(home: Path, environ: dict[str, str] | None = None) -> dict[str, DoctorCheck]:
    return check_up(DoctorContext(Home(home), environ or {}))


def test_doctor_as_json_is_one_object(tmp_path: Path) -> None:
    told = json_of(command(None, "doctor", "--json", "--home", str(tmp_path)))
    assert told["ok"] is True
    assert told["home"] == str(tmp_path)
    names = [check["name"] for check in told["checks"]]
    assert names == [
        "python", "packages", "extras", "bus", "sqlite", "launcher", "loopback", "programs", "disk",
        "home", "privacy", "files", "versions", "records",
        "ends of journals", "missing files", "register", "knowledge database", "settings",
        "approvals",
        "supervisor", "processes",
        "hosts", "socket path", "sandbox", "tools of commands",
        "models", "external agents", "tool servers",
        "web search", "web pages", "channels", "traces",
    ]  # fmt: skip
    assert set(told["checks"][0]) == {"name", "status", "detail", "advice"}


def test_doctor_shows_advice_for_each_failure(tmp_path: Path) -> None:
    (tmp_path / "agiraph.yaml").write_text("run:\n  max_nodes: none\n")
    result = command(None, "doctor", "--home", str(tmp_path))
    assert result.exit_code == 1
    assert "fail  settings" in result.stdout
    assert "agiraph.yaml:2" in result.stdout
    assert "→ fix that line" in result.stdout


def test_doctor_fits_eighty_columns(tmp_path: Path) -> None:
    lines = command(None, "doctor", "--home", str(tmp_path)).stdout.splitlines()
    assert not [line for line in lines if len(line) > 80 and " " in line[40:].strip()]


def test_optional_packages_are_separated_from_required_ones() -> None:
    requirements = [
        "pyzmq<28,>=26",
        "click<9,>=8.1; extra == 'small'",
        "no-such-package>=1; (sys_platform == 'linux') and extra == 'large'",
    ]
    assert packages_by_extra(requirements) == {
        "": ["pyzmq"],
        "small": ["click"],
        "large": ["no-such-package"],
    }


def test_every_required_package_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks(tmp_path)["packages"].status == "ok"
    monkeypatch.setattr("cli.doctor_checks.machine._requirements", lambda: ["no-such-package>=1"])
    assert checks(tmp_path)["packages"].detail == "missing: no-such-package"


def test_home_readable_by_other_users_is_named(tmp_path: Path) -> None:
    system = tmp_path / "system"
    system.mkdir(mode=0o755)
    check = checks(tmp_path)["privacy"]
    assert (check.status, check.advice) == ("fail", f"chmod go-rwx {system}")
    system.chmod(0o700)
    assert checks(tmp_path)["privacy"].status == "ok"


def test_irregular_files_of_an_agents_home_are_named(tmp_path: Path) -> None:
    agent = Home(tmp_path).agent("survey-1")
    run = agent.run("r1")
    run.messages.mkdir(parents=True)
    assert checks(tmp_path)["files"].status == "ok"
    (run.messages / ".journal.jsonl").mkdir()
    run.nodes.symlink_to(tmp_path)
    agent.events.symlink_to("/etc/hostname")
    found = checks(tmp_path)["files"]
    assert found.status == "fail"
    for path in (run.messages / ".journal.jsonl", run.nodes, agent.events):
        assert str(path) in found.detail


@pytest.mark.parametrize(
    ("settings", "environ", "name", "status", "words"),
    [
        (
            'channels: {phone: {kind: webhook, url: "${NO_SUCH_HOOK}"}}',
            {},
            "channels",
            "warn",
            ["not set: NO_SUCH_HOOK", "export NO_SUCH_HOOK=..."],
        ),
        (
            'mcp: {servers: {files: {command: no-such-program}, wiki: {url: "${NO_SUCH_URL}"}}}',
            {},
            "tool servers",
            "warn",
            ["'no-such-program' is not installed", "NO_SUCH_URL is not set"],
        ),
        ("", {}, "sandbox", "warn", ["apt install bubblewrap"]),
        ("sandbox: {required: true}", {}, "sandbox", "fail", ["apt install bubblewrap"]),
        ("sandbox: {mode: none}", {}, "sandbox", "warn", ["sandbox.mode is none"]),
        ("", {"SERPER_API_KEY": "k"}, "web search", "ok", ["serper (web.search is auto)"]),
        (
            "web: {search: brave}",
            {},
            "web search",
            "warn",
            ["brave cannot be used: BRAVE_API_KEY is not set", "export BRAVE_API_KEY=..."],
        ),
        ("web: {search: searxng}", {}, "web search", "warn", ["web.search_url is not set"]),
        ("", {}, "models", "warn", ["no provider's key is set"]),
        ("", {"OPENAI_API_KEY": "sk-x"}, "models", "ok", ["openai (OPENAI_API_KEY is set)"]),
    ],
)
def test_requirements_of_the_settings_are_checked(
    settings: str,
    environ: dict[str, str],
    name: str,
    status: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.probe.find_program", lambda: None)
    (tmp_path / "agiraph.yaml").write_text(settings)
    check = checks(tmp_path, environ)[name]
    assert check.status == status
    for word in words:
        assert word in f"{check.detail} {check.advice}"
    assert "sk-x" not in check.detail


def test_a_home_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert checks(tmp_path / "file")["home"].status == "fail"
    assert checks(tmp_path / ("x" * 120))["socket path"].status == "warn"


def test_external_agents_are_found_on_the_path_and_tried(tmp_path: Path) -> None:
    (tmp_path / "codex").write_text("#!/bin/sh\necho no namespaces >&2\nexit 1\n")
    (tmp_path / "codex").chmod(0o755)
    (tmp_path / "agiraph.yaml").write_text("sandbox: {mode: none}\n")
    check = checks(tmp_path, {"PATH": str(tmp_path)})["external agents"]
    assert check.status == "warn"
    assert check.detail.startswith("installed: codex")
    assert "claude-code" in check.detail.partition("not installed: ")[2]
    assert "codex cannot work here: its own sandbox does not work (no namespaces)" in check.detail
    assert check.advice == "set sandbox.mode to auto"


def test_installed_agents_outside_the_rules_are_named(tmp_path: Path) -> None:
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "approvals.yaml").write_text("rules: [{tool: bash, action: ask, worker: ada}]")
    (tmp_path / "agents.yaml").write_text("claude-code: {account: own}")
    check = checks(tmp_path, {"PATH": str(tmp_path)})["external agents"]
    assert check.status == "warn"
    assert check.detail.endswith("; refused, as your approvals.yaml cannot be enforced: codex")
    assert "with your own login, keys and settings: claude-code" in check.detail
    (tmp_path / "approvals.yaml").write_text("rules: [{tool: bash, action: allow}]")
    assert checks(tmp_path, {"PATH": str(tmp_path)})["external agents"].status == "ok"


def test_occupied_port_fails_the_check(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "agiraph.yaml").write_text(f"http: {{port: {port}}}\n")
        assert checks(tmp_path)["loopback"].status == "fail"


def test_doctor_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    command(None, "doctor", "--home", str(home))
    assert not home.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_home_that_cannot_be_written_to_fails(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert checks(tmp_path)["home"].status == "fail"


def test_the_holder_of_the_home_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert "none is running" in checks(tmp_path)["supervisor"].detail
    home.system.lock.parent.mkdir()
    home.system.lock.write_text("4711\n")
    assert "none is running" in checks(tmp_path)["supervisor"].detail
    with closing(open_folder(home.system.path)) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        check = checks(tmp_path)["supervisor"]
        assert (check.status, "pid 4711" in check.detail) == ("warn", True)
        home.human.address.parent.mkdir()
        home.human.address.write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
        assert checks(tmp_path)["supervisor"].status == "ok"


def test_a_full_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1_000_000

    monkeypatch.setattr("cli.doctor_checks.machine.shutil.disk_usage", lambda _path: Usage)
    assert checks(tmp_path)["disk"].status == "fail"


def test_config_show_merges_own_settings_over_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "agiraph.yaml").write_text("run:\n  max_nodes: 7\n")
    more = tmp_path / "more.yaml"
    more.write_text("run:\n  max_concurrent: 2\n")
    args = ("config", "show", "--home", str(tmp_path), "--config", str(more))
    told = json_of(command(None, *args, "--json"))
    assert (told["run"]["max_nodes"], told["run"]["max_concurrent"]) == (7, 2)
    assert yaml.safe_load(command(None, *args).stdout) == told


def test_config_show_names_the_line_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "agiraph.yaml").write_text("run:\n  max_node: 7\n")
    result = command(None, "config", "show", "--home", str(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "agiraph.yaml:2: unknown key 'run.max_node'" in result.stderr


def test_config_schema_is_a_json_schema() -> None:
    schema: Any = json_of(command(None, "config", "schema"))
    assert "run" in schema["properties"]


def test_error_in_approvals_names_its_line_and_the_possible_values(
    tmp_path: Path,
) -> None:
    (tmp_path / "approvals.yaml").write_text("rules:\n  - {tool: bash, action: perhaps}\n")
    told = "approvals.yaml:2: rule 1: action is 'perhaps' (possible: allow, ask, deny)"
    for args in (("doctor",), ("config", "show"), ("approvals", "--rules")):
        result = command(None, *args, "--home", str(tmp_path))
        assert result.exit_code != 0, args
        shown = " ".join(result.output.split()).replace("\n", "")
        assert told in shown or told.replace(" ", "") in shown.replace(" ", ""), args
        assert "Traceback" not in result.output
