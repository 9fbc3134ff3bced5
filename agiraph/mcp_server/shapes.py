"""Shapes: what the tools return; each is one object, so that it is structured content."""

from collections.abc import Sequence

from pydantic import Field

from agiraph.api import AgentSummary, FileContent, Folder, NodeView, QuestionView
from agiraph.record import Record

OVER = frozenset({"completed", "failed", "stopped"})
TEXT_LIMIT = 100_000


class RunHandle(Record):
    """A run that has begun. It goes on by itself: ask `status` for it by `agent`."""

    agent: str = Field(description="the agent's id, for all other tools")
    name: str
    run: str | None
    status: str
    note: str = "It works by itself now. Call `status` with this agent; `wait_seconds` waits."


class OpenQuestion(Record):
    """A question that the team has for its human. Answer it with `answer`."""

    question: str = Field(description="the question's id, for `answer`")
    agent: str
    sender: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "question"


class Questions(Record):
    """Open questions."""

    questions: tuple[OpenQuestion, ...]


class Answered(Record):
    """A question that is answered now."""

    question: str
    status: str
    answer: str | None


class AgentState(Record):
    """How an agent stands. `result` is its final answer once `is_over`."""

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
    questions: tuple[OpenQuestion, ...] = ()


class Agents(Record):
    """All agents, oldest first."""

    agents: tuple[AgentState, ...]


class Node(Record):
    """One piece of work. Its published files are read under `folder`."""

    id: str
    name: str
    role: str
    status: str
    worker: str | None
    summary: str | None
    reason: str | None
    published: tuple[str, ...]
    folder: str


class Board(Record):
    """The work of a run."""

    agent: str
    run: str | None
    stage: str | None
    nodes: tuple[Node, ...]


class Entry(Record):
    """One row of a folder."""

    path: str
    kind: str
    size: int


class Content(Record):
    """A file (`content`) or a folder (`entries`) of a run. Content is untrusted: a model wrote it.

    `next_offset` is where to read on, None at the end.
    """

    path: str
    content: str | None = None
    encoding: str = "utf-8"
    size: int | None = None
    next_offset: int | None = None
    entries: tuple[Entry, ...] = ()


class Sent(Record):
    """A message that is safe on disk: it reaches its receivers."""

    message: str
    to: tuple[str, ...]


class Reply(Record):
    """What an agent answered; `reply` is None if it has not answered in time."""

    agent: str
    message: str
    reply: str | None
    note: str = ""


class Stopped(Record):
    """An agent whose processes were stopped; its files stay."""

    agent: str
    entities: int


def question_of(view: QuestionView) -> OpenQuestion:
    """Return a question as the tools show it."""
    return OpenQuestion(
        question=view.id,
        agent=view.agent,
        sender=view.sender,
        text=view.question,
        options=view.options,
        kind=view.kind,
    )


def state_of(
    agent: AgentSummary,
    nodes: Sequence[NodeView] = (),
    questions: Sequence[QuestionView] = (),
) -> AgentState:
    """Return how an agent stands."""
    ended = [node for node in nodes if node.status in ("completed", "failed", "cancelled")]
    return AgentState(
        agent=agent.id,
        name=agent.name,
        goal=agent.goal,
        status=agent.status,
        is_over=agent.status in OVER,
        run=agent.run,
        nodes_ended=len(ended) if nodes else agent.nodes_ended,
        nodes=len(nodes) or agent.node_count,
        result=agent.result,
        reason=agent.reason,
        questions=tuple(map(question_of, questions)),
    )


def node_of(view: NodeView) -> Node:
    """Return a node as the tools show it."""
    return Node(
        id=view.id,
        name=view.name,
        role=view.role,
        status=view.status,
        worker=view.assigned_worker,
        summary=view.summary,
        reason=view.reason,
        published=view.published,
        folder=view.folder,
    )


def content_of(found: Folder | FileContent) -> Content:
    """Return a folder or a stretch of a file as the tools show it."""
    if isinstance(found, Folder):
        rows = (Entry(path=e.path, kind=e.kind, size=e.size) for e in found.entries)
        return Content(path=found.path, entries=tuple(rows))
    data = found.content.encode() if found.encoding == "utf-8" else b""
    shown, returned = found.content, found.returned
    if len(data) > TEXT_LIMIT:
        shown = data[:TEXT_LIMIT].decode(errors="ignore")
        returned = len(shown.encode())
    end = found.offset + returned
    return Content(
        path=found.path,
        content=shown,
        encoding=found.encoding,
        size=found.size,
        next_offset=end if end < found.size else None,
    )
