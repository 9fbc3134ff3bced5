"""SettingsStore: reads the settings files of a home and replaces them atomically."""

import difflib
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import Final

from agiraph.core.errors import InvalidInput, Refused
from agiraph.settings.yaml_text import is_absent
from agiraph.settings.yaml_text import read_text as read_own
from agiraph.storage.files import make_private_folder, read_text, replace_bytes
from agiraph.storage.home import Home

ABSENT: Final = "absent"
DIGEST_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of a settings file; a missing file has `exists` false and the text ''."""

    text: str
    exists: bool

    @property
    def etag(self) -> str:
        """A digest of the text, for `If-Match`."""
        if not self.exists:
            return ABSENT
        return hashlib.blake2b(self.text.encode(), digest_size=DIGEST_BYTES).hexdigest()


class SettingsStore:
    """The settings files; the previous version of each is kept in `human/settings/`."""

    def __init__(self, home: Home) -> None:
        self.home = home.path
        self._kept = home.human.settings

    def read(self, name: str) -> StoredText:
        """Return a file's current text. Raises InvalidInput if it is unreadable."""
        path = self.home / name
        if is_absent(path):
            return StoredText("", False)
        return StoredText(read_own(path), True)

    def version_before(self, name: str) -> str | None:
        """Return the text before the last change made here, None if there was no change."""
        try:
            return read_text(self._kept / name)
        except FileNotFoundError:
            return None

    def replace(self, name: str, text: str, before: StoredText) -> None:
        """Write a file and keep the previous version. Raises Refused for a link, OSError."""
        path = self.home / name
        if os.path.islink(path):
            raise Refused(f"{name} is a link to {os.path.realpath(path)}: change that file")
        mode = 0o600
        if before.exists:
            mode = stat.S_IMODE(path.stat().st_mode)
            make_private_folder(self._kept)
            replace_bytes(self._kept / name, before.text.encode(), 0o600)
        replace_bytes(path, text.encode(), mode)


def unified_diff(name: str, before: str, after: str) -> str:
    """Return the difference of two texts as a unified diff, '' if there is none."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{name} (now)", name, lineterm=""
    )
    return "\n".join(lines)


def readable(text: str) -> str:
    """Return a settings text that can be written: with a newline at its end, without CRLF.

    Raises InvalidInput for a control character.
    """
    if "\0" in text or "\x7f" in text:
        raise InvalidInput("a control character is in the text")
    text = text.replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else f"{text}\n"
