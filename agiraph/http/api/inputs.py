"""Input folders that are sent from another machine."""

from typing import Annotated, Final

from pydantic import Field

from agiraph.http.api.base import ApiRequest, ApiView
from agiraph.storage.file_records import FileEntry

INPUT_PART_BYTES: Final = 16 * 1024 * 1024
"""The largest part of an input folder in one call, in bytes."""


class DeclareInputRequest(ApiRequest):
    """A folder called `name` with all its entries; paths are relative to it, folders included.

    Of a file: its size, its SHA-256 (`digest`, empty for an empty file) and its mode, of which only
    the executable bit matters. A link's `target` is relative and stays inside the folder.
    """

    name: Annotated[str, Field(min_length=1, max_length=255)]
    files: tuple[FileEntry, ...]


class WantedFileView(ApiView):
    """A file whose bytes from `offset` on are missing."""

    path: str
    offset: int


class InputView(ApiView):
    """PUT /inputs, PUT /inputs/{input}: a folder on the home's machine and its missing parts.

    `path` is the `input` of a run, null until `missing`, a number of bytes, is 0. The missing bytes
    are sent as one stream: for each file in `wanted`, in order, the bytes from its offset on.
    `received` is the number of bytes received since the folder was declared; only the answer to PUT
    /inputs lists `wanted`.
    """

    id: str
    path: str | None
    missing: int
    received: int = 0
    wanted: tuple[WantedFileView, ...] = ()
