"""The files of the web UI at `/ui/`: index.html with its own policy, other files as built.

They contain no data of a home, so no session is needed. A path of the page's router is answered
with index.html, whose `__NONCE__` is replaced by a new nonce in each answer: only styles of the
page's own scripts carry it, and no other inline style is applied; inline scripts never run.
"""

import re
import secrets
from pathlib import Path
from typing import Final

from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agiraph.api.auth.request_headers import RawHeaders, header

PREFIX: Final = "/ui/"
ASSETS: Final = "assets/"
NAME: Final = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*")
ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}
"""Suffixes of the compressed files that the build creates, the smallest first."""

TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
FOREVER: Final = "public, max-age=31536000, immutable"
EACH_TIME: Final = "no-cache"

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self' blob:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
UNBUILT: Final = """\
<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Agiraph</title>
<h1>The web page was not built</h1>
<p>Type <code>make ui</code> in the clone from which Agiraph runs, then load this page again;
nothing needs a restart. The API, the console and the commands work without it.</p></html>
"""


def is_of_ui(scope: Scope) -> bool:
    """Whether a request is for the web UI: below `/ui/`, or a browser's request for `/`."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    path: str = scope["path"]
    if path == "/":
        return "text/html" in header(scope["headers"], b"accept")
    return path == PREFIX[:-1] or path.startswith(PREFIX)


class UiBundle:
    """Serves the files of one folder, which may be built or rebuilt at any time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of the web UI."""
        path: str = scope["path"]
        if not path.startswith(PREFIX):
            answer: Response = RedirectResponse(PREFIX, headers={"vary": "Accept"})
        else:
            answer = self.answer(path.removeprefix(PREFIX), scope["headers"])
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        await answer(scope, receive, send)

    def answer(self, name: str, headers: RawHeaders) -> Response:
        """Return the answer for `name` below `/ui/`: a built file, otherwise index.html."""
        kind = TYPES.get(Path(name).suffix)
        if kind is not None and NAME.fullmatch(name):
            found = self._file(name, kind, header(headers, b"accept-encoding"))
            if found is not None:
                return found
        if name.startswith(ASSETS):
            return Response("There is no such file; load the page again.", 404)
        return self._index()

    def _file(self, name: str, kind: str, accepted: str) -> Response | None:
        answer = {
            "cache-control": FOREVER if name.startswith(ASSETS) else EACH_TIME,
            "content-security-policy": POLICY.format(nonce=""),
            "content-type": kind,
            "vary": "Accept-Encoding",
        }
        file = self._folder / name
        for encoding, suffix in ENCODINGS.items():
            if _accepts(accepted, encoding):
                packed = _bytes(file.with_name(file.name + suffix))
                if packed is not None:
                    return Response(packed, headers=answer | {"content-encoding": encoding})
        plain = _bytes(file)
        return None if plain is None else Response(plain, headers=answer)

    def _index(self) -> Response:
        nonce = secrets.token_urlsafe(18)
        page = _bytes(self._folder / "index.html")
        status = 200 if page is not None else 503
        text = (UNBUILT.encode() if page is None else page).replace(b"__NONCE__", nonce.encode())
        policy = POLICY.format(nonce=f" 'nonce-{nonce}'")
        headers = {"cache-control": "no-store", "content-security-policy": policy}
        return Response(text, status, headers, media_type="text/html")


def _accepts(accepted: str, encoding: str) -> bool:
    """Whether an Accept-Encoding names this encoding, and not with `q=0`."""
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == encoding:
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False


def _bytes(file: Path) -> bytes | None:
    """Return the content of a file of the bundle, None if it is unreadable."""
    try:
        return file.read_bytes()  # plain: built by `make ui`
    except OSError:
        return None
