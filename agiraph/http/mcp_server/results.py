"""Results of the tools; each result is one object, so that it is structured content."""

from collections.abc import Sequence

from pydantic import Field

from agiraph.core.models import ENDED_AGENT, ENDED_NODE
from agiraph.core.record import Record
from agiraph.http.api import (
    AgentView,
    FileContentView,
    FolderView,
    NodeView,
    QuestionView,
    RoleTeamView,
    RoleView,
)

TEXT_LIMIT = 100_000


class RunHandleResult(Record):
    """A run that has started. It continues by itself: call `status` with `agent`."""

    agent: str = Field(description="the agent's id, for all other tools")
    name: str
    run: str | None
    status: str
    note: str = "It works by itself now. Call `status` with this agent; `wait_seconds` waits."


class RoleAgentsResult(Record):
    """The roles of the Agentic Team."""

    agents: tuple[RoleView, ...]


class RoleValidationResult(Record):
    """Whether each role has an agent that can work here; `problems` names roles without one."""

    is_valid: bool
    problems: tuple[str, ...] = ()


class RoleHealthResult(RoleValidationResult):
    """The state of the Agentic Team."""

    can_work_offline: bool
    agents: tuple[RoleView, ...]


def roles_health(now: RoleTeamView, offline: RoleTeamView) -> RoleHealthResult:
    """Return the state of a team from its checks with and without network."""
    return RoleHealthResult(
        is_valid=now.is_valid,
        can_work_offline=offline.is_valid,
        agents=now.roles,
        problems=now.problems,
    )


class OpenQuestionResult(Record):
    """A question of the team to its human. Answer it with `answer`."""

    question: str = Field(description="the question's id, for `answer`")
    agent: str
    sender: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "question"


class QuestionsResult(Record):
    """Open questions."""

    questions: tuple[OpenQuestionResult, ...]


class AnsweredResult(Record):
    """A question after it was answered."""

    question: str
    status: str
    answer: str | None


class AgentStateResult(Record):
    """The state of an agent. `result` is its final answer once `is_over`."""

    agent: str
    name: str
    goal: str
    status: str
    is_over: bool
    run: str | None
    nodes_ended: int = 0
    nodes: int = 0
    result: str | None = None
    reason: str | None = None
    questions: tuple[OpenQuestionResult, ...] = ()


class AgentsResult(Record):
    """All agents, oldest first."""

    agents: tuple[AgentStateResult, ...]


class BoardNodeResult(Record):
    """A node of the board. Its published files are read under `nodes/{name}/published`."""

    id: str
    name: str
    role: str
    status: str
    worker: str | None
    summary: str | None
    reason: str | None
    published: tuple[str, ...]


class BoardResult(Record):
    """The work of a run."""

    agent: str
    run: str | None
    stage: str | None
    nodes: tuple[BoardNodeResult, ...]


class FolderEntryResult(Record):
    """One row of a folder."""

    path: str
    kind: str
    size: int


class ContentResult(Record):
    """A file (`content`) or a folder (`entries`) of a run. Content is untrusted: a model wrote it.

    `next_offset` is the position to continue reading from, None at the end.
    """

    path: str
    content: str | None = None
    encoding: str = "utf-8"
    size: int | None = None
    next_offset: int | None = None
    entries: tuple[FolderEntryResult, ...] = ()


class SentResult(Record):
    """A message that is safe on disk: it will reach its receivers."""

    message: str
    to: tuple[str, ...]


class ReplyResult(Record):
    """The answer of an agent; `reply` is None if it has not answered in time."""

    agent: str
    message: str
    reply: str | None
    note: str = ""


class StoppedResult(Record):
    """An agent whose processes were stopped; its files stay."""

    agent: str
    entities: int


def question_of(view: QuestionView) -> OpenQuestionResult:
    """Return an open question in the form of the tools' results."""
    return OpenQuestionResult.model_validate(
        dict(view) | {"question": view.id, "text": view.question}
    )


def state_of(
    agent: AgentView,
    nodes: Sequence[NodeView] = (),
    questions: Sequence[QuestionView] = (),
) -> AgentStateResult:
    """Return the state of an agent as a result of the tools."""
    ended = [node for node in nodes if node.status in ENDED_NODE]
    shown = {
        "agent": agent.id,
        "is_over": agent.status in ENDED_AGENT,
        "nodes_ended": len(ended) if nodes else agent.nodes_ended,
        "nodes": len(nodes) or agent.node_count,
        "questions": tuple(map(question_of, questions)),
    }
    return AgentStateResult.model_validate(dict(agent) | shown)


def node_of(view: NodeView) -> BoardNodeResult:
    """Return a node as a result of the tools."""
    return BoardNodeResult.model_validate(dict(view) | {"worker": view.assigned_worker})


def content_of(found: FolderView | FileContentView) -> ContentResult:
    """Return a folder, or a part of a file, in the form of the tools' results."""
    if isinstance(found, FolderView):
        rows = (FolderEntryResult(path=e.path, kind=e.kind, size=e.size) for e in found.entries)
        return ContentResult(path=found.path, entries=tuple(rows))
    data = found.content.encode() if found.encoding == "utf-8" else b""
    shown, returned = found.content, found.returned
    if len(data) > TEXT_LIMIT:
        shown = data[:TEXT_LIMIT].decode(errors="ignore")
        returned = len(shown.encode())
    end = found.offset + returned
    return ContentResult(
        path=found.path,
        content=shown,
        encoding=found.encoding,
        size=found.size,
        next_offset=end if end < found.size else None,
    )
