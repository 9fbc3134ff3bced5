"""Interpreter: what a program that is a script needs to run: its interpreter, and what that needs.

`pipx`, `uv tool` and `pip` in a virtual environment make such programs: a script whose first line
names the environment's own Python, often reached by a link from a folder on the PATH.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from agiraph.tools.sandbox.toolchain import prefix_of

HEAD_BYTES = 1024
MARK = b"#!"
SHELL_EXEC = re.compile(r"^'''exec' (.+?) \"\$0\"", re.MULTILINE)
"""How pip and uv name an interpreter whose path is too long for a first line, or has spaces."""


def is_script(program: Path) -> bool:
    """Whether a program is a text that names its interpreter."""
    return _head(program).startswith(MARK)


def folders_of_script(program: Path, path: str) -> list[Path]:
    """Return the folders that a script's interpreter needs; none for another program.

    A name that is left to `env` is looked for on `path`.
    """
    interpreter = _interpreter(program, path)
    if interpreter is None or not interpreter.exists():
        return []
    return list(dict.fromkeys((interpreter, *_folders(interpreter))))


def _folders(interpreter: Path) -> Iterator[Path]:
    yield from prefix_of(interpreter.parent)
    if interpreter.is_symlink():
        yield from prefix_of(interpreter.resolve().parent)


def _interpreter(program: Path, path: str) -> Path | None:
    """Return where the interpreter is that a script names; None if it names none."""
    head = _head(program)
    if not head.startswith(MARK):
        return None
    text = head.removeprefix(MARK).decode("utf-8", "replace")
    words = _words(text.partition("\n")[0])
    if words[:1] == ["/bin/sh"] and (found := SHELL_EXEC.search(text)) is not None:
        words = _words(found[1])
    if not words:
        return None
    if Path(words[0]).name != "env":
        return Path(words[0])
    names = (word for word in words[1:] if not word.startswith("-") and "=" not in word)
    found_at = shutil.which(next(names, ""), path=path)
    return Path(found_at) if found_at else None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _head(program: Path) -> bytes:
    try:
        with open(program, "rb") as file:  # plain: a program of the machine
            return file.read(HEAD_BYTES)
    except OSError:
        return b""
