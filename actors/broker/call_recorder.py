"""Call recorder: writes down the model calls of the runs that are recorded, a file each."""

import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agiraph.core.clock import Clock
from agiraph.core.turns import ModelRequest, ModelResponse
from agiraph.llm.base import RETRYABLE, ProviderError
from agiraph.llm.recording.recording import RecordingWriter
from agiraph.storage.disk_space import patiently
from agiraph.storage.files import append_all, make_folder, open_file
from agiraph.storage.home import SystemHome

OPEN_FILES = 32
NOT_PLAYED = RETRYABLE | {"out_of_budget", "diverged"}
"""Failures that are no part of the conversation: what was tried again, or may go on."""


@dataclass(slots=True)
class RunRecordingFile:
    """One run's file, and who makes its lines."""

    file: BinaryIO
    scribe: RecordingWriter


class CallRecorder:
    """Records what `is_on` for all, or for a run that asked for it."""

    def __init__(
        self, system: SystemHome, secrets: tuple[str, ...], clock: Clock, *, is_on: bool
    ) -> None:
        """Write below `system`; `secrets` never stand in a file."""
        self._system = system
        self._secrets = secrets
        self._clock = clock
        self._is_on = is_on
        self._tapes: OrderedDict[str, RunRecordingFile] = OrderedDict()

    def answered(self, request: ModelRequest, response: ModelResponse) -> None:
        """Record an answer, if calls like this one are recorded."""
        if self._is_recorded(request):
            tape = self._tape(request.run_id)
            self._write(tape, tape.scribe.line(request, self._clock.now(), response))

    def failed(self, request: ModelRequest, error: ProviderError) -> None:
        """Record a failure that would come again."""
        if self._is_recorded(request) and error.kind not in NOT_PLAYED:
            tape = self._tape(request.run_id)
            failed = error.kind, str(error)
            self._write(tape, tape.scribe.line(request, self._clock.now(), failed=failed))

    def close(self) -> None:
        """Close all files."""
        for tape in self._tapes.values():
            tape.file.close()
        self._tapes.clear()

    def _is_recorded(self, request: ModelRequest) -> bool:
        return (request.record or self._is_on) and bool(request.run_id)

    def _tape(self, run: str) -> RunRecordingFile:
        tape = self._tapes.pop(run, None) or self._opened(self._system.recording(run))
        self._tapes[run] = tape
        if len(self._tapes) > OPEN_FILES:
            self._tapes.popitem(last=False)[1].file.close()
        return tape

    def _opened(self, path: Path) -> RunRecordingFile:
        """Open a run's file to add to it; a line that a death has torn is ended."""
        make_folder(path.parent, 0o700)
        file = os.fdopen(open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", buffering=0)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return RunRecordingFile(file, RecordingWriter(self._secrets))

    def _write(self, tape: RunRecordingFile, line: str) -> None:
        data = line.encode("utf-8", "replace")
        patiently(lambda: append_all(tape.file.fileno(), data))
