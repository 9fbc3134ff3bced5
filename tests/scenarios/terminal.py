"""A terminal for tests: `agiraph ARGS` in tmux, keys sent to it, and the text of the screen.

tmux draws; the program runs at its own terminal, whose bytes are copied to tmux's terminal and
back, so that it can be a forked process that needs no imports.
"""

import contextlib
import fcntl
import os
import pty
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread

import pytest

from tests.fakes.forked_command import FRONT_DOOR, begun
from tests.integration.waiting import until
from tests.scenarios.scenario_home import ROOT

OF_ANOTHER_TERMINAL = {"TMUX", "COLUMNS", "LINES"}
NO_TMUX = shutil.which("tmux") is None
IDLE = "exec sleep 10000"
END_SECONDS = 30.0
LOOK_SECONDS = 0.1
needs_tmux = pytest.mark.skipif(NO_TMUX, reason="tmux is not installed: no terminal to test on")


class Terminal:
    """A separate tmux server with one window, in which `agiraph ARGS` runs.

    The program is forked, or started as a real program with `is_program`.
    """

    def __init__(
        self,
        socket: Path,
        environ: dict[str, str],
        *args: str,
        size: tuple[int, int] = (80, 24),
        is_program: bool = False,
    ) -> None:
        self._socket = socket
        around = {**os.environ, **environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        self._environ = {name: around[name] for name in around.keys() - OF_ANOTHER_TERMINAL}
        program = shlex.join([sys.executable, "-P", "-m", "agiraph", *args])
        left = f'trap : INT; {program}; echo "[left with $?]"; read _'
        command = left if is_program else IDLE
        x, y = map(str, size)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", x, "-y", y, "sh", "-c", command)
        self._seat: ForwardedTerminal | None = None
        if not is_program:
            pane = self._tmux("display-message", "-p", "#{pane_tty}").strip()
            kind = self._tmux("show-options", "-gv", "default-terminal").strip()
            self._seat = ForwardedTerminal(Path(pane), args, {**self._environ, "TERM": kind}, size)

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names for them (`Enter`, `C-q`, `1`)."""
        self._tmux("send-keys", *keys)

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        self._tmux("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self) -> str:
        """Return the text on the screen."""
        return self._tmux("capture-pane", "-p")

    def raw(self) -> str:
        """Return the text on the screen with its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def await_screen(self, *texts: str, without: str = "") -> str:
        """Wait until the screen shows all texts (and not `without`); return the screen."""
        last = ""

        def found() -> str | None:
            nonlocal last
            last = self.screen()
            is_there = all(text in last for text in texts)
            return last if is_there and not (without and without in last) else None

        try:
            return until(found, f"{texts} on the screen", look_seconds=LOOK_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))
        if self._seat is not None:
            self._seat.resize(columns, rows)

    def close(self) -> None:
        """End the tmux server and the program in it."""
        subprocess.run(
            ["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, check=False
        )
        self._socket.unlink(missing_ok=True)
        if self._seat is not None:
            self._seat.close()

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *args],
            env=self._environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


class ForwardedTerminal:
    """`agiraph ARGS` at its own terminal, whose bytes are copied to another terminal and back."""

    def __init__(
        self, shown: Path, args: Sequence[str], environ: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self._shown = os.open(shown, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._shown)
        self._end, given = pty.openpty()
        self.resize(*size)
        self._process = begun(
            FRONT_DOOR, args, Path.cwd(), environ, [given] * 3, is_at_terminal=True
        )
        self._carrier = Thread(target=self._carry, daemon=True)
        self._carrier.start()

    def resize(self, columns: int, rows: int) -> None:
        """Give the program's terminal another size, which the kernel reports to the program."""
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """End the program, if it still runs; the other terminal is gone."""
        if self._carrier.is_alive():
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        self._carrier.join(END_SECONDS)
        assert not self._carrier.is_alive(), "something is left at the terminal"
        os.close(self._shown)
        os.close(self._end)

    def _carry(self) -> None:
        """Copy input and output until the program has left its terminal."""
        to = {self._end: self._shown, self._shown: self._end}
        with contextlib.suppress(OSError):  # the program has left
            while True:
                for source in select.select([*to], [], [])[0]:
                    piece = os.read(source, 65536)
                    if not piece:
                        del to[source]  # the other terminal is gone
                        continue
                    os.write(to[source], piece)
        self._process.join(END_SECONDS)
        with contextlib.suppress(OSError):
            os.write(self._shown, f"[left with {self._process.exitcode}]\r\n".encode())


Terminals = Callable[..., Terminal]
