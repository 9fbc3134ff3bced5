"""Input folders that are sent from another machine."""

from typing import Annotated, Final

from pydantic import Field

from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.storage.file_records import FileEntry

INPUT_PART_BYTES: Final = 16 * 1024 * 1024
"""The largest part of an input folder that one call brings."""


class DeclareInputRequest(ApiRequest):
    """A folder called `name` with everything in it; paths are relative to it, folders included.

    Of a file: its size, its SHA-256 (`digest`, of an empty one none) and its mode, of which only
    whether it is a program counts. A link's `target` is relative and stays inside the folder.
    """

    name: Annotated[str, Field(min_length=1, max_length=255)]
    files: tuple[FileEntry, ...]


class WantedFileView(ApiView):
    """A file of which the bytes from `offset` on are missing."""

    path: str
    offset: int


class InputView(ApiView):
    """PUT /inputs, PUT /inputs/{input}: a folder on the home's machine, and what it lacks.

    `path` is the `input` of a run, null until `missing`, a number of bytes, is 0. What is missing
    is sent as one stream: of the files in `wanted`, one after the other, what is not there yet.
    `received` is how many bytes of it have come since the folder was declared; only the first tells
    `wanted`.
    """

    id: str
    path: str | None
    missing: int
    received: int = 0
    wanted: tuple[WantedFileView, ...] = ()
