"""Access to the API: tokens with their scopes, one-time login links, browser logins."""

import re
from typing import Annotated, Final, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from agiraph.core.record import Record
from agiraph.http.api.base import ApiRequest, ApiView

Scope = Literal["read", "talk", "control"]
"""The permissions of a key: read; also talk with a team; everything."""

TokenStatus = Literal["active", "expired", "revoked"]

SCOPES: tuple[Scope, ...] = ("read", "talk", "control")

HOME_TOKEN = "home"
"""The name of the token that the commands on this machine use."""

YEAR_SECONDS = 366 * 86400.0
Seconds = Annotated[float, Field(gt=0, le=10 * YEAR_SECONDS)]
UI_PATH: Final = "/ui/"
"""Path prefix of the web UI's pages."""

_UI_PAGE: Final = re.compile(r"/ui/[!#-;=?-\[\]_a-z~]{0,1000}")


def is_ui_page(text: str) -> bool:
    """Whether a text is a path (with query) of the web UI that leads nowhere else in a browser."""
    path = unquote(text.partition("?")[0])
    return bool(_UI_PAGE.fullmatch(text)) and not {".", ".."} & set(re.split(r"[/\\]", path))


def _checked_page(text: str) -> str:
    if not is_ui_page(text):
        raise ValueError("must be a path of the web UI, such as /ui/agents/survey-3fa9c1")
    return text


UiPage = Annotated[str, AfterValidator(_checked_page)]
TokenName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]


class CreateTokenRequest(ApiRequest):
    """A token to create. `calls_per_second` lowers its rate limit below that of the settings."""

    name: TokenName
    scope: Scope = "read"
    expires_in_seconds: Seconds | None = None
    calls_per_second: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class RotateTokenRequest(ApiRequest):
    """How long the old token stays valid beside the new one."""

    grace_seconds: Annotated[float, Field(ge=0, le=7 * 86400.0)] = 0


class TokenFacts(Record):
    """The facts about a token, without its secret."""

    name: str
    scope: Scope
    created_at: float
    created_by: str
    expires_at: float | None = None
    rotated_at: float | None = None
    revoked_at: float | None = None
    calls_per_second: float | None = None


class TokenView(TokenFacts, ApiView):
    """One token, without its secret."""

    status: TokenStatus
    last_used_at: float | None = None


class NewTokenView(TokenView):
    """A token with its secret, which is shown only once; null for the home's own."""

    token: str | None = None


class CreateLoginLinkRequest(ApiRequest):
    """A one-time link to create: the scope and duration of the login, and its first page.

    `user` is the only user of the gateway's machine whose browser may use it (a user id); None: any
    user.
    """

    scope: Scope = "control"
    login_seconds: Seconds | None = None
    next: UiPage = UI_PATH
    user: int | None = Field(default=None, ge=0)


class LoginLinkView(ApiView):
    """A one-time link. `path` is its part after the gateway's address, code included."""

    path: str
    scope: Scope
    expires_at: float
    login_seconds: float


class BrowserLoginFacts(Record):
    """A browser that is logged in; `created_by` is the token that created its login link."""

    id: str
    scope: Scope
    created_by: str
    created_at: float
    expires_at: float
    browser: str = ""


class BrowserLoginView(BrowserLoginFacts, ApiView):
    """A browser that has logged in by a link."""

    last_used_at: float | None = None


class AuditedCallView(ApiView):
    """One call of the API, or one refusal at the uplink (`method` UPLINK), from the audit log.

    `status` is null for a call that has not ended, `ms` is its duration.
    """

    ts: float
    id: str
    who: str | None = None
    login: str | None = None
    method: str
    path: str
    client: str = ""
    status: int | None = None
    ms: float | None = None
    reason: str = ""
    held_back: int = 0


class WhoAmIView(ApiView):
    """The caller's credential: a token's name, or a login's id and the creator of its link."""

    name: str
    scope: Scope
    login: str | None = None
    expires_at: float | None = None
