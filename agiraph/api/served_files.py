"""Files over HTTP, as bytes or rendered, with content types that execute nothing.

As bytes: types that a browser would run or follow (HTML, SVG, XML, PDF) are sent as attachments in
a sandbox; types that are not known to be harmless are sent as attachments without a type. Rendered:
raw HTML in Markdown is shown as text; links keep only harmless schemes and open elsewhere; images
become links, so that no server learns about the reader.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from email.utils import formatdate
from functools import cache
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse

from agiraph.api.problems import problem_response
from agiraph.core.naming import with_unseen_shown
from agiraph.http.api import ApiError, FileContentView
from agiraph.readmodel.files import browse, opened
from agiraph.readmodel.media_types import kind_of
from agiraph.storage.walk import etag_of

MARKDOWN = (".md", ".markdown")
REL = "noopener noreferrer nofollow"

CHUNK = 256 * 1024
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
SANDBOX = "default-src 'none'; sandbox"


def raw_file(root: Path, path: str, headers: Headers, *, is_head: bool = False) -> Response:
    """Return the file at `path` under `root`, or the range of it that `headers` request.

    `is_head`: without the bytes. A range outside the file is answered with 416. Raises ApiError:
    403, 404 as `agiraph.readmodel.files.browse`, 409 for a folder.
    """
    with opened(root, path) as (fd, shown):
        facts = os.fstat(fd)
        if stat.S_ISDIR(facts.st_mode):
            raise ApiError(409, f"'{shown}' is a folder, it has no bytes")
        answer = _headers(shown, facts)
        if _is_known(headers, answer["etag"]):
            kept = {name: answer[name] for name in ("etag", "last-modified", "cache-control")}
            return Response(status_code=304, headers=kept)
        found = _range(headers, answer, facts.st_size)
        first, last = found or (0, facts.st_size - 1)
        if found and (first >= facts.st_size or last < first):
            refusal = ApiError(416, f"'{shown}' has {facts.st_size} bytes")
            return problem_response(refusal, headers={"content-range": f"bytes */{facts.st_size}"})
        if found:
            answer["content-range"] = f"bytes {first}-{last}/{facts.st_size}"
        size = last - first + 1
        answer["content-length"] = str(size)
        chunks = iter(()) if is_head else _chunks(os.dup(fd), first, size)
        return StreamingResponse(chunks, status_code=206 if found else 200, headers=answer)


def _chunks(fd: int, offset: int, size: int) -> Iterator[bytes]:
    """Yield `size` bytes of the open file `fd` from `offset` on, then close it. Raises OSError."""
    with os.fdopen(fd, "rb") as file:
        while size > 0:
            data = os.pread(file.fileno(), min(CHUNK, size), offset)
            if not data:
                raise OSError("the file was cut short while it was read")
            yield data
            size, offset = size - len(data), offset + len(data)


def _headers(shown: str, facts: os.stat_result) -> dict[str, str]:
    kind = kind_of(shown)
    name = PurePosixPath(shown).name
    answer = {
        "content-type": kind.media_type,
        "etag": etag_of(facts),
        "last-modified": formatdate(facts.st_mtime, usegmt=True),
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
        "x-content-type-options": "nosniff",
        "content-security-policy": SANDBOX,
    }
    if kind.is_attachment:
        answer["content-disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return answer


def _is_known(headers: Headers, etag: str) -> bool:
    """Whether the caller's If-None-Match names this version (`etag`) of the file."""
    known = [
        part.strip().removeprefix("W/") for part in headers.get("if-none-match", "").split(",")
    ]
    return etag in known or known == ["*"]


def _range(headers: Headers, answer: dict[str, str], size: int) -> tuple[int, int] | None:
    """Return the first and last requested byte, None for all (RFC 9110, section 14).

    Several ranges at once are answered with the whole file, as is a file that has changed since.
    """
    wanted = RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if wanted is None or wanted.group() == "bytes=-":
        return None
    if headers.get("if-range") not in (None, answer["etag"], answer["last-modified"]):
        return None
    first, last = wanted.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    return start, end


def rendered_file(root: Path, path: str) -> Response:
    """Return the first 1 MiB of the file at `path` under `root` as a fragment of HTML.

    Raises ApiError: 403, 404 as `agiraph.readmodel.files.browse`, 409 for a folder, 415 for a file
    that is no text.
    """
    found = browse(root, path)
    if not isinstance(found, FileContentView):
        raise ApiError(409, f"'{found.path}' is a folder, it cannot be rendered")
    if found.encoding != "utf-8":
        raise ApiError(415, f"'{found.path}' is no text (possible: as=raw, as=json)")
    html = rendered(found.path, found.content)
    if found.is_truncated:
        html += f"<p><em>... {found.size - found.returned} more bytes: as=raw has all</em></p>\n"
    security = {"content-security-policy": SANDBOX, "x-content-type-options": "nosniff"}
    return Response(html, media_type="text/html", headers=security)


def rendered(name: str, text: str) -> str:
    """Return a file's text as HTML: rendered if `name` is that of Markdown, else preformatted."""
    text = with_unseen_shown(text)
    if PurePosixPath(name).suffix.lower() in MARKDOWN:
        html: str = _markdown().render(text)
        return html
    return f"<pre>{escape(text)}</pre>\n"


@cache
def _markdown() -> Any:
    """Return the renderer, imported when the first file is rendered."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    renderer.add_render_rule("link_open", _link)
    renderer.add_render_rule("image", _image)
    return renderer


def _link(self: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    token.attrSet("rel", REL)
    token.attrSet("target", "_blank")
    return str(self.renderToken(tokens, index, options, env))


def _image(self: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    source = escape(str(token.attrGet("src") or ""))
    shown = escape(token.content or source)
    return f'<a href="{source}" rel="{REL}" target="_blank">[image: {shown}]</a>'
