"""Calls about who may come in: tokens, one-time login links, the sessions of browsers."""

from agiraph.api import (
    LoginView,
    NewLogin,
    NewToken,
    NewTokenView,
    RotateToken,
    Scope,
    SessionView,
    TokenView,
    WhoAmI,
)
from agiraph.client.call import Call, Verb, delete, get, part, post


class AccessCalls:
    """What opens the gateway."""

    @Verb
    def whoami(self) -> Call[WhoAmI]:
        """Return by which key this client calls, and what it may do."""
        return get("/whoami", WhoAmI)

    @Verb
    def tokens(self) -> Call[list[TokenView]]:
        """Return the tokens without their secrets, the home's own first."""
        return get("/tokens", list[TokenView])

    @Verb
    def add_token(self, token: NewToken) -> Call[NewTokenView]:
        """Make a token; its secret is in the answer and nowhere else. 409 if the name is taken."""
        return post("/tokens", token, NewTokenView)

    @Verb
    def rotate_token(self, name: str, *, grace_seconds: float = 0) -> Call[NewTokenView]:
        """Give a token another secret at once; the old one opens for `grace_seconds` more.

        The home's own (`home`) is written to its file, and `token` of the answer is None.
        """
        body = RotateToken(grace_seconds=grace_seconds)
        return post(f"/tokens/{part(name)}/rotate", body, NewTokenView)

    @Verb
    def revoke_token(self, name: str) -> Call[TokenView]:
        """End a token at once, and the links and sessions that were made by it."""
        return delete(f"/tokens/{part(name)}", TokenView)

    @Verb
    def begin_login(
        self, *, scope: Scope = "control", session_seconds: float | None = None
    ) -> Call[LoginView]:
        """Make a link by which one browser can log in, once: the gateway's URL and its `path`."""
        return post("/logins", NewLogin(scope=scope, session_seconds=session_seconds), LoginView)

    @Verb
    def sessions(self) -> Call[list[SessionView]]:
        """Return the browsers that are logged in, oldest first."""
        return get("/sessions", list[SessionView])

    @Verb
    def end_session(self, session: str) -> Call[SessionView]:
        """Log a browser out, at once; 404 lists the known sessions."""
        return delete(f"/sessions/{part(session)}", SessionView)
