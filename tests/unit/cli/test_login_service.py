"""The files that start a supervisor at login."""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.login_service import launchd_agent, service_name, systemd_unit

ODD = "we ird \"$HOME\" 100%h \\n 'é' = ;#"


def test_systemd_unit_starts_the_command_and_restarts_it_after_a_failure() -> None:
    unit = systemd_unit(["/opt/py", "-m", "x"], Path("/srv/team"), "/usr/bin:/bin")
    assert unit.startswith("[Unit]\nDescription=Agiraph supervisor of /srv/team\n")
    assert '\nExecStart=":/opt/py" "-m" "x"\nEnvironment="PATH=/usr/bin:/bin"\n' in unit
    assert "\nRestart=on-failure\n" in unit
    assert "\nRestartPreventExitStatus=1 2\n" in unit
    assert unit.endswith("\n[Install]\nWantedBy=default.target\n")


def test_words_of_a_systemd_unit_are_quoted() -> None:
    unit = systemd_unit(
        ["/opt/py", 'a "b"', "50%", "back\\slash", "two\nlines"], Path("/h\n%"), "$X"
    )
    words = r'":/opt/py" "a \x22b\x22" "50%%" "back\x5cslash" "two\x0alines"'
    assert f"\nExecStart={words}\n" in unit
    assert "\nDescription=Agiraph supervisor of /h?%%\n" in unit
    assert '\nEnvironment="PATH=$X"\n' in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_a_unit_with_special_characters_in_its_paths(tmp_path: Path) -> None:
    program = tmp_path / "we ird $HOME 100%h = ;#"  # it takes no quotes in a program's name
    program.symlink_to(sys.executable)
    unit = tmp_path / "agiraph.service"
    unit.write_text(systemd_unit([str(program), ODD], tmp_path / ODD, f"{tmp_path / ODD}:/bin"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(unit)],
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_launchd_agent_has_the_same_command() -> None:
    agent = plistlib.loads(launchd_agent(["/opt/py", ODD], "local.agiraph", "/bin").encode())
    assert agent["ProgramArguments"] == ["/opt/py", ODD]
    assert agent["EnvironmentVariables"] == {"PATH": "/bin"}
    assert (agent["Label"], agent["RunAtLoad"]) == ("local.agiraph", True)
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


def test_each_home_has_a_service_of_its_own() -> None:
    assert service_name(Path.home() / ".agiraph") == "agiraph"
    names = {service_name(Path(home)) for home in ("/a/My Team", "/b/My Team", "/ü")}
    assert len(names) == 3
    assert all(name.startswith("agiraph-") and name.isascii() for name in names)
