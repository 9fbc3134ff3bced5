"""What an entity's folder holds, in a line a file: for a conversation that begins anew."""

from collections.abc import Iterable
from pathlib import Path

LONGEST_FIRST_LINE = 80
MOST_FILES = 100
READ_BYTES = 4096


def listing(folder: Path, shown_as: str) -> str:
    """Return a line for each file under `folder`: name, size, first line of text; "" if none."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    lines = [_line(path, f"{shown_as}{path.relative_to(folder)}") for path in paths[:MOST_FILES]]
    if len(paths) > MOST_FILES:
        lines.append(f"- and {len(paths) - MOST_FILES} more")
    return "\n".join(lines)


def _line(path: Path, name: str) -> str:
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            beginning = file.read(READ_BYTES).decode("utf-8", "replace")
    except OSError:  # it went away meanwhile
        return f"- {name}"
    first = next((line.strip() for line in beginning.splitlines() if line.strip()), "")
    shown = first[:LONGEST_FIRST_LINE] if first.isprintable() else ""
    return f"- {name} ({size} bytes){f': {shown}' if shown else ''}"


def read_texts(paths: Iterable[Path]) -> str:
    """Return the texts of those files that are there, one after the other."""
    texts = []
    for path in paths:
        try:
            texts.append(path.read_text(encoding="utf-8", errors="replace").strip())
        except OSError:
            continue
    return "\n\n".join(text for text in texts if text)
