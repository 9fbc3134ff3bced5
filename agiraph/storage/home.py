"""The layout of a home: the path of every file of an agent, a run, a node and a worker.

    {home}/agents/{agent}/          agent.json SOUL.md GOAL.md MEMORY.md memory/ conversation.jsonl
                                    events.jsonl events.segments/ triggers.json snapshots/
                                    memory-history/ .memory.lock
      runs/{run}/                   _plan.md _output.md _messages/ _attachments/ _shared_values.json
                                    _plan.yaml results/ shared/
                                    journal.jsonl shared_values.jsonl
        nodes/{name}/               _spec.md _refs.json _status.md scratch/ published/ log.jsonl
                                    _evidence.json attempts/
        workers/{name}-{id}/        identity.md memory.md notebook.md history.json
                                    conversation.jsonl
      repositories/{run}.git        for a run whose nodes work in git worktrees
      repositories/{run}.lock       locked while one of its worktrees is added or removed
    {home}/inputs/{name}-{digest}/  an input folder sent from another machine; `.json`: its files
    {home}/human/                   address.json port book.db repeats.jsonl audit.jsonl
                                    tokens.json channels.jsonl answer.key settings/
    {home}/knowledge.db             knowledge of earlier work and of projects
    {home}/system/                  lock users.lock supervisor.json attended/ token
                                    children.journal mailboxes.db usage.db doors.json typed.jsonl
                                    logs/ run/

This module opens no file. Each path is written by exactly one process. The exception is an agent's
memory with its history: its coordinator and the gateway write it, under the lock `.memory.lock`.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import AgentId, RunId, WorkerId

HOME_VARIABLE = "AGIRAPH_HOME"


def user_home() -> Path:
    """Return the home folder of the person, `/` if there is none: no HOME, and an unknown uid."""
    found = os.path.expanduser("~")
    return Path(found) if os.path.isabs(found) else Path("/")


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with `~` replaced; unchanged if this user has no home directory."""
    return Path(os.path.expanduser(path))


def home_at(path: str | os.PathLike[str]) -> Path:
    """Return the path of a home without symbolic links, which files in a home may not have."""
    return expanded(path).resolve()


def default_home(environ: dict[str, str] | None = None) -> Path:
    """Return the home from AGIRAPH_HOME, or `~/.agiraph`. Raises InvalidInput without both."""
    named = (os.environ if environ is None else environ).get(HOME_VARIABLE)
    if not named and not os.path.isabs(os.path.expanduser("~")):
        raise InvalidInput(
            "this user has no home folder, and HOME is not set: name a home for Agiraph "
            f"(possible: --home DIR, {HOME_VARIABLE})"
        )
    return home_at(named or "~/.agiraph")


def plan_copy(run: Path) -> Path:
    """Return the path of the copy of a run's plan for its workers' sandboxes.

    It is not in the run's folder: its coordinator's shell could replace it by a link at the moment
    of the mount. Written by the coordinator.
    """
    return run.parent.parent / "snapshots" / f"{run.name}.plan.md"


def input_at_start(run: Path) -> Path:
    """Return the path of the record of a run's input folder before the run's first command.

    It is not in the run's folder, where commands write. Written by the first process of the run
    that starts a command.
    """
    return run.parent.parent / "snapshots" / f"{run.name}.input.json"


