r"""File names as text that JSON, URLs and terminals can represent.

A Linux name may contain any bytes. A name with control characters or with bytes that are not UTF-8
is spelled with escapes (`caf\xe9.txt`, `a\nb.txt`, and `\\` for a backslash); any other name is its
own spelling, backslashes included. So a spelling may in theory mean two files: then the file with
exactly this name is used.
"""

import os
import re
from pathlib import Path
from typing import Final

_ODD: Final = re.compile("[\x00-\x1f\x7f\udc80-\udcff]")
_TO_ESCAPE: Final = re.compile("[\\\\\x00-\x1f\x7f\udc80-\udcff]")
_ESCAPE: Final = re.compile(rb"\\(\\|[ntr]|x(?:[0189a-f][0-9a-f]|7f))")
"""Only the escapes of `spelled`: no escape means a dot or a slash."""
_SHORT: Final = {"\\": "\\\\", "\n": r"\n", "\t": r"\t", "\r": r"\r"}
_MEANS: Final = {text[1:].encode(): char.encode() for char, text in _SHORT.items()}

_NOT_PORTABLE: Final = re.compile("[\x00-\x1f\x7f\\\\:\udc80-\udcff]|%(?=[0-9A-F]{2})|[. ]$")
_DEVICE: Final = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3]) *(\.|$)", re.IGNORECASE
)


def spelled(path: str | Path) -> str:
    """Return a path as text that JSON and terminals can show: `\xe9`, `\n`, `\\` for odd bytes."""
    text = path.as_posix() if isinstance(path, Path) else path
    return _TO_ESCAPE.sub(_escaped, text) if _ODD.search(text) else text


def portable(path: Path) -> str:
    r"""Return a relative path as its name in an archive that may be unpacked on any system.

    On Windows a backslash separates names, `C:` is a drive, `con` a device, and dots and spaces at
    the end of a name are ignored: `..\a` would leave the folder. Such characters, and the
    characters that `spelled` escapes, are written as in URLs (`..%5Ca`). Different paths have
    different names.
    """
    return "/".join(_portable_name(name) for name in path.parts if name != path.anchor)


def _portable_name(name: str) -> str:
    shown = _NOT_PORTABLE.sub(lambda found: _percent(found.group()), name)
    return f"{_percent(shown[0])}{shown[1:]}" if _DEVICE.match(shown) else shown


def _percent(char: str) -> str:
    return f"%{ord(char) & 0xFF:02X}"


def unspelled(text: str) -> str:
    """Return the path of a spelling with escapes; a text without escapes is returned unchanged."""
    return os.fsdecode(_ESCAPE.sub(_meant, os.fsencode(text)))


def is_below(text: str) -> bool:
    """Whether a spelling names an entry below its folder: no empty name, `.`, `..` or NUL."""
    names = unspelled(text).split("/")
    return not {"", ".", ".."} & set(names) and "\0" not in unspelled(text)


def found_below(folder: Path, text: str) -> Path:
    """Return the path below `folder` for a spelling: the literal path if such a file exists.

    Else the path with its escapes decoded.
    """
    exact = folder / text
    return exact if os.path.lexists(exact) else folder / unspelled(text)


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    return _SHORT.get(char) or f"\\x{ord(char) & 0xFF:02x}"


def _meant(found: re.Match[bytes]) -> bytes:
    escape = found.group(1)
    return _MEANS.get(escape) or bytes.fromhex(escape[1:].decode())
