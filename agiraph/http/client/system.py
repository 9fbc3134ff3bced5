"""Calls about processes, models, money, tokens and sessions."""

from dataclasses import replace

from agiraph.core.turns import UsageGroup
from agiraph.http import api
from agiraph.http.client.call import (
    LONG_SECONDS,
    ApiCall,
    ApiMethod,
    delete,
    get,
    post,
    segment,
    segments,
)

SERVERS_SECONDS = 180.0


class SystemCalls:
    """The processes of a home, what they cost, and who may use its API."""

    @ApiMethod
    def health(self) -> ApiCall[api.HealthView]:
        """Return who answers: version, home, pid, number of agents and of open questions."""
        return get("/health", api.HealthView)

    @ApiMethod
    def entities(self) -> ApiCall[list[api.EntityView]]:
        """Return every entity: the system's processes first, then agents and their workers."""
        return get("/entities", list[api.EntityView])

    @ApiMethod
    def act(self, entity: str, act: api.EntityAct) -> ApiCall[api.SteeredView]:
        """Stop, kill, restart, pause or resume one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known.
        """
        path = "/".join(["/entities", *segments(entity), act])
        return post(path, api.SteeredView, timeout_seconds=LONG_SECONDS)

    @ApiMethod
    def attach_console(self) -> ApiCall[api.ConsoleTicketView]:
        """Return a ticket with which a console process may join the bus."""
        return post("/consoles", api.ConsoleTicketView)

    @ApiMethod
    def models(self) -> ApiCall[api.ModelsView]:
        """Return the providers, which of them are usable and why not, and the default model."""
        return get("/models", api.ModelsView)

    @ApiMethod
    def servers(self, *, afresh: bool = False) -> ApiCall[list[api.ToolServerView]]:
        """Return the MCP servers with what each offers and who may use it.

        As last found out; `afresh` asks them now, and so starts those that do not run.
        """
        call = get("/servers", list[api.ToolServerView], afresh=afresh or None)
        return replace(call, timeout_seconds=SERVERS_SECONDS) if afresh else call

    @ApiMethod
    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageGroup = "entity"
    ) -> ApiCall[api.UsageView]:
        """Return tokens and money, of one agent's current run (`run`: of another) or of everything.

        `run="*"` is all runs of the agent. The rows are of an entity, node, stage,
        model, day (of UTC) or trigger.
        """
        return get("/usage", api.UsageView, agent=agent, run=run, by=by)

    @ApiMethod
    def whoami(self) -> ApiCall[api.WhoAmIView]:
        """Return by which key this client calls, and what it may do."""
        return get("/whoami", api.WhoAmIView)

    @ApiMethod
    def tokens(self) -> ApiCall[list[api.TokenView]]:
        """Return the tokens without their secrets, the home's own first."""
        return get("/tokens", list[api.TokenView])

    @ApiMethod
    def add_token(self, token: api.CreateTokenRequest) -> ApiCall[api.NewTokenView]:
        """Make a token; its secret is in the answer and nowhere else. 409 if the name is taken."""
        return post("/tokens", api.NewTokenView, token)

    @ApiMethod
    def rotate_token(self, name: str, *, grace_seconds: float = 0) -> ApiCall[api.NewTokenView]:
        """Give a token another secret at once; the old one opens for `grace_seconds` more.

        The home's own (`home`) is written to its file, and `token` of the answer is None.
        """
        body = api.RotateTokenRequest(grace_seconds=grace_seconds)
        return post(f"/tokens/{segment(name)}/rotate", api.NewTokenView, body)

    @ApiMethod
    def revoke_token(self, name: str) -> ApiCall[api.TokenView]:
        """End a token at once, and the links and sessions that were made by it."""
        return delete(f"/tokens/{segment(name)}", api.TokenView)

    @ApiMethod
    def begin_login(
        self, *, scope: api.Scope = "control", session_seconds: float | None = None
    ) -> ApiCall[api.LoginView]:
        """Make a link by which one browser can log in, once: the gateway's URL and its `path`."""
        body = api.CreateLoginRequest(scope=scope, session_seconds=session_seconds)
        return post("/logins", api.LoginView, body)

    @ApiMethod
    def sessions(self) -> ApiCall[list[api.SessionView]]:
        """Return the browsers that are logged in, oldest first."""
        return get("/sessions", list[api.SessionView])

    @ApiMethod
    def end_session(self, session: str) -> ApiCall[api.SessionView]:
        """Log a browser out, at once; 404 lists the known sessions."""
        return delete(f"/sessions/{segment(session)}", api.SessionView)
