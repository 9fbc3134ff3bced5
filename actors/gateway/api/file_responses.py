"""How a file is asked for, in every family that has files: as JSON, as its bytes, as HTML."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from actors.gateway.api.dependencies import Offset
from actors.gateway.files.browser import browse
from actors.gateway.files.raw_files import raw_file
from actors.gateway.files.rendering import rendered_file
from agiraph.http.api import FileContentView, FolderView

As = Annotated[
    Literal["json", "raw", "html"],
    Query(
        alias="as",
        description="json: a `FileContent` or a `Folder`; raw: the file's bytes as they are, with"
        " their own content type, ranges and an ETag (409 for a folder); html: Markdown or text,"
        " rendered",
    ),
]


def _header(words: str) -> dict[str, Any]:
    return {"description": words, "schema": {"type": "string"}}


def _asked(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, **_header(words)}


ASKED: dict[str, Any] = {
    "parameters": [
        _asked("Range", "with `as=raw`: one stretch of the file, `bytes=FIRST-LAST`"),
        _asked("If-Range", "with `as=raw`: the ETag of which `Range` is a stretch; else all of it"),
        _asked("If-None-Match", "with `as=raw`: ETags that the caller has; 304 if one still fits"),
    ]
}
"""What may be asked for with `as=raw` beside the path."""

OF_BYTES: dict[str, Any] = {
    "ETag": _header("with `as=raw`: changes when the file does"),
    "Last-Modified": _header("with `as=raw`: when the file was changed"),
    "Accept-Ranges": _header("with `as=raw`: bytes"),
    "Content-Disposition": _header("with `as=raw`: attachment, for what a browser would run"),
}

SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The folder or the file; other types than JSON with `as`.",
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
        "headers": OF_BYTES,
    },
    206: {
        "description": "The range that was asked for, with `as=raw`.",
        "headers": {"Content-Range": _header("which bytes of how many"), **OF_BYTES},
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "The file is as the caller knows it (`If-None-Match`), with `as=raw`."},
    415: {"description": "The file is no text and cannot be rendered, with `as=html`."},
    416: {"description": "The file has no such range, with `as=raw`."},
}

Shown = FolderView | FileContentView


def show(root: Path, path: str, how: str, offset: Offset, request: Request) -> Shown | Response:
    """Return the folder or the file at `path` under `root`, in the way that is wanted."""
    match how:
        case "raw":
            return raw_file(root, path, request.headers)
        case "html":
            return rendered_file(root, path)
        case _:
            return browse(root, path, offset)
