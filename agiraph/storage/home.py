"""The layout of a home: the path of every file of an agent, a run, a node and a worker.

    {home}/agents/{agent}/          agent.json SOUL.md GOAL.md MEMORY.md memory/ conversation.jsonl
                                    events.jsonl events.segments/ triggers.json snapshots/
      runs/{run}/                   _plan.md _output.md _messages/ _context.json journal.jsonl
                                    context.jsonl
        nodes/{name}-{role}-{id}/   _spec.md _refs.json _status.md scratch/ published/ log.jsonl
                                    _evidence.json
        workers/{name}-{id}/        identity.md memory.md notebook.md history.json
                                    conversation.jsonl
      repositories/{run}.git        of a run whose nodes work in git worktrees
    {home}/human/                   address.json book.db repeats.jsonl audit.jsonl tokens.json
                                    channels.jsonl answer.key
    {home}/system/                  lock token children.journal mailboxes.db usage.db doors.json
                                    logs/ run/

Nothing here opens a file. Each path is written by exactly one process.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.ids import AgentId, RunId, WorkerId

HOME_VARIABLE = "AGIRAPH_HOME"


def default_home(environ: dict[str, str] | None = None) -> Path:
    """Return the home from AGIRAPH_HOME, or `~/.agiraph`."""
    named = (os.environ if environ is None else environ).get(HOME_VARIABLE)
    return Path(named).expanduser().absolute() if named else Path.home() / ".agiraph"


def plan_copy(run: Path) -> Path:
    """Return the path of the copy of a run's plan for its workers' sandboxes.

    It is not in the run's folder: its coordinator's shell could put a link there at the moment it
    is mounted. Written by the coordinator.
    """
    return run.parent.parent / "snapshots" / f"{run.name}.plan.md"


@dataclass(frozen=True, slots=True)
class NodeHome:
    """The folder of one node."""

    path: Path

    @property
    def spec(self) -> Path:
        """Its task. Written by the coordinator."""
        return self.path / "_spec.md"

    @property
    def refs(self) -> Path:
        """Ref name to path under the run. Written by the coordinator."""
        return self.path / "_refs.json"

    @property
    def status(self) -> Path:
        """Status and summary, for people. Written by the coordinator."""
        return self.path / "_status.md"

    @property
    def evidence(self) -> Path:
        """How its checks ended, and hashes of what is published. Written by the assigned worker."""
        return self.path / "_evidence.json"

    @property
    def failure_notes(self) -> Path:
        """Why the worker's process was given up, if it was. Written by the coordinator."""
        return self.path / "failure_notes.md"

    @property
    def scratch(self) -> Path:
        """Work in progress. Written by the assigned worker."""
        return self.path / "scratch"

    @property
    def published(self) -> Path:
        """Final outputs, immutable once the node is completed. Written by the assigned worker."""
        return self.path / "published"

    @property
    def log(self) -> Path:
        """Execution trace, one JSON object per line. Written by the assigned worker."""
        return self.path / "log.jsonl"


@dataclass(frozen=True, slots=True)
class WorkerHome:
    """The personal folder of one worker, written by that worker alone."""

    path: Path

    @property
    def identity(self) -> Path:
        """Its name and role."""
        return self.path / "identity.md"

    @property
    def memory(self) -> Path:
        """What it has learned from this run's nodes."""
        return self.path / "memory.md"

    @property
    def notebook(self) -> Path:
        """Personal scratchpad."""
        return self.path / "notebook.md"

    @property
    def history(self) -> Path:
        """The nodes it has completed, a JSON array."""
        return self.path / "history.json"

    @property
    def conversation(self) -> Path:
        """Its journal: every turn, tool call and message."""
        return self.path / "conversation.jsonl"

    @property
    def calls(self) -> Path:
        """What running tool calls leave, one folder per call; removed once it is journaled."""
        return self.path / ".calls"

    @property
    def outside(self) -> Path:
        """The HOME of its external agent. Written by that agent."""
        return self.path / "outside"

    @property
    def warden(self) -> Path:
        """The process guard of its running external agent, if there is one."""
        return self.path / ".warden"

    @property
    def mcp_tool_grants(self) -> Path:
        """The MCP tools of its current node."""
        return self.path / ".tools-at-start.json"

    @property
    def roster(self) -> Path:
        """The team as it was told last."""
        return self.path / ".roster.json"


