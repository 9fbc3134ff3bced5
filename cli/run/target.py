"""The target of a run: the supervisor of its home, or one started for the run."""

import contextlib
import errno
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from agiraph.core.errors import AgiraphError, InvalidInput, Unavailable
from agiraph.core.ids import AgentId, agent_id_for
from agiraph.core.titles import title_of
from agiraph.http.discovery import is_held
from agiraph.http.errors import ApiError, NotReachable
from agiraph.http.own_supervisor import OwnSupervisor, SupervisorFailed
from agiraph.storage.disk_space import has_room
from agiraph.storage.home import Home, default_home
from agiraph.storage.home_format import check_format
from agiraph.storage.run_lease import RunLease
from cli.options.remote import chosen_remote, is_elsewhere
from cli.options.shared import connect, settings_of
from cli.run.deliverables import Destination
from cli.run.screen import TerminalScreen
from cli.run.supervisor_share import RETRY_SECONDS, SETTLE_SECONDS, Startup, supervised_client

if TYPE_CHECKING:
    from agiraph.http.api import AgentView
    from agiraph.http.client import Client

TABLES: Final = ("providers.yaml", "prices.yaml", "agents.yaml")
PLAN_LIMIT: Final = 1_000_000
SERVER_ERROR: Final = 500
ENDED: Final = ("completed", "failed")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `agiraph run`, checked as far as possible without a supervisor.

    `terms` are the given fields of the request (`given_terms`). `agent` works on the goal; None
    creates a new agent. Unless `is_attended`, the run continues after the command has ended.
    """

    home: Path
    terms: dict[str, Any]
    agent: str | None
    timeout_seconds: float | None
    as_json: bool
    record: Path | None = None
    model_from: str = "--model"
    is_attended: bool = True
    output: Destination | None = None
    shows_ui: bool = False

    @property
    def model(self) -> str:
        """The model that is called first, '' if the gateway chooses it."""
        return str(self.terms.get("model", ""))

    @property
    def is_new(self) -> bool:
        """Whether there is a goal; otherwise an agent's earlier run is resumed."""
        return "goal" in self.terms

    def agent_id(self, client: "Client") -> AgentId:
        """Return the id of the agent of the run, which may not exist yet."""
        if self.agent is not None:
            return client.agent(self.agent).id
        return agent_id_for(
            self.terms.get("name") or title_of(self.terms["goal"]), self.terms["run"]
        )

    def begin(self, client: "Client") -> "AgentView":
        """Create the agent, or give it a further goal; return it. A repeat is the same run.

        Without a goal the agent's run is resumed.
        """
        if not self.is_new and self.agent is not None:
            if (found := client.agent(self.agent)).status in ENDED:
                raise InvalidInput(f"agent '{found.name}' is {found.status}: nothing to resume")
            client.resume(found.id)
            return client.agent(found.id)
        # Not above: they take longer to import than a supervisor takes to start.
        from agiraph.http.api import CreateAgentRequest, StartRunRequest

        if self.agent is None:
            return client.create_agent(CreateAgentRequest.model_validate(self.terms))
        return client.begin_run(self.agent, StartRunRequest.model_validate(self.terms))


def given_terms(**terms: Any) -> dict[str, Any]:
    """Return the given terms of a run: fields of `CreateAgentRequest` that are not None.

    A mapping, because the record takes longer to import than a supervisor takes to start.
    """
    return {name: value for name, value in terms.items() if value is not None}


def planned_terms(plan: Path | None, planning: str | None, approve_plan: bool) -> dict[str, Any]:
    """Return the terms about the plan. Raises UsageError for an approval without a made plan."""
    if approve_plan and (plan is not None or planning == "dynamic"):
        raise click.UsageError(
            "--approve-plan is for a plan that is made: --planning static or hybrid, without --plan"
        )
    text = _plan_text(plan) if plan else None
    return {"plan": text, "planning": planning, "approve_plan": approve_plan or None}


def _plan_text(plan: Path) -> str:
    if plan.stat().st_size > PLAN_LIMIT:
        raise InvalidInput(f"{plan}: a plan may have at most {PLAN_LIMIT:,} bytes")
    from agiraph.board.plans.plan import parse_plan
    from agiraph.settings.yaml_text import read_text

    text = read_text(plan)
    if not text.strip():
        raise InvalidInput(f"{plan}: the plan is empty")
    parse_plan(text, str(plan))  # so that an error names the file
    return text


