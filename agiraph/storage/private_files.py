"""Files for this user alone: mode 0600, in folders of mode 0700."""

from pathlib import Path

from agiraph.storage.files import make_folder, read_bytes, replace_bytes, set_mode


def read_private(path: Path) -> bytes | None:
    """Return a file's bytes, None if it is missing; its mode is set to 0600. Raises OSError."""
    try:
        set_mode(path, 0o600)
        return read_bytes(path)
    except FileNotFoundError:
        return None


def write_private(path: Path, text: str) -> None:
    """Write a whole file with mode 0600 in one step; create its folder with mode 0700."""
    make_folder(path.parent, 0o700)
    replace_bytes(path, text.encode(), 0o600)
