"""TerminalSession: a person at a terminal, who types command lines and reads their output there.

A small shell of our own runs at the terminal. It executes simple commands by itself; longer
commands are forked from it, so that they and the processes they start need no imports
(`tests.fakes.interpreters`); other programs are run by `sh`. It is for commands that print lines,
and at most rewrite the current line; a full screen needs a terminal that draws
(`tests.scenarios.terminal`).
"""

import fcntl
import gc
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Final

from rich.cells import cell_len

from cli.command_table import COMMANDS
from tests.fakes.forked_command import begun
from tests.integration.waiting import until

Size = tuple[int, int]
SMALL: Final[Size] = (80, 24)
WIDE: Final[Size] = (160, 50)
END_SECONDS: Final = 60.0
PRELOADED: Final = (
    "rich.table",
    "cli.options.home_reader",
    "cli.run.progress",
    "cli.run.watch",
    "mcp",
)
FORKED: Final = {"run", "up", "down", "console", "chaos", "mcp", "init", "host", "delete"}
PROGRAMS: Final = {"agiraph": "main", "agiraph-supervisor": "supervisor_main"}
COLOUR = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[lh]")
ERASED: Final = "\x1b[K"
ENDED = re.compile(r"\[exit (\d+)\]\r\n")


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command on its terminal, by lines, and its exit code."""

    code: int
    lines: tuple[str, ...]
    size: Size

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    def wrapped(self) -> list[str]:
        """Return the lines that are longer than the terminal is wide."""
        return [line for line in self.lines if cell_len(line) > self.size[0]]


class TerminalSession:
    """One person at one terminal of this size, at first in the folder `cwd`."""

    def __init__(self, cwd: Path, env: Mapping[str, str], size: Size = SMALL) -> None:
        self.size = size
        self._end, given = pty.openpty()
        fcntl.ioctl(given, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        variables = {**env, "TERM": "xterm-256color"}
        shell = "tests.fakes.terminal_session:shell"
        self._process = begun(shell, (), cwd, variables, [given] * 3, is_at_terminal=True)
        self._printed = bytearray()
        self._begins, self._line = 0, ""
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # the last process at the terminal has exited
            while piece := os.read(self._end, 65536):
                self._printed += piece

    def start(self, line: str) -> None:
        """Type a command line."""
        self._begins, self._line = len(self._printed), f"the end of {line}"
        self.type(f"{line}\n")
        until(lambda: b"\n" in self._said(), f"the echo of {line}")
        self._begins = self._printed.index(b"\n", self._begins) + 1

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._end, text.encode())

    def lines(self) -> list[str]:
        """Return the lines that the last command has printed so far."""
        return standing(self._said().decode(errors="replace"))

    def await_text(self, text: str) -> str:
        """Wait until a line contains `text`; return the line."""
        return until(
            lambda: next((line for line in self.lines() if text in line), None),
            f"'{text}' on the terminal",
        )

    def finished(self) -> CommandOutput:
        """Wait for the end of the last command and return its output."""
        try:
            match = until(self._end_of_command, self._line, within_seconds=END_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._said()[-2000:].decode()}") from None
        return CommandOutput(
            int(match[1]), tuple(standing(match.string[: match.start()])), self.size
        )

    def _end_of_command(self) -> re.Match[str] | None:
        return ENDED.search(self._said().decode(errors="replace"))

    def do(self, line: str, typing: str = "", asked: str = "") -> CommandOutput:
        """Type a command line, and `typing` once the command prints `asked`; return its output."""
        self.start(line)
        if typing:
            question = asked.encode()
            until(lambda: question in self._said() or self._end_of_command(), f"{line} asks")
            if not self._end_of_command():
                self.type(typing)
        return self.finished()

    def close(self) -> None:
        """Leave the terminal, which no process may hold open then."""
        self.type("\x04")
        self._process.join(END_SECONDS)
        self._reader.join(END_SECONDS)
        is_held = self._reader.is_alive()
        os.close(self._end)
        assert not is_held, "something is left at the terminal"

    def _said(self) -> bytes:
        return bytes(self._printed[self._begins :])


def standing(printed: str) -> list[str]:
    """Return the lines that a terminal shows after printing a text, without colours."""
    lines = []
    for line in COLOUR.sub("", printed).replace("\r\n", "\n").split("\n"):
        shown = ""
        for piece in line.split("\r"):
            if piece.startswith(ERASED):
                shown = ""
            piece = piece.removeprefix(ERASED)
            shown = piece + shown[len(piece) :]
        lines.append(shown.rstrip())
    return lines if lines[-1] else lines[:-1]


# --- at the other end of the terminal ------------------------------------------------------------


def shell() -> None:
    """Run the typed lines until the end of the input, and print each line's exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in {entry.module for entry in COMMANDS.values()}.union(PRELOADED):
        import_module(name)
    gc.freeze()
    for line in iter(sys.stdin.readline, ""):
        words = shlex.split(line)
        if words[0] == "export":
            os.environ |= {name: value for name, _, value in (w.partition("=") for w in words[1:])}
            code = 0
        elif words[0] == "agiraph" and not FORKED & {*words[1:2]}:
            code = _here(words)
        elif words[0] in PROGRAMS:
            code = _forked(words)
        else:
            code = subprocess.run(["sh", "-c", line], check=False).returncode
        termios.tcflush(0, termios.TCIFLUSH)  # input for the command must not reach this shell
        print(f"[exit {code}]", flush=True)


def _forked(words: list[str]) -> int:
    """Run one of our programs in a child; return its exit code in the form of a shell."""
    child = os.fork()
    if child == 0:
        _become(words)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(words: list[str]) -> None:
    """Run the program in this process and exit with its exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import_module("tests.fakes.interpreters").fork_instead()
    os._exit(_run(f"agiraph.__main__:{PROGRAMS[words[0]]}", words))


def _here(words: list[str]) -> int:
    """Run one of our commands in this process; return its exit code."""
    variables = dict(os.environ)
    try:
        return _run("cli.main:main", words)
    finally:
        os.environ.clear()
        os.environ.update(variables)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(program: str, words: list[str]) -> int:
    """Call a program with these words; return its exit code."""
    sys.argv = words
    module, _, function = program.partition(":")
    code: object = 0
    try:
        getattr(import_module(module), function)()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    return code if isinstance(code, int) else 0