@dataclass(slots=True)
class RunTarget:
    """The target of a run: a client, and the supervisor if this command started one."""

    home: Path
    client: "Client"
    own: OwnSupervisor | None
    screen: TerminalScreen
    attendance: RunLease | None = None
    resumed: list[RunLease] = field(default_factory=list)

    @property
    def belongs_to_commands(self) -> bool:
        """Whether the supervisor ends with the last command that uses it."""
        from agiraph.storage.supervisor_note import belongs_to_users

        return self.own is not None or (not is_elsewhere() and belongs_to_users(self.home))

    def begin(self, options: RunOptions) -> "AgentView":
        """Begin the run and return its agent; repeat the request if the gateway dies meanwhile."""
        give_up_at = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                if options.is_attended and self.attendance is None and not is_elsewhere():
                    self.attendance = RunLease(self.home, options.agent_id(self.client))
                    self.attendance.begin()
                return options.begin(self.client)
            except NotReachable:
                self._await_gateway(give_up_at)

    def _await_gateway(self, give_up_at: float) -> None:
        """Reach the gateway of this home again. Raises NotReachable when it does not return."""
        while True:
            try:
                self.reconnect()
                self.client.health()
            except NotReachable:
                if time.monotonic() > give_up_at or not (is_elsewhere() or is_held(self.home)):
                    raise
                time.sleep(RETRY_SECONDS)
                continue
            return

    def reconnect(self) -> None:
        """Make a new client after the gateway has moved. Raises NotReachable, SupervisorFailed."""
        if self.own is not None and self.own.has_ended():
            last = self.own.last_lines().rpartition("\n")[2]
            raise SupervisorFailed(f"the supervisor exited during the run: {last}")
        client = connect(self.home, patience_seconds=0)
        self.client.close()
        self.client = client

    def stop_agent(self, agent: str) -> bool:
        """Stop an agent, so that no later supervisor resumes it; return whether it is stopped."""
        try:
            self.client.stop(agent)
        except AgiraphError as error:
            click.echo(f"agiraph: {agent} could not be stopped: {error}", err=True)
            return False
        return True

    def dismiss(self, agent: str) -> None:
        """Stop an agent that has no further work, so that later runs do not mention it."""
        if self.stop_agent(agent):
            self.detach()

    def say_detached(self, agent: "AgentView") -> None:
        """Print that a team continues without this command, and how to return to it."""
        on = " while a command uses this home" if self.belongs_to_commands else ""
        self.screen.note(f"detached; {agent.name} goes on{on}. Watch it again, or stop it:")
        self.screen.note(f"  agiraph attach {agent.id}\n  agiraph stop {agent.id}")

    def detach(self) -> None:
        """Let the agent continue, or keep its state, without this command: it is not unfinished."""
        if self.attendance is not None:
            self.attendance.detach()
            self.attendance = None

    def leave(self) -> None:
        """Stop attending all agents; the supervisor then treats their commands as ended."""
        for lease in filter(None, (self.attendance, *self.resumed)):
            lease.end()


@contextlib.contextmanager
def supervised(options: RunOptions, screen: TerminalScreen) -> Iterator[RunTarget]:
    """Yield a target on the supervisor of this home, or on one started for the block."""
    startup = Startup(
        check=partial(_check_start, options),
        status=screen.status,
        note=screen.note,
        meanwhile=_import_the_rest,
    )
    try:
        with supervised_client(options.home, startup) as (client, own):
            send_input(options, client, screen)
            target = RunTarget(options.home, client, own, screen)
            try:
                yield target
            finally:
                target.leave()
    except (Unavailable, ApiError) as error:
        is_our_fault = isinstance(error, ApiError) and error.status < SERVER_ERROR
        if not is_our_fault and _is_full(options.home):
            raise _full_disk(options.home) from error
        raise


def send_input(options: RunOptions, client: "Client", screen: TerminalScreen) -> None:
    """Upload the input folder to the home's machine, if that is another machine."""
    if is_elsewhere() and "input" in options.terms:
        from cli.run.input_upload import upload_input

        folder = Path(options.terms["input"])
        options.terms["input"] = upload_input(client, folder, screen.status, screen.note)


def _is_full(home: Path) -> bool:
    """Whether the disk under this home has no room left."""
    return not has_room(next(folder for folder in (home, *home.parents) if folder.is_dir()))


def _full_disk(home: Path) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(home))


def _import_the_rest() -> None:
    """Import the modules that the run needs once its supervisor is ready."""
    for module in ("agiraph.http.client.sync", "httpcore", "cli.run.watch", "cli.run.outcome"):
        import_module(module)


def _check_start(options: RunOptions) -> None:
    """Raise the errors that would prevent the start of a supervisor on this home.

    Raises InvalidInput for settings or a missing model, OtherFormat for a home of another format,
    OSError for a full disk.
    """
    check_format(Home(options.home))
    if _is_full(options.home):
        raise _full_disk(options.home)
    from agiraph.settings.yaml_text import is_absent, present

    own = Home(options.home).config
    if not is_absent(own):
        from agiraph.settings.config import load_config

        load_config(own)
    if tables := present(*(options.home / name for name in TABLES)):
        from agiraph.models.registry import read_table

        for table in tables:
            read_table(table)
    is_of_roles = "roles" in options.terms  # they may name models
    if not (options.model or is_of_roles) and options.agent is None and options.is_new:
        default_model(options.home)


def default_model(home: Path) -> str:
    """Return the model of a goal that names none. Raises InvalidInput if there is none."""
    from agiraph.models.registry import load_presets, pick_default

    presets = load_presets(home / "providers.yaml")
    default, why = pick_default(settings_of(home), presets, os.environ)
    if default is None:
        raise InvalidInput(why)
    return default


def home_option_of(home: Path) -> str:
    """Return the option that names a home, to print in commands; '' for the default home."""
    if (remote := chosen_remote()) is not None:
        return f" --url {shlex.quote(remote.label)}"
    return "" if home == default_home() else f" --home {shlex.quote(str(home))}"
