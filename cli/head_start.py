"""The head start of `agiraph run`: its supervisor imports while the command line does.

A run on a home without a supervisor brings its own. Whether it will is nearly sure from the bare
words of the command, so one is started before anything is imported here. It waits for a word before
it touches anything; if there was something wrong with the command after all, it goes as it came.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

QUIET = frozenset({"-h", "--help", "--detach"})


@dataclass(slots=True)
class HeadStart:
    """A supervisor that was started and waits for a word."""

    home: str
    process: "subprocess.Popen[bytes]"
    stderr: IO[bytes]
    is_told: bool = False

    def go(self) -> None:
        """Let it begin."""
        assert self.process.stdin is not None
        self.is_told = True
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended already; whoever waits for it will see that

    def drop(self) -> None:
        """End it, if it was not told to begin: it has touched nothing."""
        if not self.is_told:
            self.process.kill()
            self.process.wait()


def foresee(words: Sequence[str], environ: Mapping[str, str]) -> HeadStart | None:
    """Start the supervisor that these words of a command line will need; None if they need none."""
    if words[:1] != ["run"] or QUIET.intersection(words):
        return None
    named = _option(words, "--home") or environ.get("AGIRAPH_HOME") or "~/.agiraph"
    home = os.path.abspath(os.path.expanduser(named))
    return None if _is_served(home) else begin(home, command(home, _option(words, "--model")))


def command(home: str, model: str = "") -> list[str]:
    """Return the command line of a supervisor that waits for a word, and ends with us."""
    module = [sys.executable, "-P", "-m", "agiraph"]
    return [*module, "_ahead", model, "--home", home, "--until-eof"]


def begin(home: str, argv: Sequence[str]) -> HeadStart:
    """Start a supervisor, in a session of its own, so that Ctrl-C reaches only us."""
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - its owner closes it
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )
    return HeadStart(home, process, stderr)


def _option(words: Sequence[str], name: str) -> str:
    """Return the last value of an option, empty if it is not there."""
    value = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            value = following
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
    return value


def _is_served(home: str) -> bool:
    """Whether a gateway seems to live on this home: then there will be no supervisor to start."""
    try:
        with open(os.path.join(home, "human", "address.json"), "rb") as file:
            os.kill(int(json.load(file)["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True
