"""A web site and four search services on this machine, with many kinds of faulty pages."""

import gzip
import json
import select
import socket
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ARTICLE = """<!doctype html><html><head><title>Chips in 2026</title><script>alert(1)</script></head>
<body><nav><a href="/menu">Menu</a></nav>
<article><h1>Chips</h1><p>{text}</p><p>See <a href="/more#part">the next page</a>.</p>
<table><tr><th>Maker</th><th>Share</th></tr><tr><td>Acme</td><td>61 %</td></tr></table></article>
<footer>Cookies</footer></body></html>"""
LONG = "The market for chips has grown by a third within the year, says the report. " * 8
RESULTS = [
    {"title": f"Result {n}", "url": f"https://example.com/{n}", "snippet": f"About {n}."}
    for n in range(1, 31)
]


@dataclass(frozen=True)
class SiteRequest:
    """One received request."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeSite:
    """The site; `robots` is its robots.txt, `troubles` the next answers of /search."""

    robots: str | None = None
    robots_status: int = 200
    troubles: list[int] = field(default_factory=list)
    requests: list[SiteRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.released = threading.Event()
        self.began = threading.Event()
        self.dropped = threading.Event()
        site = self

        class Handler(_Handler):
            world = site

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """Release all delayed answers, and stop."""
        self.released.set()
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def paths(self) -> list[str]:
        """Return the requested paths, in order, without robots.txt."""
        return [seen.path for seen in self.requests if seen.path != "/robots.txt"]


class _Handler(BaseHTTPRequestHandler):
    world: FakeSite
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length", "0"))))

    def _answer(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        seen = SiteRequest(
            self.command, parts.path, parse_qs(parts.query), dict(self.headers), body
        )
        self.world.requests.append(seen)
        first, _, rest = parts.path.strip("/").partition("/")
        try:
            ROUTES.get(first, _missing)(self, rest)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def send(self, body: bytes, kind: str = "text/html", status: int = 200, **extra: str) -> None:
        """Send a complete answer."""
        self._begin(status, kind, Content_Length=str(len(body)), **extra)
        self.wfile.write(body)

    def stream(self, kind: str, **extra: str) -> None:
        """Begin an answer of unknown length."""
        self._begin(200, kind, Connection="close", **extra)
        self.close_connection = True

    def _begin(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()


def _home(handler: _Handler, rest: str) -> None:
    handler.send(ARTICLE.format(text=LONG).encode())


def _robots(handler: _Handler, rest: str) -> None:
    site = handler.world
    if site.robots is None and site.robots_status == 200:
        return handler.send(b"", "text/plain", 404)
    return handler.send((site.robots or "").encode(), "text/plain", site.robots_status)


def _redirect(handler: _Handler, where: str) -> None:
    handler.send(b"", "", 302, Location=where)


def _countdown(handler: _Handler, rest: str) -> None:
    left = int(rest)
    _redirect(handler, f"/redirect/{left - 1}" if left > 1 else "/article")


def _to(handler: _Handler, rest: str) -> None:
    [where] = parse_qs(urlsplit(handler.path).query)["url"]
    _redirect(handler, where)


def _huge(handler: _Handler, rest: str) -> None:
    handler.stream("text/plain; charset=utf-8")
    for _ in range(400):
        handler.wfile.write(b"many words on this line\n" * 4000)


def _slow(handler: _Handler, rest: str) -> None:
    handler.stream("text/plain")
    handler.wfile.write(b"a beginning\n")
    handler.wfile.flush()
    handler.world.began.set()
    while not handler.world.released.wait(0.02):
        is_readable, _, _ = select.select([handler.connection], [], [], 0)
        if is_readable and not handler.connection.recv(1, socket.MSG_PEEK):
            handler.world.dropped.set()
            return
    handler.wfile.write(b"an end\n")


def _bomb(handler: _Handler, rest: str) -> None:
    handler.stream("text/plain", Content_Encoding="gzip")
    handler.wfile.write(gzip.compress(b"0" * 60_000_000))


def _coded(handler: _Handler, rest: str) -> None:
    plain = b"squeezed words"
    bodies = {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        "bare": zlib.compress(plain)[2:-4],
        "br": plain,
        "damaged": b"not gzip at all",
    }
    name = {"bare": "deflate", "damaged": "gzip"}.get(rest, rest)
    handler.send(bodies[rest], "text/plain", Content_Encoding=name)


def _text(handler: _Handler, rest: str) -> None:
    words = "Größe: 5 € – „gut“"
    kinds: dict[str, tuple[bytes, str]] = {
        "utf8": (words.encode(), "text/plain"),
        "header": (words.encode("utf-16-le"), "text/plain; charset=utf-16-le"),
        "cp1252": (words.encode("cp1252"), "text/plain"),
        "nonsense": (words.encode(), "text/plain; charset=x-no-such"),
        "lying": (b"caf\xe9 " * 3, "text/plain; charset=utf-8"),
        "json": (json.dumps({"size": 5}).encode(), "application/json"),
        "pdf": (b"%PDF-1.7 ...", "application/pdf"),
        "png": (b"\x89PNG\r\n", "image/png"),
        "unnamed": (b"\x00\x01\x02", ""),
        "bare": (b"plain words", ""),
    }
    handler.send(*kinds[rest])


def _meta(handler: _Handler, rest: str) -> None:
    page = ARTICLE.replace("<head>", '<head><meta charset="iso-8859-1">').format(
        text="Größe " * 100
    )
    handler.send(page.encode("cp1252"))


def _missing(handler: _Handler, rest: str) -> None:
    handler.send(b"nothing here", "text/plain", 404)


def _trouble(handler: _Handler) -> bool:
    if not handler.world.troubles:
        return False
    status = handler.world.troubles.pop(0)
    handler.send(b'{"error": "no"}', "application/json", status, Retry_After="0")
    return True


def _json(handler: _Handler, answer: object) -> None:
    if not _trouble(handler):
        handler.send(json.dumps(answer).encode(), "application/json")


def _brave(handler: _Handler, rest: str) -> None:
    rows = [{**row, "description": row["snippet"]} for row in RESULTS]
    _json(handler, {"type": "search", "web": {"type": "search", "results": rows}})


def _serper(handler: _Handler, rest: str) -> None:
    rows = [{**row, "link": row["url"], "position": 1} for row in RESULTS]
    _json(handler, {"searchParameters": {}, "organic": rows})


def _contents(handler: _Handler, rest: str) -> None:
    """Answer like Tavily and SearXNG."""
    _json(handler, {"query": "x", "results": [{**r, "content": r["snippet"]} for r in RESULTS]})


def _duckduckgo(handler: _Handler, rest: str) -> None:
    rows = "".join(
        f"<div class='result__body body'><h2><a href='{row['url']}'>{row['title']}</a></h2>"
        f"<a href='{row['url']}'>{row['snippet']}</a></div>"
        for row in RESULTS[:5]
    )
    handler.send(f"<html><body>{rows}</body></html>".encode())


ROUTES: dict[str, Callable[[_Handler, str], None]] = {
    **dict.fromkeys(("", "article", "more"), _home),
    "robots.txt": _robots,
    "redirect": _countdown,
    "loop": lambda handler, rest: _redirect(handler, f"/loop/{'b' if rest == 'a' else 'a'}"),
    "to": _to,
    "huge": _huge,
    "slow": _slow,
    "bomb": _bomb,
    "coded": _coded,
    "text": _text,
    "meta": _meta,
    "status": lambda handler, rest: handler.send(b"no", "text/plain", int(rest)),
    "nested": lambda handler, _: handler.send(b"<div>" * 20_000 + b"deep" + b"</div>" * 20_000),
    "price": lambda handler, _: handler.send(b'{"bitcoin": {"usd": 64321.5}}', "application/json"),
    "brave": _brave,
    "serper": _serper,
    **dict.fromkeys(("tavily", "search"), _contents),
    "duckduckgo": _duckduckgo,
}
