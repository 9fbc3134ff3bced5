"""File tools: read, write and list files within the entity's scope."""

import asyncio
import codecs
import errno
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.turns import JsonObject
from agiraph.storage.file_names import found_below, spelled, unspelled
from agiraph.storage.files import (
    FolderEntry,
    entries,
    files_below,
    is_folder,
    read_part,
    replace_file,
    status_of,
)
from agiraph.storage.walk import UnsafeFile
from agiraph.tools.base import ToolOutput, ToolParams, tool
from agiraph.tools.pictures.kinds import SUFFIXES, FileKind, kind_of_file
from agiraph.tools.pictures.rendering import show_file
from agiraph.tools.ports import ToolContext
from agiraph.tools.scopes.rules import WorkerScopeRules
from agiraph.tools.scopes.scope import Scope

LISTED_AT_ONCE = 500
LOOKED_AT = 20_000
BINARY_PROBE = 8192
WRITTEN_AT_ONCE = 64 * 1024
"""Texts up to this length are written without a thread, which would take longer."""


class ReadFileParams(ToolParams):
    path: str = Field(description="the file, for example notes.md or input/data.csv")
    offset: int = Field(default=0, ge=0, description="the first byte to show; 0 is the beginning")
    page: int = Field(default=1, ge=1, description="the page of a PDF file")


class WriteFileParams(ToolParams):
    path: str = Field(description="the file, relative to the folder in which your commands start")
    content: str = Field(description="the whole new content")


class ListFilesParams(ToolParams):
    path: str = Field(default=".", description="the folder")


class ReadRefParams(ToolParams):
    name: str = Field(description="a ref of your assignment")
    file: str = Field(default="", description="one of its files; default: the list and the first")
    offset: int = Field(default=0, ge=0, description="the first byte to show")
    page: int = Field(default=1, ge=1, description="the page of a PDF file")


class RefFile(NamedTuple):
    """One file of a ref; `further` are arguments that a call for its next part needs."""

    path: Path
    name: str
    further: str = ""


@tool("Read a text file that you may see, or look at an image or a PDF page.", idempotent=True)
async def read_file(context: ToolContext, params: ReadFileParams) -> ToolOutput:
    """Return a file's text from `offset` on, at most `files.read_limit` bytes, or its picture."""
    path = _named(context.scope, params.path)
    limit = context.config.files.read_limit
    if (kind := await asyncio.to_thread(_picture_kind, path, params.path)) is not None:
        return await show_file(context, path, params.path, kind, params.page)
    return await asyncio.to_thread(_read_text, path, params.path, params.offset, limit)


def _named(scope: Scope, text: str) -> Path:
    """Return the file for a path, which may be spelled with escapes as other tools show it."""
    path = scope.to_read(text)
    is_spelled = unspelled(text) != text and status_of(path) is None
    return scope.to_read(unspelled(text)) if is_spelled else path


def _picture_kind(path: Path, shown: str) -> FileKind | None:
    """Return the kind of an image or a PDF file, None for any other; refuse an empty image."""
    with suppress(UnsafeFile):  # reading it as text gives the reason
        if (kind := kind_of_file(path)) is not None:
            return kind
        status = status_of(path)
        if path.suffix.lower() in SUFFIXES and status is not None and not status.st_size:
            raise InvalidInput(f"'{shown}' cannot be shown: it is empty (0 bytes)")
    return None


def _read_text(path: Path, shown: str, offset: int, limit: int, further: str = "") -> str:
    """Return up to `limit` bytes as text; only of a regular file, so that this never blocks.

    `further` are arguments that a call for the next part needs besides `offset`. A character that
    the limit splits is left for the next read, which starts with it.
    """
    try:
        data, size = read_part(path, offset, limit, anyones=True)
    except UnsafeFile as error:
        if error.errno == errno.EISDIR:
            raise InvalidInput(f"'{shown}' is a folder: use list_files") from None
        raise InvalidInput(f"'{shown}' is not a regular file") from None
    if b"\0" in data[:BINARY_PROBE]:
        raise InvalidInput(
            f"'{shown}' is a binary file of {size} bytes: look at it with bash (od, strings)"
        )
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=offset + len(data) >= size)
    end = offset + len(data) - len(decoder.getstate()[0])
    if end == offset:  # the limit is shorter than a character
        text, end = data.decode("utf-8", "replace"), offset + len(data)
    if end < size:
        text += f"\n[bytes {offset} to {end} of {size}; continue with {further}offset={end}]"
    return text


@tool("Write a text file. It replaces the whole file.", idempotent=True)
async def write_file(context: ToolContext, params: WriteFileParams) -> str:
    """Replace the whole file atomically: readers see the old content or the new one."""
    path = context.scope.to_write(params.path)
    if is_folder(path):
        raise InvalidInput(f"'{params.path}' is a folder: name a file in it")
    if len(params.content) <= WRITTEN_AT_ONCE:
        replace_file(path, params.content)
    else:
        await asyncio.to_thread(replace_file, path, params.content)
    return f"Wrote {len(params.content.encode())} bytes to {context.scope.shown(path)}."


