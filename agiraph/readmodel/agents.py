"""AgentDirectory: the agents of a home, read from their records, found by id or by name."""

from pathlib import Path

from pydantic import ValidationError

from agiraph.board.failure_class import class_of
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.core.record import misfit_in_words
from agiraph.http.api import AgentView, ApiError
from agiraph.logs.event_log import EventLog
from agiraph.logs.log import logger
from agiraph.readmodel.names import meant
from agiraph.storage.agent_folders import AgentFolders
from agiraph.storage.files import entries, make_folder, move, read_bytes, status_of
from agiraph.storage.home import AgentHome, Home, RunHome
from agiraph.storage.walk import UnsafeFile

ARCHIVE = ".archive"

Stamp = tuple[int, int]


class AgentDirectory:
    """Finds agents by reading `agents/*/agent.json`, which their coordinators replace as a whole.

    With `folder`, the agents in that folder, which `where` names in errors. Names that people type
    are compared with existing names and never become part of a path.
    """

    def __init__(self, home: Home, folder: Path | None = None, where: str = "") -> None:
        self._folder = folder or home.agents
        self._where = where
        self._log = logger()
        self._folders = AgentFolders(self._folder, self._log)
        self._reported: set[Path] = set()
        self._read: dict[Path, tuple[Stamp, Agent]] = {}
        self._logs: dict[AgentId, EventLog] = {}

    def all(self) -> list[Agent]:
        """Return every agent that has started, oldest first, without damaged ones."""
        homes = (self._home(name) for name in self._folders.names())
        found = [agent for home in homes if (agent := self._load_whole(home)) is not None]
        return sorted(found, key=lambda agent: (agent.created_at, agent.id))

    def get(self, id: AgentId | str) -> Agent | None:
        """Return the agent with exactly this id, None if it is missing or its record is damaged."""
        return self._load_whole(self._home(id)) if _may_be_a_name(id) else None

    def find(self, named: str) -> Agent:
        """Return the agent with this id or name, or the only one whose id or name begins with it.

        Raises ApiError 404 or, for several, 409; 500 if its record is damaged.
        """
        exact = self._load(self._home(named)) if _may_be_a_name(named) else None
        if exact is not None:
            return exact
        agents = {str(agent.id): agent for agent in self.all()}
        names = [(str(name), id) for id, agent in agents.items() for name in (agent.name, id)]
        names += [(path.name, path.name) for path in self._reported if path.name not in agents]
        known = [f"{agent.name} ({id})" for id, agent in agents.items()]
        id = meant(f"agent{self._where}", named, names, known=known)
        if (found := agents.get(id) or self._load(self._home(id))) is None:
            raise ApiError(404, f"unknown agent '{named}'")  # it was damaged, and is gone
        return found

    def home_of(self, agent: Agent) -> AgentHome:
        """Return the folder of an agent."""
        return self._home(agent.id)

    def events_of(self, agent: Agent) -> EventLog:
        """Return the reader of an agent's event log."""
        if agent.id not in self._logs:
            self._logs[agent.id] = EventLog(self.home_of(agent).events)
        return self._logs[agent.id]

    def run_of(self, agent: Agent, run: str | None = None) -> RunHome | None:
        """Return the folder of an agent's current run (None before its first), or of a given run.

        Raises ApiError 404 that lists the known runs.
        """
        if run is None:
            return self._home(agent.id).run(agent.run) if agent.run else None
        known = self.runs_of(agent)
        found = meant(f"run of '{agent.name}'", run, zip(known, known, strict=True))
        return self._home(agent.id).run(found)

    def runs_of(self, agent: Agent) -> list[str]:
        """Return the ids of an agent's runs, oldest first: they sort by time."""
        try:
            found = entries(self.home_of(agent).runs)
        except (FileNotFoundError, UnsafeFile):
            return []
        return [one.name for one in found if one.kind == "folder" and not one.name.startswith(".")]

    def archive(self, agent: Agent) -> Path:
        """Move an agent whose processes are all down to the archive; return its folder there."""
        archived = self._folder / ARCHIVE / agent.id
        make_folder(archived.parent, 0o700)
        move(self.home_of(agent).path, archived)
        self._logs.pop(agent.id, None)
        return archived

    def _home(self, id: str) -> AgentHome:
        return AgentHome(self._folder / id)

    def _load_whole(self, home: AgentHome) -> Agent | None:
        try:
            return self._load(home)
        except ApiError as error:
            if home.path not in self._reported:
                self._reported.add(home.path)
                self._log.warning("an agent is skipped", agent=home.path.name, reason=str(error))
            return None

    def _load(self, home: AgentHome) -> Agent | None:
        """Return the agent of a folder, None until its coordinator has written its record."""
        try:
            status = status_of(home.record)
            if status is None:
                return None
            stamp = (status.st_mtime_ns, status.st_ino)
            known = self._read.get(home.path)
            if known is not None and known[0] == stamp:
                return known[1]
            agent = Agent.model_validate_json(read_bytes(home.record))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ApiError(500, f"{home.record} cannot be read: {error}") from error
        except ValueError as error:
            wrong = (
                misfit_in_words(error.errors()[0]) if isinstance(error, ValidationError) else error
            )
            raise ApiError(500, f"{home.record} is damaged: {wrong}") from error
        if agent.id != home.path.name:
            raise ApiError(500, f"{home.record} holds another agent, '{agent.id}'")
        self._read[home.path] = (stamp, agent)
        return agent


def _may_be_a_name(id: str) -> bool:
    """Whether a text can be the name of an agent's folder: no path and not hidden."""
    return bool(id) and not id.startswith(".") and "/" not in id and "\0" not in id


def agent_summary(agent: Agent, status: str, **shown: object) -> AgentView:
    """Return the view of an agent for listings; `status` is as `StatusReader.agent` returns.

    `shown` are the fields of the view that are not in its record.
    """
    failed = class_of(status, agent.reason)
    of_run = {
        "status": status,
        "failure_class": failed,
        "has_roles": agent.roles is not None,
    }
    return AgentView.model_validate(dict(agent) | of_run | shown)
