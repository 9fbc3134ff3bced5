"""Files rendered for a browser: Markdown and plain text as HTML that loads and runs nothing.

Raw HTML in Markdown is shown as text; links keep only harmless schemes and open elsewhere; images
become links to themselves, so that nobody learns who reads, and when.
"""

from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.responses import Response

from actors.gateway.files.browser import browse
from actors.gateway.files.raw_files import SANDBOX
from agiraph.http.api import ApiError, FileContentView

MARKDOWN = (".md", ".markdown")
REL = "noopener noreferrer nofollow"


def rendered_file(root: Path, path: str) -> Response:
    """Return the file at `path` under `root` as a piece of HTML, the first 1 MiB of it.

    Raises ApiError: 403, 404 as `actors.gateway.files.browser.browse`, 409 for a folder, 415 for no
    text.
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
    """Return a text as HTML: Markdown if its name says so, else as it stands."""
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
