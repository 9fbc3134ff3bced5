"""Home format: the number of the file format of a home.

Increase FORMAT with every change that makes earlier files unreadable or read wrongly. The first
supervisor of a home writes the number; a home of another format is refused before any of its files
is read or changed. A home that has been used and has no number has format 0.
"""

from typing import Final

from agiraph.core.errors import Corrupt
from agiraph.storage.files import read_bytes, replace_bytes, status_of
from agiraph.storage.home import Home

FORMAT: Final = 1
MOST_DIGITS: Final = 9


class OtherFormat(Corrupt):
    """A home was written by an Agiraph with another format."""

    def __init__(self, home: Home, found: int) -> None:
        age = "a newer" if found > FORMAT else "an older"
        super().__init__(
            f"{home.path} was written by {age} Agiraph: its format is {found}, this one reads only"
            f" {FORMAT} (possible: that Agiraph, or another home)"
        )


def format_of(home: Home) -> int | None:
    """Return the format of a home, None if no supervisor has run on it. Raises Corrupt, OSError."""
    try:
        text = read_bytes(home.system.format)
    except FileNotFoundError:
        return None if status_of(home.system.children) is None else 0
    if not (text.strip().isdigit() and len(text) <= MOST_DIGITS):
        raise Corrupt(
            f"{home.system.format} is damaged: it contains no number (possible: {FORMAT})"
        )
    return int(text)


def check_format(home: Home) -> None:
    """Raise OtherFormat if the home has another format than FORMAT.

    Also raises Corrupt, OSError.
    """
    found = format_of(home)
    if found not in (None, FORMAT):
        raise OtherFormat(home, found)


def claim_format(home: Home) -> None:
    """Write the format into a home on which no supervisor has run; raise as `check_format`."""
    check_format(home)
    if format_of(home) is None:
        replace_bytes(home.system.format, b"%d\n" % FORMAT, 0o600)