class PathBelow:
    """Descriptor: the path `name` below the `path` of the object whose attribute it is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Any, owner: type) -> Path:
        path: Path = home.path
        return path / self._name


@dataclass(frozen=True, slots=True)
class NodeHome:
    """The folder of one node."""

    path: Path

    spec = PathBelow("_spec.md")
    """The node's task. Written by the coordinator."""
    refs = PathBelow("_refs.json")
    """Ref name to path under the run. Written by the coordinator."""
    status = PathBelow("_status.md")
    """Status and summary, for people. Written by the coordinator."""
    evidence = PathBelow("_evidence.json")
    """Results of the checks, and hashes of the published files. Written by the assigned worker."""
    failure_notes = PathBelow("failure_notes.md")
    """Why the coordinator gave up the worker's process, if it did. Written by the coordinator."""
    scratch = PathBelow("scratch")
    """Work in progress. Written by the assigned worker."""
    temporary = PathBelow(".tmp")
    """The /tmp of the node's sandboxed commands; removed when the node ends. Written by them."""
    published = PathBelow("published")
    """Final outputs, immutable once the node is completed. Written by the assigned worker."""
    attempts = PathBelow("attempts")
    """The published files of completed attempts that are repeated, a folder per attempt number.
    Written by the assigned worker."""
    log = PathBelow("log.jsonl")
    """Execution trace, one JSON object per line. Written by the assigned worker."""


@dataclass(frozen=True, slots=True)
class WorkerHome:
    """The personal folder of one worker, written by that worker alone."""

    path: Path

    identity = PathBelow("identity.md")
    """The worker's name and role."""
    memory = PathBelow("memory.md")
    """Knowledge that the worker learned from this run's nodes."""
    notebook = PathBelow("notebook.md")
    """Personal scratchpad."""
    history = PathBelow("history.json")
    """The nodes that the worker has completed, a JSON array."""
    conversation = PathBelow("conversation.jsonl")
    """The worker's journal: every turn, tool call and message."""
    calls = PathBelow(".calls")
    """Files of running tool calls, one folder per call; removed once the call is journaled."""
    pictures = PathBelow(".pictures")
    """The pictures that the worker's conversation shows (`agiraph/tools/pictures/store.py`)."""
    outside = PathBelow("outside")
    """The HOME of the worker's external agent. Written by that agent."""
    process_guard = PathBelow(".process_guard")
    """The process guard of the worker's running external agent, if there is one."""
    mcp_tool_grants = PathBelow(".tools-at-start.json")
    """The MCP tools of the worker's current node."""
    roster = PathBelow(".roster.json")
    """The team that the worker received last."""
    hold = PathBelow(".held.json")
    """The worker's state while it is paused or waits for the human; missing otherwise."""


@dataclass(frozen=True, slots=True)
class RunHome:
    """One execution toward the goal."""

    path: Path

    plan = PathBelow("_plan.md")
    """The collaboration plan. Written by the coordinator."""
    plan_file = PathBelow("_plan.yaml")
    """The plan that was drafted before the first step. Written by the coordinator."""
    output = PathBelow("_output.md")
    """The final output. Written by the coordinator."""
    messages = PathBelow("_messages")
    """The message log, one file per message. Written by the recorder."""
    attachments = PathBelow("_attachments")
    """The person's attachments to messages. Written by the human gateway."""
    journal = PathBelow("journal.jsonl")
    """The board's events. Written by the coordinator."""
    shared_values_journal = PathBelow("shared_values.jsonl")
    """Every change of the shared values. Written by the coordinator."""
    shared_values = PathBelow("_shared_values.json")
    """The current shared values, for people and models. Written by the coordinator."""
    shared = PathBelow("shared")
    """Files of the coordinator for its workers, which read them. Written by the coordinator."""
    results = PathBelow("results")
    """Copies of the published files that the run delivers. Written by the coordinator."""
    nodes = PathBelow("nodes")
    """All nodes' folders."""
    workers = PathBelow("workers")
    """All workers' folders."""

    def node(self, folder: str) -> NodeHome:
        """Return the node whose folder is named `folder`."""
        return NodeHome(self.nodes / folder)

    def worker(self, worker: WorkerId | str) -> WorkerHome:
        """Return the folder of a worker."""
        return WorkerHome(self.workers / worker)


