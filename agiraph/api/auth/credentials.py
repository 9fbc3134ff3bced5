"""All keys of a home as one value, with its changes: tokens, login links, browser logins.

Pure: `now` is passed in, secrets come in as digests. An ended key is kept for KEEP_SECONDS, so that
a refusal can give the reason, and is deleted afterwards.
"""

from dataclasses import dataclass, field
from typing import Final

from agiraph.core.clock import iso
from agiraph.core.errors import listed
from agiraph.core.record import Record
from agiraph.http.api.access import (
    HOME_TOKEN,
    SCOPES,
    BrowserLoginFacts,
    Scope,
    TokenFacts,
    TokenStatus,
)
from agiraph.http.errors import ApiError


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. `name` is the token's; `login` the id of a browser's login.

    A browser login has the name of the token that created its link.
    """

    name: str
    scope: Scope
    login: str | None = None
    expires_at: float | None = None
    calls_per_second: float | None = None
    digest: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """The key under which this caller's calls are counted."""
        return f"login {self.login}" if self.login else f"token {self.name}"

    def may(self, needed: Scope) -> bool:
        """Whether this caller's scope covers the needed one."""
        return SCOPES.index(self.scope) >= SCOPES.index(needed)


STRANGER: Final = Principal("", "read")
"""The caller of routes that need no credential."""


KEEP_SECONDS: Final = 30 * 86400.0
MOST_TOKENS: Final = 200
MOST_LOGINS: Final = 200
MOST_LINKS: Final = 20
ROOT: Final = 0


class ApiToken(TokenFacts):
    """A named token. `old_digest` is accepted beside `digest` until `old_until`.

    `cause` is the call that created the secret. If that call is repeated, because the gateway died
    before it answered, its new secret replaces the first one and nothing else changes.
    """

    digest: str
    old_digest: str = ""
    old_until: float = 0.0
    cause: str = ""

    def status(self, now: float) -> TokenStatus:
        """Return the status of this token now."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class LoginLink(Record):
    """An unused one-time link; if `user` is set, only that user may use it."""

    digest: str
    scope: Scope
    created_by: str
    expires_at: float
    login_seconds: float
    user: int | None = None


class BrowserLogin(BrowserLoginFacts):
    """A browser's login with the digest of its secret."""

    digest: str


