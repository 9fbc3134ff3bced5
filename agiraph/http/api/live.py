"""What a page follows as it happens: changes of the home, text as it streams, time lines.

`ChangeView` is what `WS /changes` sends, `StreamedTextView` what `WS /agents/{a}/stream` sends: one
JSON text for each. Both are best effort: what counts is in the resource that a change names.
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
    """Where everything in the home is now. The first that `WS /changes` sends, on every connection.

    `agents` are the cursors of the last event of each agent's log. `messages` is the `seq` of the
    newest entry of the conversations. `unread` counts, agent by agent where there are any, the
    messages to the person that he has not read. `questions` are the ids of the open ones.
    """

    kind: Literal["home"] = "home"
    agents: dict[AgentId, int]
    messages: int
    unread: dict[AgentId, int]
    questions: tuple[QuestionId, ...]


class EventsChangeView(ApiView):
    """An agent's log has grown: to the event `seq`, by events of these `types` (sorted).

    It is also how an agent that was created is first heard of.
    """

    kind: Literal["events"] = "events"
    agent: AgentId
    seq: int
    types: tuple[str, ...]


class AgentChangeView(ApiView):
    """An agent came to the archive or back, or was deleted from there."""

    kind: Literal["agent"] = "agent"
    agent: AgentId
    change: AgentChange


class InboxChangeView(ApiView):
    """The conversation with an agent has grown, to the entry `seq`, or the person has read of it.

    `unread` is how many of its messages he has not read, `by_entity` the same by who sent them.
    """

    kind: Literal["inbox"] = "inbox"
    agent: AgentId
    seq: int
    unread: int
    by_entity: dict[str, int] = Field(default_factory=dict)


class QuestionChangeView(ApiView):
    """A question was asked, or has one of its outcomes."""

    kind: Literal["question"] = "question"
    agent: AgentId
    id: QuestionId
    status: QuestionStatus


class EntityChangeView(ApiView):
    """An entity does something else; the fields mean what they mean in an `EntityView`."""

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
"""A frame of `WS /changes`. What it names is to be asked for again, or is in it."""

# --- text as it streams ---


class StreamedTextView(ApiView):
    """A piece of what an entity's model is writing. `entity` is its name, `call` names the answer.

    `text` stands at the character `at` of the answer (in Unicode code points): what the reader has
    from there on is replaced by it, and if he has less than `at`, pieces between were lost.
    `restarted`: what came before is void, since the call broke off; `reason` says why, and what is
    called next. `is_end`: nothing more comes of this call; `reason` is there if it failed.
    """

    address: str
    entity: str
    call: str
    at: int = 0
    text: str = ""
    restarted: bool = False
    is_end: bool = False
    reason: str = ""


# --- a run as time lines ---


class SpanView(ApiView):
    """A bar of an entity's time line; `end` is None while it lasts.

    `kind`: node (a worker's work on it), outside (a start of an external agent), model, tool, wait
    (for nodes or a message), human (for the person), paused, down (no process: it crashed, until it
    was ready again). `name` is that of the node, agent, model or tool, or the reason. `parent` is
    the `id` of the span that it is a part of, if that is a bar too.

    `count` above 1: so many short ones of one kind that follow each other closely, from the start
    of the first to the end of the last; `seconds` is then what they took, all together.
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

    `node` is the one that it worked on, None for the coordinator's own work. `wait`: it did not
    work, but waited for the person (`human`) or was `paused`.
    """

    entity: str
    node: NodeId | None = None
    start: float
    end: float
    wait: Literal["human", "paused"] | None = None


class TimelineView(ApiView):
    """GET /agents/{a}/timeline: the bars of a run, by their start, and its critical path.

    `start` and `end` are the run's (`end` None while it is running), `seq` that of the last event
    that is in it, `entities` the names that have bars: the coordinator, then the workers in the
    order of their first bar. `resolution_seconds` is below which bars were put together: what was
    asked for, or more if they would have been too many.
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
    """How many texts one entity of a run has written another, and the beginning of the last.

    Names as those of `MessageView`; `last_seq` is the number of the last in the message log.
    """

    sender: str = Field(alias="from")
    to: str
    count: int
    last_seq: int
    last_at: float
    last_text: str


# --- everybody at a glance ---


class TeamView(AgentView):
    """GET /overview: an agent, and the workers of its current run, those that have left too."""

    workers: tuple[WorkerView, ...] = ()
