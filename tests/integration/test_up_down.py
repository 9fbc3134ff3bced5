"""`agiraph up`, `down` and `status`, through the real command line."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.http.discovery import is_held
from tests.fakes.model_server import FakeModelServer, Script, call
from tests.integration.commands import Commands, await_nothing_left
from tests.integration.probed_supervisor import keep_port
from tests.integration.waiting import until

SYSTEMCTL = """#!{python}
import shlex, subprocess, sys
from pathlib import Path
words = sys.argv[2:]
with open({log!r}, "a") as log:
    print(*words, file=log)
if words[0] == "start":
    lines = Path({units!r}, words[1]).read_text().splitlines()
    command = next(line for line in lines if line.startswith("ExecStart=")).partition("=")[2]
    program, *rest = shlex.split(command)
    null = subprocess.DEVNULL
    subprocess.Popen(
        [program.removeprefix(":"), *rest],
        start_new_session=True, stdin=null, stdout=null, stderr=null,
    )
"""


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path / "my home")
    yield commands
    if is_held(commands.home):
        commands.here("down")
    await_nothing_left(commands.home)


def test_up_returns_when_ready_and_down_when_all_processes_have_ended(commands: Commands) -> None:
    home = commands.home
    none = commands.here("status")
    assert none.returncode == 4
    assert none.stdout.startswith("supervisor   none runs; start it with: agiraph up\n")

    begun = commands.program("up")
    assert (begun.returncode, begun.stderr) == (0, "the supervisor is ready\n")
    pid = int((home / "system" / "lock").read_text())
    log = home / "system" / "logs" / "supervisor.log"
    assert f"pid {pid}\n" in begun.stdout
    assert f"logs         {log}\n" in begun.stdout
    assert log.stat().st_mode & 0o077 == 0

    again = commands.here("up", "--json")
    assert (again.returncode, again.stderr) == (0, "")
    assert json.loads(again.stdout)["started"] is False

    found = commands.json("status")
    assert (found["running"], found["pid"], found["agents"]) == (True, pid, [])
    assert found["api"].startswith("http://127.0.0.1:")
    assert found["processes"] > 4
    assert str(log) in found["logs"]

    ended = commands.here("down")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == f"the supervisor (pid {pid}) has stopped\nno agent is unfinished\n"
    await_nothing_left(home)
    assert not (home / "system" / "supervisor.json").exists()
    again = commands.here("down")
    assert (again.returncode, again.stderr) == (0, f"no supervisor runs on home {home}\n")
    assert commands.here("status", "--json").returncode == 4


def test_down_lists_unfinished_agents_and_up_continues_them(tmp_path: Path) -> None:
    steps = [call("ask_human", question="Which city?"), call("finish", summary="Done.")]
    with FakeModelServer(Script({"coordinator": steps})) as server:
        commands = Commands(tmp_path / "home", server.env("openai"))
        assert commands.run("up").returncode == 0
        try:
            words = ("Find a city", "--name", "finder", "--model", "openai/fake", "--detach")
            assert commands.here("run", *words).returncode == 0
            [question] = until(lambda: commands.json("questions"), "the question")
            found = commands.json("status")
            assert [agent["name"] for agent in found["agents"]] == ["finder"]
            assert (found["agents_total"], found["open_questions"]) == (1, 1)

            ended = commands.here("down")
            assert ended.returncode == 0
            assert "open questions: 1" in ended.stderr
            assert "they continue where they were at the next `agiraph up`" in ended.stderr
            assert "finder" in ended.stdout

            assert commands.run("up").returncode == 0
            assert commands.here("respond", question["id"], "Oslo").returncode == 0
            until(lambda: commands.json("show", "finder")["status"] == "completed", "the end")
            assert "no agent is unfinished" in commands.here("down").stderr
        finally:
            commands.here("down")
            await_nothing_left(commands.home)


def test_up_with_invalid_settings_is_wrong_usage(commands: Commands) -> None:
    commands.home.mkdir()
    (commands.home / "agiraph.yaml").write_text("run:\n  max_conc: 3\n")
    done = commands.run("up")
    assert (done.returncode, done.stdout) == (2, "")
    assert "agiraph.yaml:2: unknown key 'run.max_conc'" in done.stderr
    done = commands.here("up", "--http", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")


def test_up_and_down_do_not_affect_the_supervisor_of_a_command(commands: Commands) -> None:
    with commands.supervisor():
        for word in ("up", "down"):
            done = commands.here(word)
            assert (done.returncode, done.stdout) == (1, "")
            assert "was started by a command" in done.stderr
        assert commands.json("status")["ends_with_command"] is True


def test_up_and_down_do_not_affect_the_supervisor_of_a_run(
    commands: Commands, tmp_path: Path
) -> None:
    words = ("Watch", "--model", "script/survey", "--input", str(tmp_path), "--mode", "infinite")
    with commands.running("run", *words):
        until((commands.home / "human" / "address.json").exists, "its gateway")
        assert commands.json("status")["ends_with_command"] is True
        assert commands.here("down").returncode == 1
    begun = commands.run("up")  # it waited for the end of that one
    assert begun.returncode == 0, begun.stderr


def test_killed_supervisor_leaves_no_obstacle_to_the_next(commands: Commands) -> None:
    port = keep_port(commands.home)
    assert commands.run("up").returncode == 0
    found = commands.json("status")
    os.kill(found["pid"], signal.SIGKILL)
    until(lambda: not is_held(commands.home), "its end")
    assert commands.here("status").returncode == 4
    again = json.loads(commands.run("up", "--json").stdout)
    assert again["started"] is True
    assert again["api"] == found["api"] == f"http://127.0.0.1:{port}"


def test_home_with_an_occupied_port_takes_the_next_and_reports_it(
    commands: Commands,
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", keep_port(commands.home)))
        other.listen()
        port = other.getsockname()[1]
        checks = commands.json("doctor")["checks"]
        check = next(one for one in checks if one["name"] == "loopback")
        assert (check["status"], str(port) in check["detail"]) == ("warn", True)
        begun = commands.run("up")
    now = int(commands.json("status")["api"].rpartition(":")[2])
    assert now != port
    assert (
        f"another program has port {port}; this home has port {now} from now on\n" in begun.stderr
    )
    assert (commands.home / "human" / "port").read_text() == f"{now}\n"


def test_supervisor_is_started_by_the_system_at_login(tmp_path: Path) -> None:
    programs, config = tmp_path / "programs", tmp_path / "config"
    programs.mkdir()
    units, log = config / "systemd" / "user", tmp_path / "calls"
    fake = programs / "systemctl"
    fake.write_text(SYSTEMCTL.format(python=sys.executable, log=str(log), units=str(units)))
    fake.chmod(0o700)
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(config)}
    commands = Commands(tmp_path / "home", path)
    system = commands.home / "system"
    system.mkdir(parents=True)
    (system / "secrets.env").write_text("MOONSHOT_API_KEY=of-the-file\n")
    (system / "secrets.env").chmod(0o600)

    begun = commands.here("up", "--at-login")
    try:
        assert begun.returncode == 0, begun.stderr
        [unit] = units.iterdir()
        assert f"at login     {unit}\n" in begun.stdout
        assert log.read_text().split("\n")[:3] == [
            "daemon-reload",
            f"enable {unit.name}",
            f"start {unit.name}",
        ]
        usable = {row["name"]: row["usable"] for row in commands.json("models")}
        assert (usable["moonshot"], usable["anthropic"]) == (True, False)
    finally:
        ended = commands.here("down", "--at-login")
        await_nothing_left(commands.home)
    assert ended.returncode == 0
    assert not unit.exists()
    assert f"disable {unit.name}\n" in log.read_text()


def test_at_login_is_refused_without_a_service_manager(commands: Commands, tmp_path: Path) -> None:
    commands.environ["PATH"] = str(tmp_path)
    done = commands.here("up", "--at-login")
    assert (done.returncode, done.stdout) == (1, "")
    assert "neither systemd (systemctl) nor launchd (launchctl)" in done.stderr
    assert f"`agiraph up --home '{commands.home}'`" in done.stderr
    assert not commands.home.exists()
