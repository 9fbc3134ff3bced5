"""Programs: the files behind a program's name: its links, and the interpreter of a script."""

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

SHEBANG = b"#!"
HEAD_BYTES = 1024
MOST_LINKS = 40
"""The kernel follows no more links in one path either."""

SHELL_EXEC = re.compile(r"^'''exec' (.+?) \"\$0\"", re.MULTILINE)
"""The way in which pip and uv name an interpreter whose path has spaces or is too long."""


def link_chain(path: str) -> Iterator[str]:
    """Yield a path, and each path to which it is linked in turn; the last one is no link.

    Only the last name of a path is followed: links among its folders keep their spelling.
    """
    for _ in range(MOST_LINKS):
        yield path
        try:
            target = os.readlink(path)
        except OSError:
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))


def is_script(program: str) -> bool:
    """Whether a program names its interpreter in its first line."""
    return head_of(program).startswith(SHEBANG)


def interpreter_of(program: str | Path, path: str) -> str | None:
    """Return the interpreter of a script, None for another program.

    A name after `env` is searched on `path`.
    """
    head = head_of(program)
    if not head.startswith(SHEBANG):
        return None
    text = head.removeprefix(SHEBANG).decode("utf-8", "replace")
    words = _words(text.partition("\n")[0])
    if words[:1] == ["/bin/sh"] and (found := SHELL_EXEC.search(text)) is not None:
        words = _words(found[1])
    if not words:
        return None
    if os.path.basename(words[0]) != "env":
        return words[0]
    names = (word for word in words[1:] if not word.startswith("-") and "=" not in word)
    return shutil.which(next(names, ""), path=path)


def _words(line: str) -> list[str]:
    try:
        is_plain = line.isprintable() and not any(mark in line for mark in "'\"\\#")
        return line.split() if is_plain else shlex.split(line)
    except ValueError:
        return line.split()


def head_of(file: str | Path, most: int = HEAD_BYTES) -> bytes:
    """Return the beginning of a regular file, b"" if it cannot be read.

    Opening never blocks: in the input folder, a pipe may replace a file at any moment.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(file, flags)  # plain: programs of the machine, settings of their managers
    except OSError:
        return b""
    try:
        return os.read(fd, most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)