@dataclass(frozen=True, slots=True)
class RunHome:
    """One execution toward the goal."""

    path: Path

    @property
    def plan(self) -> Path:
        """The collaboration plan. Written by the coordinator."""
        return self.path / "_plan.md"

    @property
    def output(self) -> Path:
        """The final output. Written by the coordinator."""
        return self.path / "_output.md"

    @property
    def messages(self) -> Path:
        """The message log, one file per message. Written by the recorder."""
        return self.path / "_messages"

    @property
    def journal(self) -> Path:
        """The board's events. Written by the coordinator."""
        return self.path / "journal.jsonl"

    @property
    def context_journal(self) -> Path:
        """Every change of the shared context. Written by the coordinator."""
        return self.path / "context.jsonl"

    @property
    def context(self) -> Path:
        """The current shared context, for people and models. Written by the coordinator."""
        return self.path / "_context.json"

    @property
    def nodes(self) -> Path:
        """All nodes' folders."""
        return self.path / "nodes"

    @property
    def workers(self) -> Path:
        """All workers' folders."""
        return self.path / "workers"

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

    @property
    def record(self) -> Path:
        """The agent's record as JSON, replaced whole. Written by the coordinator."""
        return self.path / "agent.json"

    @property
    def soul(self) -> Path:
        """The agent's character."""
        return self.path / "SOUL.md"

    @property
    def goal(self) -> Path:
        """Its overall objective."""
        return self.path / "GOAL.md"

    @property
    def memory_file(self) -> Path:
        """Curated long-term memory."""
        return self.path / "MEMORY.md"

    @property
    def memory(self) -> Path:
        """Daily logs and topical knowledge files."""
        return self.path / "memory"

    @property
    def memory_at_start(self) -> Path:
        """What the coordinator's prompt says of date, memory and models. Written by it."""
        return self.path / ".memory-at-start.json"

    @property
    def mcp_tool_grants(self) -> Path:
        """The coordinator's MCP tools in its current run. Written by the coordinator."""
        return self.path / ".tools-at-start.json"

    @property
    def conversation(self) -> Path:
        """The coordinator's journal, one across runs."""
        return self.path / "conversation.jsonl"

    @property
    def calls(self) -> Path:
        """What the coordinator's running tool calls leave, like a worker's."""
        return self.path / ".calls"

    @property
    def events(self) -> Path:
        """The newest events; older ones are in `events.segments/`. Written by the recorder."""
        return self.path / "events.jsonl"

    @property
    def triggers(self) -> Path:
        """Its triggers. Written by the scheduler."""
        return self.path / "triggers.json"

    @property
    def runs(self) -> Path:
        """All runs' folders."""
        return self.path / "runs"

    def run(self, run: RunId | str) -> RunHome:
        """Return the folder of one run."""
        return RunHome(self.runs / run)

    def snapshot(self, run: RunId | str) -> Path:
        """Return the snapshot of a run's board: not in the run's folder, where a shell writes.

        Written by the coordinator.
        """
        return self.path / "snapshots" / f"{run}.board"

    def repository(self, run: RunId | str) -> Path:
        """Return the bare git repository of one run's worktrees, if it has any.

        Created and merged by the coordinator; a node's branch is written by its worker.
        """
        return self.path / "repositories" / f"{run}.git"


