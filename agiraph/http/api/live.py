"""Records of live feeds: changes of the home, streamed text, timelines.

`WS /changes` sends `ChangeView`, `WS /agents/{a}/stream` sends `StreamedTextView`: one JSON text
each. Both are best effort: the resource that a change names has the reliable state.
"""

from typing import Annotated, Literal

from pydantic import Field

from agiraph.core.ids import AgentId, NodeId, QuestionId, RunId
from agiraph.core.models import QuestionStatus, SpanKind
from agiraph.http.api.agents import AgentView
from agiraph.http.api.base import ApiView
from agiraph.http.api.work import WorkerView

AgentChange = Literal["archived", "restored", "deleted"]

# --- changes ---


class HomeView(ApiView):
    """The current state of the home; `WS /changes` sends it first on every connection.

    `agents` has the cursor of the last event of each agent's log. `messages` is the `seq` of the
    newest entry of the conversations. `unread` has the number of messages that the person has not
    read, for agents with such messages. `questions` are the ids of the open questions.
    """

    kind: Literal["home"] = "home"
    agents: dict[AgentId, int]
    messages: int
    unread: dict[AgentId, int]
    questions: tuple[QuestionId, ...]


class EventsChangeView(ApiView):
    """An agent's log has grown: to the event `seq`, by events of these `types` (sorted).

    A new agent is announced by it, too.
    """

    kind: Literal["events"] = "events"
    agent: AgentId
    seq: int
    types: tuple[str, ...]


class AgentChangeView(ApiView):
    """An agent was archived, restored, or deleted from the archive."""

    kind: Literal["agent"] = "agent"
    agent: AgentId
    change: AgentChange


class InboxChangeView(ApiView):
    """The conversation with an agent has grown, to the entry `seq`, or the person has read of it.

    `unread` is the number of its messages that the person has not read, `by_entity` the same by
    sender.
    """

    kind: Literal["inbox"] = "inbox"
    agent: AgentId
    seq: int
    unread: int
    by_entity: dict[str, int] = Field(default_factory=dict)


class QuestionChangeView(ApiView):
    """A question was asked, or now has one of its outcomes."""

    kind: Literal["question"] = "question"
    agent: AgentId
    id: QuestionId
    status: QuestionStatus


class EntityChangeView(ApiView):
    """The activity of an entity has changed; the fields have the meaning of an `EntityView`."""

    kind: Literal["entity"] = "entity"
    agent: AgentId | None
    address: str
    state: str
    step: str = ""
    doing: str = ""
    doing_since: float | None = None


ChangeView = Annotated[
    HomeView
    | EventsChangeView
    | AgentChangeView
    | InboxChangeView
    | QuestionChangeView
    | EntityChangeView,
    Field(discriminator="kind"),
]
"""A frame of `WS /changes`. It contains the new state, or names the resource to request."""

# --- text as it streams ---


class StreamedTextView(ApiView):
    """A piece of an answer that an entity's model writes. `entity` is its name, `call` the answer.

    `text` belongs at position `at` of the answer (in Unicode code points): it replaces the reader's
    text from there on; if the reader has less text, pieces in between were lost. `restarted`: the
    previous text is void because the call broke off; `reason` gives the cause and the next call.
    `is_end`: this call is complete; `reason` is set if it failed.
    """

    address: str
    entity: str
    call: str
    at: int = 0
    text: str = ""
    restarted: bool = False
    is_end: bool = False
    reason: str = ""


# --- a run as timelines ---


class SpanView(ApiView):
    """A bar of an entity's timeline; `end` is None while it lasts.

    `kind`: node (a worker's work on it), outside (a start of an external agent), model, tool, wait
    (for nodes or a message), human (for the person), paused, down (no process: from a crash until
    it was ready again). `name` is the name of the node, agent, model or tool, or the reason.
    `parent` is the `id` of the enclosing span, if that is a bar too.

    `count` above 1: this number of short bars of one kind in quick succession, merged from the
    start of the first to the end of the last; `seconds` is then the sum of their durations.
    """

    id: str
    parent: str | None = None
    kind: SpanKind
    entity: str
    name: str
    node: NodeId | None = None
    start: float
    end: float | None = None
    seconds: float
    count: int = 1
    problem: str = ""
    is_critical: bool = False


class CriticalStretchView(ApiView):
    """A stretch of the critical path: from `start` to `end` the run waited for this entity.

    `node` is the node that it worked on, None for the coordinator's own work. `wait`: it did not
    work, but waited for the person (`human`) or was `paused`.
    """

    entity: str
    node: NodeId | None = None
    start: float
    end: float
    wait: Literal["human", "paused"] | None = None


class TimelineView(ApiView):
    """GET /agents/{a}/timeline: the bars of a run, by their start, and its critical path.

    `start` and `end` are the run's (`end` is None while it is running), `seq` is the number of the
    last event included, `entities` the names that have bars: the coordinator, then the workers in
    the order of their first bar. `resolution_seconds` is the duration below which bars were merged:
    as requested, or longer if there would be too many bars.
    """

    run: RunId | None = None
    start: float | None = None
    end: float | None = None
    seq: int = 0
    resolution_seconds: float = 0.0
    entities: tuple[str, ...] = ()
    spans: tuple[SpanView, ...] = ()
    critical: tuple[CriticalStretchView, ...] = ()


class TrafficView(ApiView):
    """The number of texts from one entity of a run to another, and the beginning of the last.

    Names as in `MessageView`; `last_seq` is the number of the last text in the message log.
    """

    sender: str = Field(alias="from")
    to: str
    count: int
    last_seq: int
    last_at: float
    last_text: str


# --- overview of all agents ---


class TeamView(AgentView):
    """GET /overview: an agent and the workers of its current run, including those that left."""

    workers: tuple[WorkerView, ...] = ()
