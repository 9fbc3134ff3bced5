"""AnswerLinks: the links in notices that answer a question, and the key that signs them."""

import secrets
from pathlib import Path

from agiraph.http.api.access import UI_PATH
from agiraph.notifications.notice import Notice
from agiraph.notifications.webhooks import KEY_BYTES, answer_token, read_answer_token
from agiraph.storage.private_files import read_private, write_private

PATH = "/answer/"


class AnswerLinks:
    """Creates and reads the links of one home; the key file is created at its first use."""

    def __init__(self, key_file: Path, good_for_seconds: float) -> None:
        self._key_file = key_file
        self._good_for = good_for_seconds
        self._key: bytes | None = None
        self.base = ""

    def link_of(self, notice: Notice) -> str | None:
        """Return the link that answers this notice's question, None if it has no question."""
        if notice.question_id is None:
            return None
        expires_at = notice.ts + self._good_for
        return f"{self.base}{PATH}{answer_token(self.key, notice.question_id, expires_at)}"

    def page_of(self, notice: Notice) -> str:
        """Return the address of the web UI's page of a notice's agent."""
        return f"{self.base}{UI_PATH}{f'agents/{notice.agent}' if notice.agent else ''}"

    def question_of(self, token: str, now: float) -> str:
        """Return the id of the question in a link's token.

        Raises InvalidInput if the token is invalid or old.
        """
        return read_answer_token(self.key, token, now)

    @property
    def key(self) -> bytes:
        """The key that signs the links, 32 bytes; its file (mode 0600) is made at the first use."""
        if self._key is None:
            self._key = _load(self._key_file)
        return self._key


def _load(path: Path) -> bytes:
    try:
        key = bytes.fromhex((read_private(path) or b"").decode())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        key = secrets.token_bytes(KEY_BYTES)
        write_private(path, key.hex())
    return key
