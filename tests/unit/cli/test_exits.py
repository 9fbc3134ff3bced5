"""The end of a command whose output has lost its readers."""

import subprocess
import sys

from cli.exits import CLOSED_PIPE

FOLLOWING = """
import os, sys
from cli.exits import STDERR, STDOUT, end_when_unread
end_when_unread(STDOUT, STDERR)
os.dup2(os.open(os.devnull, os.O_WRONLY), STDERR)  # as after a write without a reader
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_command_ends_without_readers_although_it_has_replaced_an_output() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FOLLOWING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdout.close()
        process.stderr.close()
        assert process.wait(30) == CLOSED_PIPE
