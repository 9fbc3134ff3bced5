"""ChaosSupervisor: the supervisor under test, started again when it is killed itself."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from agiraph.core.errors import Unavailable
from agiraph.storage.files import make_folder, replace_file
from agiraph.storage.home import Home

START_WITHIN_SECONDS = 60.0
STOP_WITHIN_SECONDS = 20.0
EXIT_WITHIN_SECONDS = 1.0
SETTINGS = """\
# Written by `agiraph chaos`; all else is as in any home.
bus:
  noise: {noise}
"""


class ChaosSupervisor:
    """One home with its supervisor, and when each address was ready, by the monotonic clock."""

    def __init__(self, home: Path, noise: float = 0.0) -> None:
        """Write the settings of a home whose bus has `noise`."""
        self.home = home
        self.ready_at: dict[str, list[float]] = {}
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None
        self._last = ""
        make_folder(Home(home).path)
        replace_file(Home(home).config, SETTINGS.format(noise=noise))

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the supervisor and wait until it is ready. Raises Unavailable."""
        before = len(self.ready_at.get("supervisor", ()))
        command = [sys.executable, "-P", "-m", "agiraph", "_supervisor", "--json-logs"]
        self._process = subprocess.Popen(
            [*command, "--home", str(self.home), "--until-eof"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if not _is_secret(name)},
        )
        self._has_exited = False
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()
        if not self.wait_ready("supervisor", before, START_WITHIN_SECONDS):
            code = self._process.poll()
            how = "is not ready in time" if code is None else f"exited with {code}: {self._last}"
            raise Unavailable(f"the supervisor on {self.home} {how}")

    def wait_ready(self, address: str, before: int, within_seconds: float) -> bool:
        """Wait until `address` was ready more than `before` times."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._was_ready(address, before) or self._has_exited,
                within_seconds,
            )
            return self._was_ready(address, before)

    def _was_ready(self, address: str, before: int) -> bool:
        return len(self.ready_at.get(address, ())) > before

    def revive(self) -> None:
        """Start the supervisor again if it was killed, as a person or the system would."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_WITHIN_SECONDS)
            self.close()
            self.start()

    def close(self) -> None:
        """Stop the supervisor in an orderly way; kill its session if it does not exit."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(STOP_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._process = None
        self._listener.join()

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        """Record each `ready` in the supervisor's log."""
        assert process.stderr is not None
        with process.stderr as log:
            for line in log:
                self._last = line.strip()
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if record.get("event") == "ready":
                    with self._changed:
                        who = str(record.get("child", "supervisor"))
                        self.ready_at.setdefault(who, []).append(time.monotonic())
                        self._changed.notify_all()
        with self._changed:
            self._has_exited = True
            self._changed.notify_all()


def _is_secret(name: str) -> bool:
    return name.endswith(("_API_KEY", "_TOKEN", "_SECRET"))
