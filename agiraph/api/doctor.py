"""The report of `agiraph doctor`, made by a separate process with a deadline."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agiraph.core.clock import Clock
from agiraph.core.json_text import parse_json
from agiraph.http.api import ApiError, DoctorView
from agiraph.storage.supervisor_note import read_note

SECONDS: Final = 30.0
KEPT_SECONDS: Final = 15.0
LAST_WORDS: Final = 500
ELSEWHERE: Final = "(set for another process)"
"""Replaces the value of a variable that only the supervisor has."""
FAILED: Final = 500
TOO_LATE: Final = 504


class Doctor:
    """Runs `agiraph doctor`, one process at a time, and keeps its report for KEPT_SECONDS."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._home, self._clock = home, clock
        self._last: DoctorView | None = None
        self._turn = asyncio.Lock()

    async def report(self, *, afresh: bool = False) -> DoctorView:
        """Return the report, at most KEPT_SECONDS old unless `afresh`.

        Raises ApiError: 504 after SECONDS, 500 if the command failed.
        """
        asked_at = self._clock.now()
        async with self._turn:
            last = self._last
            oldest = asked_at if afresh else asked_at - KEPT_SECONDS
            if last is None or last.checked_at < oldest:
                last = self._last = await self._run()
            return last

    async def _run(self) -> DoctorView:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "agiraph", "doctor", "--json", "--home", self._home),
            env=_environment(self._home),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(SECONDS):
                said, errors = await process.communicate()
        except TimeoutError:
            raise ApiError(TOO_LATE, f"the checks were not done within {SECONDS:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            found = parse_json(said) | {"checked_at": self._clock.now()}
        except (ValueError, TypeError):
            reason = errors.decode("utf-8", "replace").strip()[-LAST_WORDS:]
            detail = f"agiraph doctor ended with {process.returncode}: {reason}"
            raise ApiError(FAILED, detail) from None
        return DoctorView.model_validate(found)


def _environment(home: Path) -> Mapping[str, str]:
    """Return our environment, completed with the addresses and secret names of other processes."""
    note = read_note(home)
    given = dict.fromkeys(note.variables, ELSEWHERE) | note.addresses if note else {}
    return given | dict(os.environ)
