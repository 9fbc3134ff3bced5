"""File tools: read, write and list files within the entity's scope."""

import asyncio
import json
import os
import stat
from itertools import islice
from pathlib import Path

from pydantic import Field

from agiraph.errors import InvalidInput, unknown
from agiraph.storage.files import replace_file
from agiraph.tools.base import Params, Tool, as_json
from agiraph.tools.ports import ToolContext
from agiraph.turns import JsonObject

LISTED_AT_ONCE = 500
LOOKED_AT = 20_000
BINARY_PROBE = 8192
WRITTEN_AT_ONCE = 64 * 1024
"""Characters that are written without a thread, which would take longer than the writing."""


class ReadFile(Params):
    """Parameters of `read_file`."""

    path: str = Field(description="the file, for example scratch/notes.md or input/data.csv")
    offset: int = Field(default=0, ge=0, description="the first byte to show; 0 is the beginning")


class WriteFile(Params):
    """Parameters of `write_file`."""

    path: str = Field(description="the file; a bare name lands in scratch/ (worker) or the run")
    content: str = Field(description="the whole new content")


class ListFiles(Params):
    """Parameters of `list_files`."""

    path: str = Field(default=".", description="the folder")


class ReadRef(Params):
    """Parameters of `read_ref`."""

    ref_name: str = Field(description="a ref name of your assignment")


async def read_file(context: ToolContext, params: ReadFile) -> str:
    """Return a file's text from `offset` on, at most `files.read_limit` bytes of it."""
    path = context.scope.to_read(params.path)
    limit = context.config.files.read_limit
    return await asyncio.to_thread(_read_text, path, params.path, params.offset, limit)


def _read_text(path: Path, shown: str, offset: int, limit: int) -> str:
    data, size = _read_bytes(path, shown, offset, limit)
    if b"\0" in data[:BINARY_PROBE]:
        raise InvalidInput(
            f"'{shown}' is a binary file of {size} bytes: look at it with bash (od, strings)"
        )
    text = data.decode("utf-8", errors="replace")
    end = offset + len(data)
    if end < size:
        text += f"\n[bytes {offset} to {end} of {size}; go on with offset={end}]"
    return text


def _read_bytes(path: Path, shown: str, offset: int, limit: int) -> tuple[bytes, int]:
    """Return up to `limit` bytes and the file's size; only of a regular file, so it never waits."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise InvalidInput(f"'{shown}' is a folder: use list_files")
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"'{shown}' is not a regular file")
        return _whole_characters(os.pread(descriptor, limit, offset)), status.st_size
    finally:
        os.close(descriptor)


def _whole_characters(data: bytes) -> bytes:
    """Cut off a UTF-8 character that the limit has split, so that the next read begins with it."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            wanted = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if wanted > back and len(data) > back else data
        if byte < 0x80:
            return data
    return data


async def write_file(context: ToolContext, params: WriteFile) -> str:
    """Replace a file whole: readers see the old content or the new one."""
    path = context.scope.to_write(params.path)
    if path.is_dir():
        raise InvalidInput(f"'{params.path}' is a folder: name a file in it")
    if len(params.content) <= WRITTEN_AT_ONCE:
        replace_file(path, params.content)
    else:
        await asyncio.to_thread(replace_file, path, params.content)
    return f"Wrote {len(params.content.encode())} bytes to {context.scope.shown(path)}."


async def list_files(context: ToolContext, params: ListFiles) -> str:
    """Return the names in a folder that this entity may see, sorted, with kinds and sizes."""
    folder = context.scope.to_list(params.path)
    if not folder.exists():
        raise InvalidInput(f"'{params.path}' does not exist")
    if not folder.is_dir():
        raise InvalidInput(f"'{params.path}' is a file: use read_file")
    return as_json(await asyncio.to_thread(_listing, context, folder))


def _listing(context: ToolContext, folder: Path) -> JsonObject:
    scope = context.scope
    with os.scandir(folder) as entries:
        seen = sorted(islice(entries, LOOKED_AT + 1), key=lambda entry: entry.name)
        allowed = [
            entry
            for entry in seen
            if scope.may_read(place := Path(entry.path).resolve()) or scope.may_list(place)
        ]
        rows = [_row(entry) for entry in allowed[:LISTED_AT_ONCE]]
    listing: JsonObject = {"path": scope.shown(folder) or ".", "entries": rows}
    if len(allowed) > len(rows):
        listing["left_out"] = len(allowed) - len(rows)
    return listing


def _row(entry: os.DirEntry[str]) -> JsonObject:
    name = entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if entry.is_dir():
        return {"name": f"{name}/", "kind": "folder"}
    if not entry.is_file():
        return {"name": name, "kind": "other"}
    return {"name": name, "kind": "file", "bytes": entry.stat().st_size}


async def read_ref(context: ToolContext, params: ReadRef) -> str:
    """Return what a ref of the assignment points to: a file, or every file of a folder."""
    refs = _refs(context)
    if params.ref_name not in refs:
        raise unknown("ref", params.ref_name, tuple(refs))
    named = refs[params.ref_name]
    place = context.scope.to_read(named)
    limit = context.config.files.read_limit
    return await asyncio.to_thread(_read_published, place, named, limit)


def _refs(context: ToolContext) -> dict[str, str]:
    if context.kind == "coordinator":
        raise InvalidInput(
            "a coordinator has no refs: read nodes/NODE/published/... with read_file"
        )
    path = context.scope.to_read("_refs.json")
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _read_published(place: Path, named: str, limit: int) -> str:
    if not place.is_dir():
        return _read_text(place, named, 0, limit)
    files = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        raise InvalidInput(f"'{named}' holds no files yet")
    parts: list[str] = []
    for path in files:
        shown = f"{named.rstrip('/')}/{path.relative_to(place).as_posix()}"
        try:
            parts.append(f"=== {shown}\n{_read_text(path, shown, 0, limit // len(files))}")
        except InvalidInput as error:
            parts.append(f"=== {shown}\n[{error}]")
    return "\n".join(parts)


READ_FILE = Tool(
    name="read_file",
    description="Read a text file that your scope allows.",
    params=ReadFile,
    run=read_file,
    idempotent=True,
)
WRITE_FILE = Tool(
    name="write_file",
    description="Write a text file, replacing it whole.",
    params=WriteFile,
    run=write_file,
    idempotent=True,
)
LIST_FILES = Tool(
    name="list_files",
    description="List the files in a folder, with sizes.",
    params=ListFiles,
    run=list_files,
    idempotent=True,
)
READ_REF = Tool(
    name="read_ref",
    description="Read what another node published, by the ref name in your assignment.",
    params=ReadRef,
    run=read_ref,
    idempotent=True,
)
