"""The front door: nobody else of this user reads the keys of what begins there."""

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
        ("ps",),
        ("mcp", "serve", "--no-such-option"),
        ("console", "nobody"),
        ("_supervisor", "--no-such-option"),
        ("_run_supervisor", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_what_begins_at_the_front_door_hides_its_environment(
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