class Credentials(Record):
    """All credentials of the API, except the home's own token, which has a file of its own.

    The home's token has an entry here only after a rotation, with an empty `digest`: its times and
    the grace period of the old token.
    """

    tokens: tuple[ApiToken, ...] = ()
    links: tuple[LoginLink, ...] = ()
    logins: tuple[BrowserLogin, ...] = ()

    # --- tokens ---

    def token(self, name: str, now: float) -> ApiToken:
        """Return an active token.

        Raises ApiError 404, which lists the active tokens, 409 if it has ended.
        """
        found = next((token for token in self.tokens if token.name == name), None)
        if found is None:
            known = [token.name for token in self.tokens if token.status(now) == "active"]
            names = listed(sorted({HOME_TOKEN, *known}))
            raise ApiError(404, f"there is no token '{name}' (known: {names})")
        if found.status(now) != "active":
            raise ApiError(409, f"{ended(found, now)}: add it again")
        return found

    def with_token(self, token: ApiToken, now: float) -> "Credentials":
        """Return a copy with a further token, in place of an ended one of its name or cause.

        Raises ApiError 409 if that token is active.
        """
        others = tuple(known for known in self.tokens if known.name != token.name)
        if token.name == HOME_TOKEN:
            raise ApiError(409, f"'{HOME_TOKEN}' is the name of the home's own token")
        same = next((known for known in self.tokens if known.name == token.name), None)
        if same is not None and same.status(now) == "active" and not _is_again(same, token.cause):
            raise ApiError(409, f"there is a token '{token.name}' already: rotate or revoke it")
        if len(others) >= MOST_TOKENS:
            raise ApiError(409, f"there are {MOST_TOKENS} tokens already: revoke some")
        return self._with(tokens=(*others, token))

    def rotated(
        self, name: str, digest: str, now: float, grace: float, cause: str
    ) -> "Credentials":
        """Return a copy in which a token has the secret of `digest`.

        The old secret stays valid for `grace` seconds.
        """
        old = self.token(name, now)
        if _is_again(old, cause):
            return self._replaced(old, old.model_copy(update={"digest": digest}))
        new = old.model_copy(
            update={
                "digest": digest,
                "rotated_at": now,
                "old_digest": old.digest if grace else "",
                "old_until": now + grace,
                "cause": cause,
            }
        )
        return self._replaced(old, new)

    def home_rotated(self, old_digest: str, now: float, grace: float, cause: str) -> "Credentials":
        """Return a copy that records a change of the home's own token.

        The old token stays valid for `grace` seconds.
        """
        others = tuple(token for token in self.tokens if token.name != HOME_TOKEN)
        note = ApiToken(
            name=HOME_TOKEN,
            scope="control",
            digest="",
            created_at=now,
            created_by=HOME_TOKEN,
            rotated_at=now,
            old_digest=old_digest if grace else "",
            old_until=now + grace,
            cause=cause,
        )
        return self._with(tokens=(*others, note))

    def revoked(self, name: str, now: float) -> "Credentials":
        """Return a copy in which a token, and the links and logins created with it, have ended.

        A token that was revoked before is not changed.
        """
        if any(one.name == name and one.revoked_at is not None for one in self.tokens):
            return self
        old = self.token(name, now)
        new = old.model_copy(update={"revoked_at": now, "old_digest": ""})
        return self._replaced(old, new)._with(
            links=tuple(one for one in self.links if one.created_by != name),
            logins=tuple(one for one in self.logins if one.created_by != name),
        )

    def _replaced(self, old: ApiToken, new: ApiToken) -> "Credentials":
        return self._with(tokens=tuple(new if one is old else one for one in self.tokens))

    def _with(self, **changes: object) -> "Credentials":
        return self.model_copy(update=changes)

    # --- login links and browser logins ---

    def with_link(self, link: LoginLink) -> "Credentials":
        """Return a copy with a login link; beyond MOST_LINKS the oldest link is removed."""
        return self._with(links=(*self.links, link)[-MOST_LINKS:])

    def entered(
        self,
        code_digest: str,
        login_id: str,
        digest: str,
        browser: str,
        now: float,
        user: int | None = None,
    ) -> "Credentials":
        """Return a copy in which a link has become a browser login.

        Raises ApiError 403 if the link was used or is too old. `user` is the id of the operating
        system's user that sends the code, None if unknown. A link sent by another user stays valid.
        """
        link = next((one for one in self.links if one.digest == code_digest), None)
        if link is None or link.expires_at <= now:
            raise ApiError(
                403, "this login link was used already, is too old, or never was one: make another"
            )
        if link.user is not None and user not in (None, ROOT, link.user):
            raise ApiError(403, f"this login link is for user {link.user} of this machine alone")
        login = BrowserLogin(
            id=login_id,
            digest=digest,
            scope=link.scope,
            created_by=link.created_by,
            created_at=now,
            expires_at=now + link.login_seconds,
            browser=browser,
        )
        return self._with(
            links=tuple(one for one in self.links if one is not link),
            logins=(*self.logins, login)[-MOST_LOGINS:],
        )

    def login(self, id: str) -> BrowserLogin:
        """Return a browser login by its id. Raises ApiError 404, which lists the known ids."""
        found = next((one for one in self.logins if one.id == id), None)
        if found is None:
            known = listed([one.id for one in self.logins])
            raise ApiError(404, f"there is no login '{id}' (known: {known})")
        return found

    def without_login(self, id: str) -> "Credentials":
        """Return a copy without a browser login. Raises ApiError 404."""
        gone = self.login(id)
        return self._with(logins=tuple(one for one in self.logins if one is not gone))

    # --- time ---

    def pruned(self, now: float) -> "Credentials":
        """Return these credentials without keys that ended long ago."""
        return Credentials(
            tokens=tuple(one for one in self.tokens if not _is_long_over(one, now)),
            links=tuple(one for one in self.links if one.expires_at > now),
            logins=tuple(one for one in self.logins if one.expires_at > now),
        )


def _is_again(token: ApiToken, cause: str) -> bool:
    """Whether `cause` is the call that created this token's secret, so the call is a repetition."""
    return bool(cause) and token.cause == cause


def _is_long_over(token: ApiToken, now: float) -> bool:
    over_at = token.revoked_at if token.revoked_at is not None else token.expires_at
    return over_at is not None and over_at + KEEP_SECONDS < now


def ended(token: ApiToken, now: float) -> str:
    """Return a sentence on why and when a token ended, for refusals."""
    if token.revoked_at is not None:
        return f"the token '{token.name}' was revoked at {iso(token.revoked_at)}"
    return f"the token '{token.name}' expired at {iso(token.expires_at or now)}"


def caller_of(key: ApiToken | BrowserLogin, digest: str, now: float) -> Principal:
    """Return the caller that presents a key with this digest.

    Raises ApiError 401 if it has ended.
    """
    if isinstance(key, BrowserLogin):
        if key.expires_at <= now:
            raise ApiError(401, "this login has ended: log in again (agiraph login)")
        return Principal(key.created_by, key.scope, key.id, key.expires_at, digest=digest)
    if key.status(now) != "active":
        raise ApiError(401, ended(key, now))
    end = key.expires_at
    if digest != key.digest:
        if key.old_until <= now:
            raise ApiError(401, f"this is the old token '{key.name}', which was rotated")
        end = min(key.old_until, end) if end is not None else key.old_until
    return Principal(key.name, key.scope, None, end, key.calls_per_second, digest)
