"""The keys of a home, stored in `human/tokens.json`; only this module changes them.

A change is on disk before its secret is shown, and takes effect at once: open calls of an ended key
are cut off. The file contains digests only. An unreadable file is moved aside, which ends every
named token and browser login (fails closed); the home's own token, in its own file, stays valid.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from agiraph.api.auth.credentials import (
    ApiToken,
    BrowserLogin,
    Credentials,
    LoginLink,
    Principal,
    caller_of,
)
from agiraph.core.clock import Clock
from agiraph.http.api.access import HOME_TOKEN, CreateTokenRequest, Scope
from agiraph.http.errors import ApiError
from agiraph.storage.files import is_missing, move, status_of
from agiraph.storage.home import Home
from agiraph.storage.private_files import read_private, write_private

TOKEN_BYTES = 32
TOKEN_MARK = "agt_"

LINK_MARK: Final = "agl_"
BROWSER_MARK: Final = "agb_"
"""Prefixes of secrets, so that people, scanners and logs recognize a secret."""

SHORTEST_SECRET: Final = 32
"""The shortest length of a secret of a home."""

NEEDED: Final = "this needs a token of the home: Authorization: Bearer TOKEN"


def digest_of(secret: str) -> str:
    """Return the digest under which a secret is stored."""
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class CredentialsEnded(Exception):
    """The token or browser login of a call has ended."""

    def __init__(self) -> None:
        super().__init__("the key that opened this has ended")


class CredentialStore:
    """All credentials of this home's API; the home's own token is created if it is missing.

    Raises OSError.
    """

    def __init__(self, home: Home, clock: Clock, log: Any) -> None:
        self._clock = clock
        self._path = home.human.tokens
        self._home_path = home.system.token
        self._know_home(load_token(self._home_path))
        self._used: dict[str, float] = {}
        self._live: dict[asyncio.Timeout, Principal] = {}
        self._by_digest: dict[str, ApiToken | BrowserLogin] = {}
        self.cookie = f"agiraph_{digest_of(str(home.path))[:8]}"
        self.credentials = Credentials()
        self._use(_read(self._path, clock, log))

    def _know_home(self, secret: str) -> None:
        self._home_secret = secret
        self._home_digest = digest = digest_of(secret)
        self._home = Principal(HOME_TOKEN, "control", digest=digest)

    def keep_home_token(self) -> None:
        """Write the home's own token again if its file is missing, empty or no regular file.

        Raises OSError.
        """
        if is_missing(self._home_path):
            write_private(self._home_path, self._home_secret + "\n")

    def now(self) -> float:
        """Return the time that decides when keys end."""
        return self._clock.now()

    # --- callers ---

    def caller(self, secret: str, *, is_cookie: bool = False) -> Principal:
        """Return the caller that has this token (or this login cookie). Raises ApiError 401."""
        digest = digest_of(secret)
        if digest == self._home_digest and not is_cookie:
            found = self._home
        else:
            key = self._by_digest.get(digest)
            if key is None or isinstance(key, BrowserLogin) != is_cookie:
                raise ApiError(401, NEEDED)
            found = caller_of(key, digest, self._clock.now())
        self._used[found.key] = self._clock.now()
        return found

    def is_secret(self, text: str) -> bool:
        """Whether a text is a token, login cookie or unused code of this home, valid or ended."""
        digest = digest_of(text)
        return (
            digest == self._home_digest
            or digest in self._by_digest
            or any(link.digest == digest for link in self.credentials.links)
        )

    def last_used(self, caller: str) -> float | None:
        """Return when a key was last used (Unix time), None if not since the gateway's start.

        `caller` is a `Principal.key`.
        """
        return self._used.get(caller)

    @asynccontextmanager
    async def while_valid(self, caller: Principal) -> AsyncIterator[None]:
        """Cancel the block when the caller's token or login ends, and raise CredentialsEnded."""
        deadline = asyncio.timeout_at(self._end_of(caller))
        self._live[deadline] = caller
        try:
            async with deadline:
                yield
        except TimeoutError:
            if not deadline.expired():
                raise
            raise CredentialsEnded from None
        finally:
            del self._live[deadline]

    # --- tokens ---

    def add(self, wanted: CreateTokenRequest, by: str, cause: str = "") -> tuple[ApiToken, str]:
        """Create a named token; return the token and its secret, of which only a digest is stored.

        `by` is the name of the creator's token, `cause` identifies the call. Raises ApiError 409.
        """
        now, secret = self._clock.now(), TOKEN_MARK + secrets.token_urlsafe(32)
        token = ApiToken(
            name=wanted.name,
            scope=wanted.scope,
            digest=digest_of(secret),
            created_at=now,
            created_by=by,
            expires_at=now + wanted.expires_in_seconds if wanted.expires_in_seconds else None,
            calls_per_second=wanted.calls_per_second,
            cause=cause,
        )
        self._write(self.credentials.with_token(token, now))
        return token, secret

    def rotate(
        self, name: str, grace_seconds: float, cause: str = ""
    ) -> tuple[ApiToken, str | None]:
        """Replace a token's secret; return the token and its new secret.

        The secret is None for the home's own token: commands read that secret from its file.
        """
        now = self._clock.now()
        if name == HOME_TOKEN:
            self._rotate_home(now, grace_seconds, cause)
            return self.home_entry(), None
        secret = TOKEN_MARK + secrets.token_urlsafe(32)
        self._write(self.credentials.rotated(name, digest_of(secret), now, grace_seconds, cause))
        return self.credentials.token(name, now), secret

    def _rotate_home(self, now: float, grace_seconds: float, cause: str) -> None:
        noted = self.home_entry()
        if cause and noted.cause == cause and noted.old_digest not in ("", self._home_digest):
            return  # this call was carried out already; only its answer was lost
        self._write(self.credentials.home_rotated(self._home_digest, now, grace_seconds, cause))
        self._know_home(renew_token(self._home_path))
        self._cut_off()

    def revoke(self, name: str) -> ApiToken:
        """End a token, and the links and browser logins created with it; return the token."""
        if name == HOME_TOKEN:
            raise ApiError(409, "the home's own token can be rotated, not revoked")
        self._write(self.credentials.revoked(name, self._clock.now()))
        return next(token for token in self.credentials.tokens if token.name == name)

    def tokens(self) -> list[ApiToken]:
        """Return the home's own token and every named token, including recently ended tokens."""
        return [
            self.home_entry(),
            *(one for one in self.credentials.tokens if one.name != HOME_TOKEN),
        ]

    def home_entry(self) -> ApiToken:
        """Return the home's own token as an entry of the credentials."""
        noted = next((one for one in self.credentials.tokens if one.name == HOME_TOKEN), None)
        if noted is not None:
            return noted
        made = status_of(self._home_path)
        made_at = made.st_mtime if made else 0.0
        return ApiToken(
            name=HOME_TOKEN, scope="control", digest="", created_at=made_at, created_by=HOME_TOKEN
        )

    # --- login links and browser logins ---

    def create_login_link(
        self,
        scope: Scope,
        by: str,
        within_seconds: float,
        login_seconds: float,
        user: int | None = None,
    ) -> tuple[LoginLink, str]:
        """Create a one-time login link.

        Return the link and its code, of which a digest is stored.
        """
        code = LINK_MARK + secrets.token_urlsafe(32)
        link = LoginLink(
            digest=digest_of(code),
            scope=scope,
            created_by=by,
            expires_at=self._clock.now() + within_seconds,
            login_seconds=login_seconds,
            user=user,
        )
        self._write(self.credentials.with_link(link))
        return link, code

    def enter(self, code: str, browser: str, user: int | None = None) -> tuple[BrowserLogin, str]:
        """Turn a link's code into a browser login; return it and its secret. Raises ApiError 403.

        `user` is the id of the operating system's user that sends the code, None if unknown.
        """
        secret, id = BROWSER_MARK + secrets.token_urlsafe(32), secrets.token_hex(4)
        now, digests = self._clock.now(), (digest_of(code), id, digest_of(secret))
        self._write(self.credentials.entered(*digests, browser, now, user))
        return self.credentials.login(id), secret

    def logins(self) -> list[BrowserLogin]:
        """Return the browsers that are logged in, oldest first."""
        return list(self.credentials.pruned(self.now()).logins)

    def end_login(self, id: str) -> BrowserLogin:
        """Log a browser out and return its login. Raises ApiError 404."""
        login = self.credentials.login(id)
        self._write(self.credentials.without_login(id))
        return login

    # --- the file ---

    def _write(self, credentials: Credentials) -> None:
        """Write changed credentials to disk, then use them."""
        stored = credentials.pruned(self._clock.now())
        write_private(self._path, stored.model_dump_json(exclude_defaults=True) + "\n")
        self._use(stored)
        self._cut_off()

    def _use(self, credentials: Credentials) -> None:
        self.credentials = credentials
        keys: dict[str, ApiToken | BrowserLogin] = {one.digest: one for one in credentials.logins}
        keys |= {one.old_digest: one for one in credentials.tokens if one.old_digest}
        keys |= {one.digest: one for one in credentials.tokens if one.digest}
        self._by_digest = keys

    def _cut_off(self) -> None:
        """Set the deadline of each open call to the end of its key, which may be now."""
        for deadline, caller in list(self._live.items()):
            if not deadline.expired():
                deadline.reschedule(self._end_of(caller))

    def _end_of(self, caller: Principal) -> float | None:
        """Return the event loop's time at which a caller's key ends, None if it never ends."""
        loop_now, now = asyncio.get_running_loop().time(), self._clock.now()
        if caller.digest == self._home_digest:
            return None
        key = self._by_digest.get(caller.digest)
        try:
            found = caller_of(key, caller.digest, now) if key is not None else None
        except ApiError:
            return loop_now
        if found is None:
            return loop_now
        return None if found.expires_at is None else loop_now + found.expires_at - now


def _read(path: Path, clock: Clock, log: Any) -> Credentials:
    """Return the stored credentials, none if the file is missing. Raises OSError.

    An unreadable file is moved aside, and none are returned.
    """
    data = read_private(path)
    if data is None:
        return Credentials()
    try:
        return Credentials.model_validate_json(data)
    except ValueError as error:
        quarantined = path.with_name(f"{path.name}.corrupt-{int(clock.now())}")
        move(path, quarantined)
        log.error(
            "every named token and browser login is void",
            moved=str(quarantined),
            reason=str(error)[:200],
        )
        return Credentials()


def load_token(path: Path) -> str:
    """Return the home's token, created at the first call; only this user can read its file."""
    token = (read_private(path) or b"").decode("ascii", "replace").strip()
    if len(token) >= TOKEN_BYTES and token.isascii():
        return token
    return renew_token(path)


def renew_token(path: Path) -> str:
    """Write a new home token into the file `path` and return it."""
    token = TOKEN_MARK + secrets.token_urlsafe(TOKEN_BYTES)
    write_private(path, token + "\n")
    return token
