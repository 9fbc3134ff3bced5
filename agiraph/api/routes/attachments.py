"""Endpoint for files that a person attaches to messages; every entity of the run reads them."""

import re
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePath
from secrets import token_hex
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request

from agiraph.api.auth.scopes import TALK
from agiraph.api.routes.dependencies import AgentDep, GatewayDep
from agiraph.api.routes.work import BegunDep
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import unknown
from agiraph.http.api import AttachmentView
from agiraph.http.errors import ApiError
from agiraph.readmodel.media_types import kind_of
from agiraph.storage.disk_space import patiently
from agiraph.storage.files import (
    PART_SUFFIX,
    entries,
    is_file,
    move,
    new_file,
    open_file,
    read_descriptor,
    remove_file,
    status_of,
    write_all,
)
from agiraph.storage.home import RunHome
from agiraph.storage.walk import closing

LONGEST_NAME: Final = 120
UNWANTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f/\\\u2028-\u202e\u2066-\u2069]")
"""Control characters, line ends, direction marks, and separators of folders."""

BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the file, at most `http.attachment_bytes`.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter(route_class=StrictRoute, tags=["files"])


@router.put("/agents/{agent}/attachments/{name}", dependencies=[TALK], openapi_extra=BODY)
async def attach(
    agent: AgentDep, run: BegunDep, name: str, request: Request, gateway: GatewayDep
) -> AttachmentView:
    """Store a file that the entities of the current run can read.

    Nothing is overwritten: a second `x.csv` becomes `x-2.csv`. The same bytes under the same name
    are stored once. Name the file in a message (`attachments` of `send`) to announce it.
    """
    part = run.attachments / f".{token_hex(8)}{PART_SUFFIX}"
    digest = sha256()
    try:
        async with _being_written(part) as fd:
            async for chunk in request.stream():
                digest.update(chunk)
                await to_thread(patiently, partial(write_all, fd, chunk))
    except ClientDisconnect:
        raise ApiError(400, "the file did not come whole: nothing was kept") from None
    found = _view(await _placed(part, run.attachments, plain_name(name), digest.digest()))
    cause = f"{run.path.name}/{found.path}".encode() + digest.digest()
    data = {"path": found.path, "size": found.size}
    await gateway.reporter.report("human.attached", agent.id, cause, data)
    return found


def attachment_of(run: RunHome | None, path: str) -> AttachmentView:
    """Return the attachment at `path`, as entities spell it.

    Raises ApiError 404, which lists the known ones.
    """
    if run is None:
        raise ApiError(404, f"there is no '{path}': the agent has no run yet")
    folder = run.attachments
    name = path.removeprefix(f"{folder.name}/")
    if name != PurePath(name).name or not is_file(folder / name):
        known = [one.name for one in entries(folder)] if status_of(folder) else []
        raise ApiError(404, str(unknown("attachment", path, known)))
    return _view(folder / name)


def plain_name(name: str) -> str:
    """Return a safe file name: no folder, not hidden, at most LONGEST_NAME bytes."""
    plain = UNWANTED.sub("_", name).strip().lstrip(".") or "file"
    stem, suffix = PurePath(plain).stem, PurePath(plain).suffix[:20]
    room = LONGEST_NAME - len(suffix.encode())
    return stem.encode()[:room].decode("utf-8", "ignore") + suffix


@asynccontextmanager
async def _being_written(path: Path) -> AsyncIterator[int]:
    """Yield a descriptor for the future content of `path`; opened and synced in a thread."""
    writing = new_file(path)
    fd = await to_thread(writing.__enter__)
    try:
        yield fd
    except BaseException as error:
        writing.__exit__(type(error), error, error.__traceback__)
        raise
    await to_thread(writing.__exit__, None, None, None)


async def _placed(part: Path, folder: Path, name: str, digest: bytes) -> Path:
    """Move the complete file `part` into `folder` under a free name and return its path.

    Only this process writes into the folder.
    """
    number, stem, suffix = 1, PurePath(name).stem, PurePath(name).suffix
    while True:
        path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
        if status_of(path) is None:
            move(part, path)
            return path
        if await to_thread(_has, path, part, digest):
            remove_file(part)
            return path
        number += 1


def _has(path: Path, part: Path, digest: bytes) -> bool:
    """Whether the file `path` has the same content as `part`, whose SHA-256 is `digest`."""
    old, new = status_of(path), status_of(part)
    if old is None or new is None or old.st_size != new.st_size or not is_file(path):
        return False
    found, offset = sha256(), 0
    with closing(open_file(path)) as fd:
        while data := read_descriptor(fd, offset, 1 << 20):
            found.update(data)
            offset += len(data)
    return found.digest() == digest


def _view(path: Path) -> AttachmentView:
    status = status_of(path)
    return AttachmentView(
        path=f"{path.parent.name}/{path.name}",
        name=path.name,
        size=status.st_size if status else 0,
        media_type=kind_of(path.name).media_type,
    )
