"""List the files of an entity's folder, one line per file, for a conversation that starts again."""

from collections.abc import Iterable
from pathlib import Path

from agiraph.storage.file_names import spelled
from agiraph.storage.files import files_below, read_part, read_shown

LONGEST_FIRST_LINE = 80
MOST_FILES = 100
READ_BYTES = 4096


def listing(folder: Path, shown_as: str) -> str:
    """Return a line for each file below `folder`: name, size and first line; "" without files.

    Names are shown as paths below `shown_as`.
    """
    try:
        files = [path for path, _ in files_below(folder)]
    except OSError:
        return ""
    lines = [_line(folder / path, f"{shown_as}{spelled(path)}") for path in files[:MOST_FILES]]
    if len(files) > MOST_FILES:
        lines.append(f"- and {len(files) - MOST_FILES} more")
    return "\n".join(lines)


def _line(path: Path, name: str) -> str:
    try:
        data, size = read_part(path, 0, READ_BYTES)
    except OSError:  # deleted meanwhile
        return f"- {name}"
    first = next(
        (line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()), ""
    )
    shown = first[:LONGEST_FIRST_LINE] if first.isprintable() else ""
    return f"- {name} ({size} bytes){f': {shown}' if shown else ''}"


def read_texts(paths: Iterable[Path]) -> str:
    """Return the texts of the files that exist, with an empty line between them."""
    texts = [read_shown(path).strip() for path in paths]
    return "\n\n".join(text for text in texts if text)
