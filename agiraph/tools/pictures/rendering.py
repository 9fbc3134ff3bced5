"""Rendering: shows a file to a model, decoded by a process of its own within limits."""

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgpack

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Picture
from agiraph.storage.files import read_part
from agiraph.tools.base import PictureOutput
from agiraph.tools.pictures.kinds import FileKind
from agiraph.tools.pictures.render import PICTURE_BYTES, TEXT_CHARACTERS
from agiraph.tools.ports import ToolContext
from agiraph.tools.sandbox.own_code import own_code
from agiraph.tools.sandbox.sandbox import find_sandbox

JsonObject = dict[str, Any]

FILE_BYTES: Final = 32 * 1024 * 1024
SECONDS: Final = 30.0
LONGEST_ANSWER: Final = PICTURE_BYTES + 4 * TEXT_CHARACTERS + 4096
NEEDED: Final[dict[str, tuple[str, ...]]] = {"PDF": ("pypdfium2", "PIL")}
EXTRA: Final = "the extra `images` is not installed here (pip install 'agiraph[images]')"
NO_TEXT: Final = "The page has no text of its own."


async def show_file(
    context: ToolContext, path: Path, shown: str, kind: FileKind, page: int
) -> PictureOutput:
    """Return a picture of a file, or of a page of it; `shown` is its path for the model.

    Raises InvalidInput for a file that cannot be shown, OSError.
    """
    about = f"'{shown}' ({kind})"
    if kind != "PDF" and page != 1:
        raise InvalidInput(f"{about} has no pages: leave `page` out")
    if not all(map(find_spec, NEEDED.get(kind, ("PIL",)))):
        raise InvalidInput(f"{about} cannot be shown: {EXTRA}")
    data = await asyncio.to_thread(_read, path, about)
    found = await _rendered(context, data, kind, page)
    if not found["ok"]:
        raise InvalidInput(f"{about} cannot be shown: {found['reason']}")
    digest = await asyncio.to_thread(context.keep_picture, found["data"])
    name = path.name if kind != "PDF" else f"{path.name}, page {page}"
    picture = Picture(
        digest=digest,
        media_type=found["media_type"],
        name=name,
        width=found["width"],
        height=found["height"],
    )
    limit = context.config.files.read_limit
    text = _page_text(shown, found, page, limit) if kind == "PDF" else _text(shown, found, kind)
    return PictureOutput(text, (picture,))


def _read(path: Path, about: str) -> bytes:
    data, size = read_part(path, 0, FILE_BYTES, anyones=True)
    if size > FILE_BYTES:
        raise InvalidInput(f"{about} cannot be shown: {size:,} bytes, more than {FILE_BYTES:,}")
    return data


def _text(shown: str, found: JsonObject, kind: str) -> str:
    own, size = (found["file_width"], found["file_height"]), (found["width"], found["height"])
    scaled = "" if own == size else f", scaled to {size[0]} x {size[1]}"
    return f"{shown}: {kind} image, {own[0]} x {own[1]} pixels{scaled}."


def _page_text(shown: str, found: JsonObject, page: int, limit: int) -> str:
    pages, text = found["pages"], found["text"].replace("\r\n", "\n").strip()
    others = "" if pages == 1 else "; `page` selects another"
    head = f"{shown}: page {page} of {pages} of a PDF file{others}."
    if len(text) > limit:
        text = f"{text[:limit]}\n[the first {limit} of {len(text)} characters]"
    return f"{head}\n\n{text or NO_TEXT}"


async def _rendered(context: ToolContext, data: bytes, kind: str, page: int) -> JsonObject:
    """Return the answer of the process that decodes the file."""
    sandbox = await asyncio.to_thread(find_sandbox, context.config.sandbox)
    package, *imported = own_code()
    argv = [sys.executable, "-P", "-m", "agiraph.tools.pictures.render", kind, str(page)]
    process = await asyncio.create_subprocess_exec(
        *sandbox.around_helper(argv, readable=[package, *imported], home=None, has_network=False),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # The folders of imports too: those of a user's own site need a HOME to be found.
        env={
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(map(str, (package.parent, *imported))),
        },
        cwd=os.path.sep,
        limit=LONGEST_ANSWER,
    )
    try:
        async with asyncio.timeout(SECONDS):
            answer = await _exchange(process, data)
            await process.wait()
    except TimeoutError:
        return {"ok": False, "reason": f"decoding it takes longer than {SECONDS:g} s"}
    except EOFError as error:
        return {"ok": False, "reason": str(error)}
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    try:
        found: JsonObject = msgpack.unpackb(answer)
    except ValueError:
        return {"ok": False, "reason": "it exceeds the memory or the time for decoding"}
    return found


async def _exchange(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    """Write the file to the process; return its answer. Raises EOFError for a longer answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        pass  # it has ended already: its answer, or the lack of one, is the reason
    answer = bytearray()
    while piece := await process.stdout.read(1 << 16):
        answer += piece
        if len(answer) > LONGEST_ANSWER:
            raise EOFError("its picture is too large")
    return bytes(answer)
