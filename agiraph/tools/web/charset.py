"""Charset: the text of a body, whatever its page says or fails to say about its encoding. Pure."""

import codecs
import re

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOOK_FOR_META = 4096
META = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
# What pages call so is what browsers read as these.
BROADER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


def decoded(body: bytes, charset: str = "", *, is_markup: bool = False) -> str:
    """Return a body as text: by its mark, the header's charset, its own word, or a guess.

    What does not fit is replaced, never an error.
    """
    for bom, name in BOMS:
        if body.startswith(bom):
            return _text(body, name)
    named = _known(charset) or (_meta(body) if is_markup else None)
    if named is not None:
        return _text(body, named)
    try:
        return _plain(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        # Cut in the middle of a character: it is UTF-8 all the same.
        is_cut = error.start >= len(body) - 4
        return _text(body, "utf-8" if is_cut else "cp1252")


def _meta(body: bytes) -> str | None:
    found = META.search(body[:LOOK_FOR_META])
    named = _known(found.group(1).decode("ascii", "replace")) if found else None
    # It was read as ASCII, so it cannot be that.
    return "utf-8" if named is not None and named.startswith(("utf-16", "utf-32")) else named


def _known(name: str) -> str | None:
    """Return Python's name of a text encoding, None if there is none."""
    try:
        info = codecs.lookup(name.strip().strip("\"'"))
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True):
        return None
    return BROADER.get(info.name, info.name)


def _text(body: bytes, encoding: str) -> str:
    try:
        return _plain(body.decode(encoding, errors="replace"))
    except (UnicodeError, LookupError):  # some codecs know no `replace`
        return _plain(body.decode("utf-8", errors="replace"))


def _plain(text: str) -> str:
    """Write every line end as a newline, and drop NUL, which no text has."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