@tool("List the files in a folder, with sizes.", idempotent=True)
async def list_files(context: ToolContext, params: ListFilesParams) -> JsonObject:
    """Return the names in a folder that this entity may see, sorted, with kinds and sizes."""
    folder = context.scope.to_list(params.path)
    if status_of(folder) is None:
        raise InvalidInput(f"'{params.path}' does not exist")
    if not is_folder(folder):
        raise InvalidInput(f"'{params.path}' is a file: use read_file")
    return await asyncio.to_thread(_listing, context, folder)


def _listing(context: ToolContext, folder: Path) -> JsonObject:
    scope = context.scope
    allowed = [
        (entry, place)
        for entry in entries(folder, LOOKED_AT)
        if scope.may_read(place := (folder / entry.name).resolve()) or scope.may_list(place)
    ]
    rows = [_row(entry, place) for entry, place in allowed[:LISTED_AT_ONCE]]
    listing: JsonObject = {"path": scope.shown(folder) or ".", "entries": rows}
    if len(allowed) > len(rows):
        listing["left_out"] = len(allowed) - len(rows)
    return listing


def _row(entry: FolderEntry, place: Path) -> JsonObject:
    """Return the row of an entry; the row of a link describes the link's target (`place`)."""
    name = spelled(entry.name)
    if entry.kind == "link" and (status := status_of(place)) is not None:
        entry = FolderEntry.of(entry.name, status)
    if entry.kind == "folder":
        return {"name": f"{name}/", "kind": "folder"}
    if entry.kind != "file":
        return {"name": name, "kind": "other"}
    return {"name": name, "kind": "file", "bytes": entry.size}


@tool("Read the published files of another node by a ref name.", idempotent=True)
async def read_ref(context: ToolContext, params: ReadRefParams) -> ToolOutput:
    """Return a file of a ref; of a ref with several files, their list and the first of them."""
    refs = _refs(context)
    if params.name not in refs:
        raise unknown("ref", params.name, tuple(refs))
    place = context.scope.to_read(refs[params.name])
    limit = context.config.files.read_limit
    file = await asyncio.to_thread(_published, place, params, limit)
    if isinstance(file, str):
        return file
    if (kind := await asyncio.to_thread(_picture_kind, file.path, file.name)) is not None:
        return await show_file(context, file.path, file.name, kind, params.page)
    return await asyncio.to_thread(
        _read_text, file.path, file.name, params.offset, limit, file.further
    )


def _refs(context: ToolContext) -> dict[str, str]:
    if context.kind == "coordinator":
        raise InvalidInput(
            "a coordinator has no refs: read nodes/NODE/published/... with read_file"
        )
    return _refs_in(context.scope)


def _refs_in(scope: Scope) -> dict[str, str]:
    return dict(scope.rules.refs) if isinstance(scope.rules, WorkerScopeRules) else {}


def files_of_ref(scope: Scope, ref_name: str) -> list[str]:
    """Return the paths of the files that `read_ref` shows; [] if there is no such ref.

    Raises Refused, OSError.
    """
    named = _refs_in(scope).get(ref_name)
    if named is None:
        return []
    place = scope.to_read(named)
    if not is_folder(place):
        return [named]
    return [f"{named.rstrip('/')}/{path.as_posix()}" for path, _ in files_below(place)]


def _published(place: Path, params: ReadRefParams, limit: int) -> RefFile | str:
    """Return the file that is to be read.

    If a ref has several files and none is named, return their list and the first text among them.
    """
    if not is_folder(place):
        if params.file not in ("", place.name):
            raise unknown("file of this ref", params.file, (place.name,))
        return RefFile(place, place.name)
    sizes = _sizes(place)
    if not sizes:
        raise InvalidInput(f"the ref '{params.name}' has no files yet")
    if params.file and params.file not in sizes:
        raise unknown("file of this ref", params.file, tuple(sizes))
    if not params.file and len(sizes) > 1:
        return f"{_contents(sizes)}\n{_first_text(place, sizes, limit)}"
    file = params.file or next(iter(sizes))
    return RefFile(found_below(place, file), file, f"file={file!r}, " if len(sizes) > 1 else "")


def _sizes(place: Path) -> dict[str, int]:
    return {spelled(path): entry.size for path, entry in files_below(place)}


def _contents(sizes: dict[str, int]) -> str:
    """Return the list of a ref's files with their sizes."""
    lines = [f"{path} ({size} bytes)" for path, size in [*sizes.items()][:LISTED_AT_ONCE]]
    left = len(sizes) - len(lines)
    lines += [f"[{left} more files]"] if left else []
    return "\n".join((f"{len(sizes)} files; read one with `file`:", *lines))


def _first_text(place: Path, sizes: dict[str, int], limit: int) -> str:
    """Return the first text that fits in one result, else the beginning of the first text."""
    for file in sorted(sizes, key=lambda one: sizes[one] > limit):
        try:
            path = found_below(place, file)
            if _picture_kind(path, file) is not None:
                continue
            text = _read_text(path, file, 0, limit, f"file={file!r}, ")
        except InvalidInput:
            continue  # a binary file
        return f"\n=== {file}\n{text}"
    return "No file is text: name an image with `file`; read others with bash (od, strings)."
