"""The reader's process: parses untrusted content, and queries DuckDuckGo by `ddgs`.

    stdin, stdout: 4-byte big-endian length | msgpack map

A request is `{"do": NAME, ...}`, an answer `{"ok": true, ...}` or `{"ok": false, "reason": ...}`.
It has no keys, and its parent may kill it at any time: a page that crashes or confuses a parser
affects nothing else. It exits when its stdin ends.
"""

import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO

import msgpack

from agiraph.core.naming import error_line

JsonObject = dict[str, Any]
HEAD_BYTES = 4


def main(memory_mb: int) -> None:
    """Answer requests until stdin ends; `memory_mb` limits this process (0: no limit)."""
    if memory_mb:
        limit = memory_mb * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not get between the answers
    questions = sys.stdin.buffer
    while (request := _read(questions)) is not None:
        data = msgpack.packb(answer(request))
        answers.write(len(data).to_bytes(HEAD_BYTES, "big") + data)
        answers.flush()


def answer(request: JsonObject) -> JsonObject:
    """Return the answer to one request; any error becomes its reason."""
    do = WORKS[request.pop("do")]
    try:
        return {"ok": True, **do(**request)}
    except MemoryError:
        return {"ok": False, "reason": "it takes too much memory"}
    except RecursionError:
        return {"ok": False, "reason": "it is nested too deep"}
    except Exception as error:
        # A parser may raise any error for untrusted content: the page is reported as unreadable.
        return {"ok": False, "reason": error_line(f"{type(error).__name__}: {error}")}


def _page(body: bytes, charset: str, url: str) -> JsonObject:
    from agiraph.tools.web.reading import read_page

    return asdict(read_page(body, charset, url))


def _robots(body: bytes, url: str) -> JsonObject:
    from agiraph.tools.web.reading import allows

    return {"allowed": allows(body, url)}


def _duckduckgo(query: str, count: int, seconds: float, url: str) -> JsonObject:
    from agiraph.tools.web.services import search_duckduckgo

    return {"hits": [asdict(hit) for hit in search_duckduckgo(query, count, seconds, url)]}


WORKS: dict[str, Callable[..., JsonObject]] = {
    "page": _page,
    "robots": _robots,
    "duckduckgo": _duckduckgo,
}


def _read(stream: BinaryIO) -> JsonObject | None:
    head = stream.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES:
        return None
    request: JsonObject = msgpack.unpackb(stream.read(int.from_bytes(head, "big")))
    return request


if __name__ == "__main__":
    main(int(sys.argv[1]))
