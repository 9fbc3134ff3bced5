"""A folder over HTTP as a zip file, created while it is sent.

Links and everything called `.git` are left out: in an unpacked `.git`, git would run programs.
"""

import io
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from agiraph.http.api import ApiError
from agiraph.readmodel.files import opened, path_below
from agiraph.storage.file_names import portable
from agiraph.storage.files import entries_below, is_part, open_file
from agiraph.storage.walk import closing, kind_of
from agiraph.tools.sandbox.autorun import is_git_name

CHUNK = 256 * 1024
MOST_FILES = 20_000
EARLIEST, LATEST = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)


def zipped_folder(root: Path, path: str, most_bytes: int, *, is_head: bool = False) -> Response:
    """Return the folder at `path` under `root` as a zip file.

    Raises ApiError: 403, 404 as `agiraph.readmodel.files.browse`, 409 for a file, 413 for a
    folder with more than `most_bytes` bytes or MOST_FILES names.
    """
    with opened(root, path) as (fd, shown):
        if kind_of(os.fstat(fd)) != "folder":
            raise ApiError(409, f"'{shown}' is a file (possible: as=raw, as=json)")
        found = entries_below(fd, MOST_FILES + 1)
    files = [(p, e.size) for p, e in found if e.kind == "file" and is_sent(p)]
    size = sum(size for _, size in files)
    if len(found) > MOST_FILES or size > most_bytes:
        raise ApiError(
            413,
            f"'{shown or '/'}' has {len(files)} files of {size} bytes, more than a zip file may"
            f" hold ({MOST_FILES} names, {most_bytes} bytes): download a folder of it",
        )
    _, below = path_below(root, path)
    names = {path: path for path in sorted(path for path, _ in files)}
    return zip_response(below, names, PurePosixPath(shown or root.name).name, is_head=is_head)


def zip_response(
    folder: Path, files: Mapping[Path, Path], name: str, *, is_head: bool = False
) -> Response:
    """Return files below a folder as `NAME.zip`; `files` maps names in the zip to their paths."""
    quoted = quote(f"{name}.zip", safe="")
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quoted}",
        "cache-control": "private, no-cache",
    }
    chunks = iter(()) if is_head else _zip(folder, files)
    return StreamingResponse(chunks, media_type="application/zip", headers=headers)


def is_sent(path: Path) -> bool:
    """Whether a file may be in a zip file; files of git are left out, as git could run programs."""
    return not is_part(path.name) and not any(map(is_git_name, path.parts))


class _Outlet(io.RawIOBase):
    """A writable buffer for a zip file in progress.

    `take` returns and removes the written bytes.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


def _zip(folder: Path, files: Mapping[Path, Path]) -> Iterator[bytes]:
    """Yield a zip file of the files below a folder; a missing file is left out."""
    outlet = _Outlet()
    with zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            try:
                fd = open_file(folder / path, anyones=True)
            except OSError:
                continue
            facts, offset = os.fstat(fd), 0
            with closing(fd), archive.open(_entry(name, facts), "w") as entry:
                while data := os.pread(fd, min(CHUNK, facts.st_size - offset), offset):
                    offset += len(data)
                    entry.write(data)
                    yield outlet.take()
    yield outlet.take()


def _entry(name: Path, facts: os.stat_result) -> zipfile.ZipInfo:
    changed_at = time.localtime(facts.st_mtime)[:6]
    entry = zipfile.ZipInfo(portable(name), min(LATEST, max(EARLIEST, changed_at)))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.file_size = facts.st_size  # more than 2 GiB need another header
    return entry
