"""Calls for processes, hosts, models, spending, settings, tokens and browser logins."""

from collections.abc import Sequence

from agiraph.core.hosts import HostAct
from agiraph.core.turns import UsageGroup
from agiraph.http import api
from agiraph.http.client.call import LONG_SECONDS, ApiCall, ApiMethod, call, reader, segment

SERVERS_SECONDS = 180.0


class SystemCalls:
    """The processes of a home, their cost, and the access to its API."""

    @call("GET /health")
    def health(self) -> api.HealthView:
        """Return version, home, pid, and the numbers of agents and of open questions."""

    @call("GET /changes")
    def home(self) -> api.HomeView:
        """Return the state of the home: cursors of logs, unread messages, open questions."""

    @call("GET /overview", names={"agents": "agent"})
    def overview(self, *, agents: Sequence[str] = ()) -> list[api.TeamView]:
        """Return all agents, or the named agents, each with its workers, oldest first."""

    @call("GET /entities")
    def entities(self) -> list[api.EntityView]:
        """Return every entity: the system's processes first, then agents and their workers."""

    @call("POST /entities/{entity:path}/{act}", seconds=LONG_SECONDS)
    def act(self, entity: str, act: api.EntityAct) -> api.SteeredView:
        """Pause, step, resume, interrupt, restart, stop or kill one entity by address or name.

        An agent's id or name means its coordinator and all its workers. 404 lists the known
        entities.
        """

    @call("POST /entities/{entity:path}/move", body=api.MoveEntityRequest, seconds=LONG_SECONDS)
    def move(self, entity: str, *, host: str | None = None) -> api.MovedEntityView:
        """Move a worker to a host, to `home` or to any suitable host; return once it runs there."""

    @call("GET /hosts")
    def hosts(self) -> api.HostsView:
        """Return the other hosts of the home, by name."""

    @call("POST /hosts/invitations")
    def invite_host(self, invitation: api.InviteHostRequest) -> api.InvitationView:
        """Create an invitation for one other machine; its line is a secret, shown only here."""

    @call("POST /hosts/{host}/{act}", seconds=LONG_SECONDS)
    def steer_host(self, host: str, act: HostAct) -> api.HostsView:
        """Cordon, uncordon or drain a host; 404 lists the known hosts."""

    @call("POST /hosts/{host}/labels")
    def label_host(self, host: str, labels: api.LabelHostRequest) -> api.HostsView:
        """Replace the labels that a person has given a host."""

    @call("DELETE /hosts/{host}", seconds=LONG_SECONDS)
    def remove_host(self, host: str, *, force: bool = False) -> api.HostsView:
        """Drain a host and refuse its key; with `force` also if work there cannot move."""

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
        """Return the providers with the reasons why some are unusable, and the default model."""

    @call("GET /outside", seconds=LONG_SECONDS)
    def external_agents(self) -> list[api.ExternalAgentView]:
        """Return the external agents that can be workers, and whether each is installed there."""

    @call("GET /servers", seconds=SERVERS_SECONDS)
    def servers(self, *, afresh: bool = False) -> list[api.ToolServerView]:
        """Return the MCP servers with their tools and the entities that may use them.

        These are the stored lists; `afresh` queries the servers now, and so starts stopped servers.
        """

    @call("GET /usage")
    def usage(
        self, *, agent: str | None = None, run: str | None = None, by: UsageGroup = "entity"
    ) -> api.UsageView:
        """Return tokens and cost of one agent's current run (`run`: of another), or of everything.

        `run="*"` means all runs of the agent. Rows are grouped by entity, agent, node, stage, run,
        model, day (UTC) or trigger.
        """

    @call("GET /settings")
    def settings(self) -> list[api.SettingsFileView]:
        """Return the settings files of the home, with the problems of each."""

    @call("GET /settings/{file}")
    def settings_file(self, file: str) -> api.SettingsContentView:
        """Return a settings file's contents, the values in force, and its JSON Schema."""

    @call("POST /settings/{file}/check", is_repeatable=True)
    def check_settings(self, file: str, edit: api.EditSettingsRequest) -> api.SettingsCheckView:
        """Return the effect of a change on a settings file and its problems."""

    @ApiMethod
    def save_settings(
        self, file: str, edit: api.EditSettingsRequest, *, etag: str = ""
    ) -> ApiCall[api.SavedSettingsView]:
        """Change a settings file whose `etag` is known.

        Raises ApiError 412 if it was changed meanwhile. 422 lists its problems; then nothing is
        written.
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
        """Return the report of `agiraph doctor`, made within the last seconds or `afresh`."""

    @call("GET /whoami")
    def whoami(self) -> api.WhoAmIView:
        """Return the credential of this client and its scope."""

    @call("GET /tokens")
    def tokens(self) -> list[api.TokenView]:
        """Return the tokens without their secrets, the home's own first."""

    @call("POST /tokens")
    def add_token(self, token: api.CreateTokenRequest) -> api.NewTokenView:
        """Create a token; its secret is only in this answer. 409 if the name is taken."""

    @call("POST /tokens/{name}/rotate", body=api.RotateTokenRequest)
    def rotate_token(self, name: str, *, grace_seconds: float = 0) -> api.NewTokenView:
        """Give a token another secret at once; the old one stays valid for `grace_seconds` more.

        The home's own (`home`) is written to its file, and `token` of the answer is None.
        """

    @call("DELETE /tokens/{name}")
    def revoke_token(self, name: str) -> api.TokenView:
        """End a token at once, and the links and browser logins that it created."""

    @call("GET /audit", seconds=LONG_SECONDS)
    def audit(self, *, limit: int = 100, refused: bool = False) -> list[api.AuditedCallView]:
        """Return the last calls of this API, oldest first; with `refused` only refused calls."""

    @call("POST /login-links", body=api.CreateLoginLinkRequest)
    def create_login_link(
        self,
        *,
        scope: api.Scope = "control",
        login_seconds: float | None = None,
        next: str = "/ui/",
        user: int | None = None,
    ) -> api.LoginLinkView:
        """Create a link by which one browser can log in, once: the gateway's URL and its `path`.

        It leads to the page `next` of the web UI. With `user`, only a browser of that user of the
        gateway's machine can use it.
        """

    @call("GET /logins")
    def logins(self) -> list[api.BrowserLoginView]:
        """Return the browsers that are logged in, oldest first."""

    @call("DELETE /logins/{login}")
    def end_login(self, login: str) -> api.BrowserLoginView:
        """Log a browser out, at once; 404 lists the known ids."""