@dataclass(frozen=True, slots=True)
class AgentHome:
    """The permanent home of one agent; survives across runs."""

    path: Path

    record = PathBelow("agent.json")
    """The agent's record as JSON, replaced whole. Written by the coordinator."""
    soul = PathBelow("SOUL.md")
    """The agent's character."""
    goal = PathBelow("GOAL.md")
    """The agent's overall objective."""
    memory_file = PathBelow("MEMORY.md")
    """Curated long-term memory."""
    memory = PathBelow("memory")
    """Daily logs and topical knowledge files."""
    memory_history = PathBelow("memory-history")
    """Earlier versions of the memory's files (`agiraph/memory/history.py`)."""
    memory_lock = PathBelow(".memory.lock")
    """Locked while the coordinator or the human gateway writes the memory."""
    memory_at_start = PathBelow(".memory-at-start.json")
    """The coordinator's prompt text on date, memory and models. Written by the coordinator."""
    notes_at_start = PathBelow(".notes-at-start.json")
    """The prompts' text on earlier work, from knowledge.db. Written by the coordinator."""
    mcp_tool_grants = PathBelow(".tools-at-start.json")
    """The coordinator's MCP tools in its current run. Written by the coordinator."""
    conversation = PathBelow("conversation.jsonl")
    """The coordinator's journal, one across runs."""
    calls = PathBelow(".calls")
    """Files of the coordinator's running tool calls, like a worker's."""
    pictures = PathBelow(".pictures")
    """The pictures that the coordinator's conversation shows, like a worker's."""
    hold = PathBelow(".held.json")
    """The coordinator's state while it is paused or waits for the human, like a worker's."""
    events = PathBelow("events.jsonl")
    """The newest events; older ones are in `events.segments/`. Written by the recorder."""
    triggers = PathBelow("triggers.json")
    """The agent's triggers. Written by the scheduler."""
    runs = PathBelow("runs")
    """All runs' folders."""

    def run(self, run: RunId | str) -> RunHome:
        """Return the folder of one run."""
        return RunHome(self.runs / run)

    def snapshot(self, run: RunId | str) -> Path:
        """Return the snapshot of a run's board: not in the run's folder, where a shell writes.

        Written by the coordinator.
        """
        return self.path / "snapshots" / f"{run}.board"

    def repository(self, run: RunId | str) -> Path:
        """Return the bare git repository of one run's worktrees, if it has worktrees.

        Created and merged by the coordinator; a node's branch is written by its worker.
        """
        return self.path / "repositories" / f"{run}.git"


