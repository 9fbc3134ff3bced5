"""Calls about who may come in: tokens, one-time login links, the sessions of browsers."""

from agiraph.http.api import (
    CreateLoginRequest,
    CreateTokenRequest,
    LoginView,
    NewTokenView,
    RotateTokenRequest,
    Scope,
    SessionView,
    TokenView,
    WhoAmIView,
)
from agiraph.http.client.call import ApiCall, ApiMethod, delete, get, part, post


class AccessCalls:
    """What opens the gateway."""

    @ApiMethod
    def whoami(self) -> ApiCall[WhoAmIView]:
        """Return by which key this client calls, and what it may do."""
        return get("/whoami", WhoAmIView)

    @ApiMethod
    def tokens(self) -> ApiCall[list[TokenView]]:
        """Return the tokens without their secrets, the home's own first."""
        return get("/tokens", list[TokenView])

    @ApiMethod
    def add_token(self, token: CreateTokenRequest) -> ApiCall[NewTokenView]:
        """Make a token; its secret is in the answer and nowhere else. 409 if the name is taken."""
        return post("/tokens", token, NewTokenView)

    @ApiMethod
    def rotate_token(self, name: str, *, grace_seconds: float = 0) -> ApiCall[NewTokenView]:
        """Give a token another secret at once; the old one opens for `grace_seconds` more.

        The home's own (`home`) is written to its file, and `token` of the answer is None.
        """
        body = RotateTokenRequest(grace_seconds=grace_seconds)
        return post(f"/tokens/{part(name)}/rotate", body, NewTokenView)

    @ApiMethod
    def revoke_token(self, name: str) -> ApiCall[TokenView]:
        """End a token at once, and the links and sessions that were made by it."""
        return delete(f"/tokens/{part(name)}", TokenView)

    @ApiMethod
    def begin_login(
        self, *, scope: Scope = "control", session_seconds: float | None = None
    ) -> ApiCall[LoginView]:
        """Make a link by which one browser can log in, once: the gateway's URL and its `path`."""
        return post(
            "/logins", CreateLoginRequest(scope=scope, session_seconds=session_seconds), LoginView
        )

    @ApiMethod
    def sessions(self) -> ApiCall[list[SessionView]]:
        """Return the browsers that are logged in, oldest first."""
        return get("/sessions", list[SessionView])

    @ApiMethod
    def end_session(self, session: str) -> ApiCall[SessionView]:
        """Log a browser out, at once; 404 lists the known sessions."""
        return delete(f"/sessions/{part(session)}", SessionView)
