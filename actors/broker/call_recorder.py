"""CallRecorder: writes the model calls of recorded runs, one file for each run."""

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
"""Failures that a recording leaves out: they are retried, or the run may continue after them."""


@dataclass(slots=True)
class RunRecordingFile:
    """The recording file of one run, and the writer of its lines."""

    file: BinaryIO
    writer: RecordingWriter


class CallRecorder:
    """Records the calls of all runs if `is_on`, otherwise of the runs that requested a recording.

    `secrets` are never written.
    """

    def __init__(
        self, system: SystemHome, secrets: tuple[str, ...], clock: Clock, *, is_on: bool
    ) -> None:
        self._system = system
        self._secrets = secrets
        self._clock = clock
        self._is_on = is_on
        self._files: OrderedDict[str, RunRecordingFile] = OrderedDict()

    def answered(self, request: ModelRequest, asked: float, response: ModelResponse) -> None:
        """Record the answer to a request that was sent at time `asked`, if its run is recorded."""
        if self._is_recorded(request):
            recording, now = self._recording_of(request.run_id), self._clock.now()
            self._write(recording, recording.writer.line(request, now, response, asked=asked))

    def failed(self, request: ModelRequest, asked: float, error: ProviderError) -> None:
        """Record a permanent failure of a request sent at `asked`, if its run is recorded."""
        if self._is_recorded(request) and error.kind not in NOT_PLAYED:
            recording, now = self._recording_of(request.run_id), self._clock.now()
            failed = error.kind, str(error)
            line = recording.writer.line(request, now, failed=failed, asked=asked)
            self._write(recording, line)

    def close(self) -> None:
        """Close all files."""
        for recording in self._files.values():
            recording.file.close()
        self._files.clear()

    def _is_recorded(self, request: ModelRequest) -> bool:
        return (request.record or self._is_on) and bool(request.run_id)

    def _recording_of(self, run: str) -> RunRecordingFile:
        recording = self._files.pop(run, None) or self._opened(self._system.recording(run))
        self._files[run] = recording
        if len(self._files) > OPEN_FILES:
            self._files.popitem(last=False)[1].file.close()
        return recording

    def _opened(self, path: Path) -> RunRecordingFile:
        """Return a run's file, opened for appending; end a line that a crash has cut off."""
        make_folder(path.parent, 0o700)
        file = os.fdopen(open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", buffering=0)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return RunRecordingFile(file, RecordingWriter(self._secrets))

    def _write(self, recording: RunRecordingFile, line: str) -> None:
        data = line.encode("utf-8", "replace")
        patiently(lambda: append_all(recording.file.fileno(), data))
