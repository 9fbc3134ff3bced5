"""The home's own token, `system/token`: what the commands on this machine come in with."""

import secrets
from pathlib import Path

from actors.gateway.auth.private import read_private, write_private

TOKEN_BYTES = 32
TOKEN_MARK = "agt_"


def load_token(path: Path) -> str:
    """Return the home's token, made on the first call; its file is for this user alone."""
    token = (read_private(path) or b"").decode("ascii", "replace").strip()
    if len(token) >= TOKEN_BYTES and token.isascii():
        return token
    return renew_token(path)


def renew_token(path: Path) -> str:
    """Write a new token in the old one's place and return it."""
    token = TOKEN_MARK + secrets.token_urlsafe(TOKEN_BYTES)
    write_private(path, token + "\n")
    return token