@dataclass(frozen=True, slots=True)
class SystemHome:
    """The services' files: lock, token, tables, logs. Mode 0700."""

    path: Path

    @property
    def lock(self) -> Path:
        """Held by the supervisor of this home."""
        return self.path / "lock"

    @property
    def token(self) -> Path:
        """The HTTP API's token, mode 0600. Written by the human gateway."""
        return self.path / "token"

    @property
    def children(self) -> Path:
        """The supervisor's journal of children."""
        return self.path / "children.journal"

    @property
    def usage(self) -> Path:
        """The spending. Written by the broker."""
        return self.path / "usage.db"

    def recording(self, run: str) -> Path:
        """Return where a run's model calls are recorded. Written by the broker."""
        return self.path / "recordings" / f"{run}.jsonl"

    @property
    def doors(self) -> Path:
        """The grants of the LLM proxy, mode 0600. Written by the broker."""
        return self.path / "doors.json"

    @property
    def mailboxes(self) -> Path:
        """The mailboxes: messages that are not done. Written by the router."""
        return self.path / "mailboxes.db"

    @property
    def tracing(self) -> Path:
        """How far events were turned into spans, and open spans. Written by the tracer."""
        return self.path / "tracing.json"

    @property
    def tools(self) -> Path:
        """What each MCP server offers, one file per server. Written by its `tools/` process."""
        return self.path / "tools"

    @property
    def secrets(self) -> Path:
        """Values of variables that settings name, mode 0600. Written by the person."""
        return self.path / "secrets.env"

    @property
    def attempts(self) -> Path:
        """What each actor handled when it died, and how often. Written by that actor."""
        return self.path / "attempts"

    @property
    def logs(self) -> Path:
        """Each process's stderr and its log in JSON lines, by address."""
        return self.path / "logs"

    def log(self, address: str) -> Path:
        """The log of an address in JSON lines. Written by its process."""
        return self.logs / f"{address.replace('/', '.')}.jsonl"

    @property
    def sockets(self) -> Path:
        """The folder of the router's socket, mode 0700 (a temporary one if this is too long)."""
        return self.path / "run"


@dataclass(frozen=True, slots=True)
class HumanHome:
    """The gateway's files."""

    path: Path

    @property
    def address(self) -> Path:
        """Where the HTTP API listens: {"url", "pid"}."""
        return self.path / "address.json"

    @property
    def book(self) -> Path:
        """The database of messages, questions and dead letters."""
        return self.path / "book.db"

    @property
    def questions(self) -> Path:
        """The questions of older versions; now one line, for which they refuse the home."""
        return self.path / "questions.jsonl"

    @property
    def dead(self) -> Path:
        """The same for dead letters."""
        return self.path / "dead.jsonl"

    @property
    def channels(self) -> Path:
        """The journal of notifications, and of do not disturb."""
        return self.path / "channels.jsonl"

    @property
    def answer_key(self) -> Path:
        """The key that signs answer links, mode 0600."""
        return self.path / "answer.key"

    @property
    def repeats(self) -> Path:
        """The journal of idempotency keys and their answers."""
        return self.path / "repeats.jsonl"

    @property
    def inbox(self) -> Path:
        """The same for messages."""
        return self.path / "inbox.jsonl"

    @property
    def audit(self) -> Path:
        """Every call of the HTTP API; older ones in `audit.jsonl.1` and so on."""
        return self.path / "audit.jsonl"

    @property
    def tokens(self) -> Path:
        """Named tokens, login links and sessions, as digests; mode 0600."""
        return self.path / "tokens.json"


@dataclass(frozen=True, slots=True)
class Home:
    """One home: its agents, its human, its services."""

    path: Path

    def __post_init__(self) -> None:
        """Resolve the path: files in a home are not opened over links (`agiraph.storage.files`)."""
        object.__setattr__(self, "path", self.path.resolve())

    @property
    def config(self) -> Path:
        """The person's own settings, over the defaults of configs/agiraph.yaml."""
        return self.path / "agiraph.yaml"

    @property
    def prompts(self) -> Path:
        """The person's own prompts, which replace shipped ones; it need not exist."""
        return self.path / "prompts"

    @property
    def agents(self) -> Path:
        """All agents' homes."""
        return self.path / "agents"

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
