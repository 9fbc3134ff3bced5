"""Folders and files of a run, as the browser of the workspace shows them."""

from typing import Literal

from agiraph.http.api.base import ApiView


class FileEntryView(ApiView):
    """One row of a folder; `path` is under the run's folder. Links are shown, never followed."""

    path: str
    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0
    modified_at: float = 0.0


class FolderView(ApiView):
    """GET workspace on a folder: its entries, folders first, by name."""

    path: str
    entries: tuple[FileEntryView, ...]
    is_truncated: bool = False


class FileContentView(ApiView):
    """GET workspace on a file: the bytes from `offset`, as text, or base64 if they are no UTF-8.

    `is_truncated` says that the file goes on; read on at `offset + returned`.
    """

    path: str
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    size: int
    offset: int = 0
    returned: int
    is_truncated: bool = False


class RawFileView(ApiView):
    """Bytes of a file or a stretch of it; `size` is the whole file's, `etag` names its state."""

    content: bytes
    media_type: str
    etag: str
    size: int
