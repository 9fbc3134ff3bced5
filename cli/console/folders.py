"""Folders and files of a run as text for a terminal. Pure."""

import base64

from agiraph.http.api import FileContentView, FileEntryView, FolderView
from cli.console.sanitize import one_line, printable

BINARY_LIMIT = 256


def told_path(found: FolderView | FileContentView) -> str:
    """Return a folder's rows or a file's text."""
    return told_file(found) if isinstance(found, FileContentView) else told_folder(found)


def told_folder(folder: FolderView) -> str:
    """Return one line an entry; folders end with a slash."""
    rows = [f"{told_size(entry):>8}  {told_name(entry)}" for entry in folder.entries]
    if folder.is_truncated:
        rows.append("          … and more")
    return "\n".join(rows) or "an empty folder"


def told_name(entry: FileEntryView) -> str:
    """Return an entry's name, a folder's with a slash, a link's with an at sign."""
    mark = {"folder": "/", "link": "@"}.get(entry.kind, "")
    return one_line(entry.name) + mark


def told_size(entry: FileEntryView) -> str:
    """Return a file's size in at most eight characters; nothing for a folder."""
    if entry.kind != "file":
        return ""
    amount, units = float(entry.size), ["B", "KB", "MB", "GB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def told_file(file: FileContentView) -> str:
    """Return a file's text without control characters; of a binary one how it begins."""
    if file.encoding == "base64":
        begins = base64.b64decode(file.content)[:BINARY_LIMIT]
        return f"{file.size:,} bytes that are no text; it begins with\n{begins.hex(' ', 4)}"
    more = f"\n… ({file.size:,} bytes in all)" if file.is_truncated else ""
    return printable(file.content).expandtabs(4) + more
