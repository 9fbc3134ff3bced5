"""A home of another format: no command and no supervisor reads or changes it."""

from pathlib import Path

import pytest

from agiraph.storage.home import Home
from agiraph.storage.home_format import FORMAT
from tests.fakes.forked_command import ForkedCommand
from tests.integration.commands import DEADLINE_SECONDS, SUPERVISOR, Commands


@pytest.mark.parametrize("command", ["agents", "supervisor", "run"])
def test_home_of_another_format_is_refused_and_left_unchanged(tmp_path: Path, command: str) -> None:
    home = Home(tmp_path / "home")
    home.system.path.mkdir(parents=True)
    home.system.format.write_text("99\n")
    home.system.children.write_text("in a form that this version does not know\n")
    commands = Commands(home.path)
    if command == "supervisor":
        function, *words = SUPERVISOR
        process = ForkedCommand(
            tuple(words), cwd=Path.cwd(), env=commands.environ, program=function
        )
        err, code = process.communicate(timeout=DEADLINE_SECONDS)[1], process.returncode
    else:
        words = ["run", "Survey it", "--model", "script/survey"] if command == "run" else [command]
        told = commands.here(*words)
        err, code = told.stderr, told.returncode
    assert code == 1
    assert f"{home.path} was written by a newer Agiraph: its format is 99" in err
    assert f"this one reads only {FORMAT}" in err
    assert "Traceback" not in err
    assert home.system.format.read_text() == "99\n"
    assert home.system.children.read_text() == "in a form that this version does not know\n"
