"""A terminal for tests: `agiraph ARGS` in tmux, keys sent to it, and what is on the screen."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.house import until
from tests.scenarios.house import ROOT

OF_ANOTHER_TERMINAL = {"TMUX", "COLUMNS", "LINES"}
NO_TMUX = shutil.which("tmux") is None
needs_tmux = pytest.mark.skipif(NO_TMUX, reason="tmux is not installed: no terminal to test on")


class Terminal:
    """One tmux server of its own with one window, in which `agiraph ARGS` runs."""

    def __init__(
        self, socket: Path, environ: dict[str, str], *args: str, size: tuple[int, int] = (80, 24)
    ) -> None:
        self._socket = socket
        program = shlex.join([sys.executable, "-P", "-m", "agiraph", *args])
        command = f'trap : INT; {program}; echo "[left with $?]"; read _'
        around = {**os.environ, **environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        self._environ = {name: around[name] for name in around.keys() - OF_ANOTHER_TERMINAL}
        x, y = map(str, size)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", x, "-y", y, "sh", "-c", command)

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names for them (`Enter`, `C-q`, `1`)."""
        self._tmux("send-keys", *keys)

    def type(self, line: str) -> None:
        """Type a line and press Enter."""
        self._tmux("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self) -> str:
        """Return what stands on the screen."""
        return self._tmux("capture-pane", "-p")

    def raw(self) -> str:
        """Return what stands on the screen with its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def await_screen(self, *texts: str, without: str = "") -> str:
        """Wait until all these stand on the screen (and `without` does not); return it."""
        last = ""

        def found() -> str | None:
            nonlocal last
            last = self.screen()
            is_there = all(text in last for text in texts)
            return last if is_there and not (without and without in last) else None

        try:
            return until(found, f"{texts} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """End the tmux server and what runs in it."""
        subprocess.run(
            ["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, check=False
        )
        self._socket.unlink(missing_ok=True)

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *args],
            env=self._environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


Terminals = Callable[..., Terminal]
