"""Calls about processes, models, money, tokens and sessions."""

from collections.abc import Sequence

from agiraph.core.hosts import HostAct
from agiraph.core.turns import UsageGroup
from agiraph.http import api
from agiraph.http.client.call import LONG_SECONDS, ApiCall, ApiMethod, call, reader, segment

SERVERS_SECONDS = 180.0


class SystemCalls:
    """The processes of a home, what they cost, and who may use its API."""

    @call("GET /health")
    def health(self) -> api.HealthView:
        """Return who answers: version, home, pid, number of agents and of open questions."""

    @call("GET /changes")
    def home(self) -> api.HomeView:
        """Return where everything in the home is: cursors of logs, unread messages, questions."""

    @call("GET /overview", names={"agents": "agent"})
    def overview(self, *, agents: Sequence[str] = ()) -> list[api.TeamView]:
        """Return all agents, or these, each with its workers, oldest first."""

    @call("GET /entities")
    def entities(self) -> list[api.EntityView]:
        """Return every entity: the system's processes first, then agents and their workers."""

    @call("POST /entities/{entity:path}/{act}", seconds=LONG_SECONDS)
    def act(self, entity: str, act: api.EntityAct) -> api.SteeredView:
        """Pause, step, resume, interrupt, restart, stop or kill one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known.
        """

    @call("POST /entities/{entity:path}/move", body=api.MoveEntityRequest, seconds=LONG_SECONDS)
    def move(self, entity: str, *, host: str | None = None) -> api.MovedEntityView:
        """Move a worker to a host, to `home` or to whichever suits; return once it runs there."""

    @call("GET /hosts")
    def hosts(self) -> api.HostsView:
        """Return the other machines of the home, by name."""

    @call("POST /hosts/invitations")
    def invite_host(self, invitation: api.InviteHostRequest) -> api.InvitationView:
        """Make an invitation for one other machine; its line is a secret, shown only here."""

    @call("POST /hosts/{host}/{act}", seconds=LONG_SECONDS)
    def steer_host(self, host: str, act: HostAct) -> api.HostsView:
        """Cordon, uncordon or drain a host; 404 lists the known."""

    @call("POST /hosts/{host}/labels")
    def label_host(self, host: str, labels: api.LabelHostRequest) -> api.HostsView:
        """Replace the labels that a person has given a host."""

    @call("DELETE /hosts/{host}", seconds=LONG_SECONDS)
    def remove_host(self, host: str, *, force: bool = False) -> api.HostsView:
        """Drain a host and refuse its key from then on; by `force` whatever runs there."""

    @call("POST /consoles")
    def attach_console(self) -> api.ConsoleTicketView:
        """Return a ticket with which a console process may join the bus."""

    @call("GET /logs", seconds=LONG_SECONDS)
    def logs(
        self,
        entity: str = "",
        *,
        level: api.LogLevel = "debug",
        since: float = 0.0,
        limit: int = 200,
    ) -> list[api.LogLineView]:
        """Return the last lines of the logs of an entity's processes, or of all, oldest first."""

    @call("GET /models")
    def models(self) -> api.ModelsView:
        """Return the providers, which of them are usable and why not, and the default model."""

    @call("GET /outside", seconds=LONG_SECONDS)
    def external_agents(self) -> list[api.ExternalAgentView]:
        """Return the external agents that can be workers, and which of them are installed there."""

    @call("GET /servers", seconds=SERVERS_SECONDS)
    def servers(self, *, afresh: bool = False) -> list[api.ToolServerView]:
        """Return the MCP servers with what each offers and who may use it.

        As last found out; `afresh` asks them now, and so starts those that do not run.
        """

    @call("GET /usage")
    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageGroup = "entity"
    ) -> api.UsageView:
        """Return tokens and money, of one agent's current run (`run`: of another) or of everything.

        `run="*"` is all runs of the agent. The rows are of an entity, agent, node, stage, run,
        model, day (of UTC) or trigger.
        """

    @call("GET /settings")
    def settings(self) -> list[api.SettingsFileView]:
        """Return the settings files of the home, with what is wrong with each."""

    @call("GET /settings/{file}")
    def settings_file(self, file: str) -> api.SettingsContentView:
        """Return what a settings file holds, which values are in force, and its JSON Schema."""

    @call("POST /settings/{file}/check", is_repeatable=True)
    def check_settings(self, file: str, edit: api.EditSettingsRequest) -> api.SettingsCheckView:
        """Return what a change would make of a settings file, and what is wrong with that."""

    @ApiMethod
    def save_settings(
        self, file: str, edit: api.EditSettingsRequest, *, etag: str = ""
    ) -> ApiCall[api.SavedSettingsView]:
        """Change a settings file whose `etag` is known; ApiError 412 if it is another by now.

        422 says what is wrong with it; then nothing is written.
        """
        return ApiCall(
            "PUT",
            f"/settings/{segment(file)}",
            reader(api.SavedSettingsView),
            body=edit,
            headers={"If-Match": f'"{etag}"'},
        )

    @call("GET /doctor", seconds=LONG_SECONDS)
    def doctor(self, *, afresh: bool = False) -> api.DoctorView:
        """Return what `agiraph doctor` says, checked within the last seconds or `afresh`."""

    @call("GET /whoami")
    def whoami(self) -> api.WhoAmIView:
        """Return by which key this client calls, and what it may do."""

    @call("GET /tokens")
    def tokens(self) -> list[api.TokenView]:
        """Return the tokens without their secrets, the home's own first."""

    @call("POST /tokens")
    def add_token(self, token: api.CreateTokenRequest) -> api.NewTokenView:
        """Make a token; its secret is in the answer and nowhere else. 409 if the name is taken."""

    @call("POST /tokens/{name}/rotate", body=api.RotateTokenRequest)
    def rotate_token(self, name: str, *, grace_seconds: float = 0) -> api.NewTokenView:
        """Give a token another secret at once; the old one opens for `grace_seconds` more.

        The home's own (`home`) is written to its file, and `token` of the answer is None.
        """

    @call("DELETE /tokens/{name}")
    def revoke_token(self, name: str) -> api.TokenView:
        """End a token at once, and the links and sessions that were made by it."""

    @call("GET /audit", seconds=LONG_SECONDS)
    def audit(self, *, limit: int = 100, refused: bool = False) -> list[api.AuditedCallView]:
        """Return the last calls of this API, oldest first; with `refused` only those it refused."""

    @call("POST /logins", body=api.CreateLoginRequest)
    def begin_login(
        self,
        *,
        scope: api.Scope = "control",
        session_seconds: float | None = None,
        next: str = "/ui/",
        user: int | None = None,
    ) -> api.LoginView:
        """Make a link by which one browser can log in, once: the gateway's URL and its `path`.

        It leads to the page `next` of the web UI. With `user`, only a browser of that user of the
        gateway's machine can use it.
        """

    @call("GET /sessions")
    def sessions(self) -> list[api.SessionView]:
        """Return the browsers that are logged in, oldest first."""

    @call("DELETE /sessions/{session}")
    def end_session(self, session: str) -> api.SessionView:
        """Log a browser out, at once; 404 lists the known sessions."""
