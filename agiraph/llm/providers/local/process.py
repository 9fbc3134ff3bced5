"""LocalProcess: the process of one local model: started by the first call, stopped when idle.

It ends with the process that started it, in any case. It gets only the environment variables that
it needs, and so no key.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import agiraph
from agiraph.core.json_text import parse_json
from agiraph.llm.base import ProviderError

SEEN = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
START_SECONDS = 120.0
MODULE = "agiraph.llm.providers.local.serving"


@dataclass(frozen=True, slots=True)
class LocalModelAddress:
    """The URL of a running local model's server, and the key of its requests."""

    url: str
    key: str


class LocalProcess:
    """The process of one model, started by `used` and stopped after some idle time."""

    def __init__(
        self,
        file: Path,
        *,
        context: int,
        threads: int,
        idle_seconds: float,
        environ: Mapping[str, str],
    ) -> None:
        self._arguments = (str(file), str(context), str(threads))
        self._file = file
        self._idle_seconds = idle_seconds
        self._environ = {
            name: value
            for name, value in environ.items()
            if name in SEEN or name.startswith("PYTHONDONT")
        } | {"PYTHONPATH": str(Path(agiraph.__file__).parent.parent)}
        self._process: asyncio.subprocess.Process | None = None
        self._place: LocalModelAddress | None = None
        self._users = 0
        self._idle: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process's id, None while there is none."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[LocalModelAddress]:
        """Keep the process running in the block and yield its address; start it if necessary.

        Raises ProviderError.
        """
        self._users += 1
        self._cancel_idle()
        try:
            async with self._turn:
                if self.pid is None or self._place is None:
                    self._place = await self._started()
                place = self._place
            yield place
        finally:
            self._users -= 1
            if not self._users:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self._idle_seconds, self._kill)

    async def close(self) -> None:
        """End the process."""
        self._cancel_idle()
        self._kill()
        if self._process is not None:
            await self._process.wait()

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._place = None

    async def _started(self) -> LocalModelAddress:
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", MODULE, *self._arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environ,
            cwd=os.path.sep,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await process.stdout.readline()
            started = parse_json(line) if line else {"error": "its process ended at once"}
        except (TimeoutError, ValueError):
            started = {"error": f"it did not start within {START_SECONDS:g} s"}
        except BaseException:
            self._kill()
            raise
        if "error" in started:
            self._kill()
            raise ProviderError("bad_request", f"{self._file} cannot be run: {started['error']}")
        return LocalModelAddress(started["url"], started["key"])
