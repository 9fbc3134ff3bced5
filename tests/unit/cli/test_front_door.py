"""The front door: no other process of this user reads the keys of the processes that it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PR_GET_DUMPABLE = 3
PROGRAM = f"""
import atexit, ctypes, sys
libc = ctypes.CDLL(None)
atexit.register(lambda: print("dumpable:", libc.prctl({PR_GET_DUMPABLE}, 0, 0, 0, 0), flush=True))
from agiraph.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can hide it")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--no-such-option"),
        ("ps", "--no-such-option"),
        ("mcp", "serve", "--no-such-option"),
        ("console", "--no-such-option"),
        ("_supervisor", "--no-such-option"),
        ("_run_supervisor", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_process_started_by_the_front_door_hides_its_environment(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=os.environ | {"AGIRAPH_HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "sk-x"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "dumpable: 0" in done.stdout, done.stderr


INTERRUPTED_AT = """
import os, signal, sys
at = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, *_):
        if name == at:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from agiraph.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("cli.main", ("ps",)),
        ("click.core", ("ps",)),
        ("cli.commands.processes", ("ps",)),
        ("agiraph.http.discovery", ("ps",)),
        ("cli.run.command", ("run", "x")),
        ("cli.exits", ("nonsense",)),
        ("actors.supervisor.main", ("_supervisor",)),
        ("psutil", ("_supervisor",)),
    ],
)
def test_ctrl_c_before_a_command_runs_is_one_line(
    at: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, at, *words],
        env=os.environ | {"AGIRAPH_HOME": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.strip() == "agiraph: interrupted"