@dataclass(frozen=True, slots=True)
class SystemHome:
    """The services' files: lock, token, tables, logs. Mode 0700."""

    path: Path

    lock = PathBelow("lock")
    """Locked by the supervisor of this home."""
    users = PathBelow("users.lock")
    """Locked by the commands that share the supervisor (`agiraph/storage/home_users.py`)."""
    attended = PathBelow("attended")
    """A file for each agent that a command watches to its end (`agiraph/storage/run_lease.py`)."""
    note = PathBelow("supervisor.json")
    """The state of the running supervisor."""
    token = PathBelow("token")
    """The HTTP API's token, mode 0600. Written by the human gateway."""
    format = PathBelow("format")
    """The number of the home's format. Written by the first supervisor."""
    children = PathBelow("children.journal")
    """The supervisor's journal of children."""
    hosts = PathBelow("hosts.json")
    """The other machines of this home, and open invitations. Written by the supervisor."""
    uplink_key = PathBelow("uplink.key")
    """The key by which other machines authenticate this home, mode 0600. Written by the
    supervisor."""
    usage = PathBelow("usage.db")
    """The spending. Written by the broker."""
    typed = PathBelow("typed.jsonl")
    """Lines typed in `agiraph agentic-shell`, mode 0600. Written by that command."""

    recordings = PathBelow("recordings")
    """The folder of recorded runs, a file per run. Written by the broker."""

    def recording(self, run: str) -> Path:
        """Return the path of the recording of a run's model calls. Written by the broker."""
        return self.recordings / f"{run}.jsonl"

    doors = PathBelow("doors.json")
    """The grants of the LLM proxy, mode 0600. Written by the broker."""
    mailboxes = PathBelow("mailboxes.db")
    """The mailboxes: messages that are not yet acknowledged. Written by the router."""
    tracing = PathBelow("tracing.json")
    """The position of the last event converted to spans, and open spans. Written by the tracer."""
    tools = PathBelow("tools")
    """The tools of each MCP server, one file per server. Written by its `tools/` process."""
    functions = PathBelow("functions")
    """Servers of tools that programs registered for their runs, mode 0600. Written by the
    programs."""
    machines = PathBelow("machines")
    """Folders of hosts on this machine (`hosts.launcher: local`). Written by the scaler."""
    transfers = PathBelow("transfers")
    """Unfinished files of workers on other machines. Written by `files`."""
    secrets = PathBelow("secrets.env")
    """Values of variables that settings name, mode 0600. Written by the person."""
    attempts = PathBelow("attempts")
    """The messages that each actor handled when it died, and how often. Written by that actor."""
    logs = PathBelow("logs")
    """Each process's stderr and its log in JSON lines, by address."""

    def log(self, address: str) -> Path:
        """The log of an address in JSON lines. Written by its process."""
        return self.logs / f"{address.replace('/', '.')}.jsonl"

    def errors(self, address: str) -> Path:
        """The stderr of an address's processes."""
        return self.logs / f"{address.replace('/', '.')}.log"

    sockets = PathBelow("run")
    """The folder of the router's socket, mode 0700 (a temporary one if this is too long)."""


@dataclass(frozen=True, slots=True)
class HumanHome:
    """The gateway's files."""

    path: Path

    address = PathBelow("address.json")
    """The address of the HTTP API: {"url", "pid"}. Removed when the gateway exits normally."""
    port = PathBelow("port")
    """The port of this home, on which its gateway listens at each start."""
    book = PathBelow("book.db")
    """The database of messages, questions and dead letters."""
    channels = PathBelow("channels.jsonl")
    """The journal of notifications, and of do not disturb."""
    answer_key = PathBelow("answer.key")
    """The key that signs answer links, mode 0600."""
    repeats = PathBelow("repeats.jsonl")
    """The journal of idempotency keys and their answers."""
    audit = PathBelow("audit.jsonl")
    """Every call of the HTTP API; older ones in `audit.jsonl.1` and so on."""
    settings = PathBelow("settings")
    """The version of each settings file before its last change over the API."""
    tokens = PathBelow("tokens.json")
    """Named tokens, login links and browser logins, as digests; mode 0600."""


@dataclass(frozen=True, slots=True)
class Home:
    """One home: its agents, its human, its services."""

    path: Path

    def __post_init__(self) -> None:
        """Resolve the path: files in a home are not opened through links (`storage.files`)."""
        object.__setattr__(self, "path", self.path.resolve())

    config = PathBelow("agiraph.yaml")
    """The person's own settings, over the defaults of configs/agiraph.yaml."""
    prompts = PathBelow("prompts")
    """The person's own prompts, which replace shipped ones; it may be missing."""
    agents = PathBelow("agents")
    """All agents' homes."""
    knowledge = PathBelow("knowledge.db")
    """The knowledge database: knowledge of earlier work. Written by the human gateway."""
    inputs = PathBelow("inputs")
    """Input folders sent by consoles on other machines. Written by the human gateway."""

    @property
    def system(self) -> SystemHome:
        """The services' folder."""
        return SystemHome(self.path / "system")

    @property
    def human(self) -> HumanHome:
        """The human gateway's folder."""
        return HumanHome(self.path / "human")

    def agent(self, agent: AgentId | str) -> AgentHome:
        """Return the home of one agent."""
        return AgentHome(self.agents / agent)
