"""How a file is asked for, in every family that has files: as JSON, as its bytes, as HTML."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from actors.human.files import browse
from actors.human.raw import raw_file
from actors.human.rendering import rendered_file
from actors.human.routes.asking import Offset
from agiraph.api import FileContent, Folder

As = Annotated[
    Literal["json", "raw", "html"],
    Query(
        alias="as",
        description="json: a `FileContent` or a `Folder`; raw: the file's bytes, with ranges and"
        " an ETag; html: Markdown or text, rendered",
    ),
]

SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The folder or the file; other types than JSON with `as`.",
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    206: {
        "description": "The range that was asked for, with `as=raw`.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "The file is as the caller knows it (`If-None-Match`), with `as=raw`."},
    415: {"description": "The file is no text and cannot be rendered, with `as=html`."},
    416: {"description": "The file has no such range, with `as=raw`."},
}

Shown = Folder | FileContent


def show(root: Path, path: str, how: str, offset: Offset, request: Request) -> Shown | Response:
    """Return the folder or the file at `path` under `root`, in the way that is wanted."""
    match how:
        case "raw":
            return raw_file(root, path, request.headers)
        case "html":
            return rendered_file(root, path)
        case _:
            return browse(root, path, offset)
