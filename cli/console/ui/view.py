"""The view: everything that the console shows, and how news and the person's acts change it. Pure.

`reduce(view, news)` returns the next view. News comes from the bus, the API and the keyboard; the
widgets only show what stands in the view. The same news given twice changes nothing more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, assert_never

from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME
from agiraph.core.models import Event
from agiraph.http.api import AgentView, BoardView, EntityView, MessageView, QuestionView
from cli.console.event_text import EventNarrator, text_of
from cli.console.sanitize import printable
from cli.console.ui.entries import TimelineEntry, of_events, of_messages
from cli.console.ui.members import EVERYONE, TeamMember, members_of
from cli.console.ui.timeline import Timeline, added, without

STREAM_LIMIT: Final = 8000

Channel = Literal["gateway", "bus"]
Panel = Literal["talk", "board", "files", "tree", "help"]


@dataclass(frozen=True, slots=True)
class EventsReceived:
    """Events of the agent's log; older ones if they are a page that was asked for."""

    events: tuple[Event, ...]
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class MessagesReceived:
    """Messages of the run's log; older ones if they are a page that was asked for."""

    messages: tuple[MessageView, ...]
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class StatusReceived:
    """How the agent and its processes stand."""

    agent: AgentView
    rows: tuple[EntityView, ...]


@dataclass(frozen=True, slots=True)
class QuestionsReceived:
    """The questions that are open now."""

    questions: tuple[QuestionView, ...]


@dataclass(frozen=True, slots=True)
class BoardReceived:
    """The board as it is now."""

    board: BoardView


@dataclass(frozen=True, slots=True)
class TextReceived:
    """A piece of what the entity `key` is saying right now; `call` tells answers apart."""

    key: str
    call: bytes
    text: str
    restarted: bool = False


@dataclass(frozen=True, slots=True)
class ChannelLost:
    """A channel is away."""

    channel: Channel


@dataclass(frozen=True, slots=True)
class ChannelRestored:
    """A channel is back."""

    channel: Channel


@dataclass(frozen=True, slots=True)
class TextPosted:
    """The person sent a text; it is shown until it stands in the log."""

    id: str
    to: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class TextAccepted:
    """The router keeps a text that was sent."""

    id: str


@dataclass(frozen=True, slots=True)
class TextRejected:
    """A text was refused."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class AnswerPosted:
    """The person has answered a question; it is not shown as open any more."""

    question: str


@dataclass(frozen=True, slots=True)
class AnswerRejected:
    """An answer did not get through: the question is shown again if it is still open."""

    question: str


@dataclass(frozen=True, slots=True)
class EntitySelected:
    """The person looks at one entity, or at the whole team as `*`."""

    key: str


@dataclass(frozen=True, slots=True)
class PanelSelected:
    """The person looks at another panel."""

    panel: Panel


@dataclass(frozen=True, slots=True)
class EntryToggled:
    """The person opens or folds an entry."""

    key: str


@dataclass(frozen=True, slots=True)
class NoticeShown:
    """Something to tell the person in the status line: an error, a confirmation."""

    text: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class ReturnedToEnd:
    """The person goes back to the end of the conversation, which is read anew."""

    events: tuple[Event, ...]
    messages: tuple[MessageView, ...]


News = (
    EventsReceived
    | MessagesReceived
    | StatusReceived
    | QuestionsReceived
    | BoardReceived
    | TextReceived
    | ChannelLost
    | ChannelRestored
    | TextPosted
    | TextAccepted
    | TextRejected
    | AnswerPosted
    | AnswerRejected
    | EntitySelected
    | PanelSelected
    | EntryToggled
    | NoticeShown
    | ReturnedToEnd
)


@dataclass(frozen=True, slots=True)
class LiveText:
    """What an entity is saying right now."""

    call: bytes
    text: str


@dataclass(frozen=True, slots=True)
class ConsoleView:
    """All that is shown. `selected` is a member's key, or `*` for the whole team."""

    agent: AgentView
    members: tuple[TeamMember, ...] = ()
    rows: tuple[EntityView, ...] = ()
    timeline: Timeline = field(default_factory=Timeline)
    questions: tuple[QuestionView, ...] = ()
    board: BoardView | None = None
    selected: str = COORDINATOR_NAME
    panel: Panel = "talk"
    opened: frozenset[str] = frozenset()
    streams: Mapping[str, LiveText] = field(default_factory=dict)
    away: frozenset[Channel] = frozenset()
    note: NoticeShown | None = None
    answered: frozenset[str] = frozenset()
    narrator: EventNarrator = field(default_factory=EventNarrator)

    @property
    def member(self) -> TeamMember | None:
        """Return the selected member; None for the whole team, or one that is not there (yet)."""
        return next((one for one in self.members if one.key == self.selected), None)

    @property
    def names(self) -> frozenset[str] | None:
        """Return the names whose entries are shown; None: all.

        With the coordinator's stands all that was said to and by the person, whoever it was.
        """
        if self.selected == EVERYONE:
            return None
        if self.selected == COORDINATOR_NAME:
            return frozenset({COORDINATOR_NAME, HUMAN_NAME})
        member = self.member
        return member.names if member else frozenset({self.selected.casefold()})

    @property
    def waiting(self) -> tuple[QuestionView, ...]:
        """Return the questions that wait for the person."""
        return tuple(one for one in self.questions if one.id not in self.answered)

    @property
    def shown(self) -> list[TimelineEntry]:
        """Return the entries of the selected conversation."""
        return self.timeline.of(self.names)

    @property
    def recipient(self) -> str:
        """Return whom a plain line goes to: the selected member's name, else the coordinator."""
        member = self.member
        return member.name if member else COORDINATOR_NAME

    @property
    def streaming(self) -> list[tuple[str, str]]:
        """Return (name, text so far) of what is being said in the selected conversation."""
        names = {one.key: one.name for one in self.members}
        wanted = [key for key in self.streams if self.selected in (EVERYONE, key)]
        return [(names.get(key, key), self.streams[key].text) for key in wanted]


def reduce(view: ConsoleView, news: News) -> ConsoleView:
    """Return the view after one piece of news."""
    match news:
        case EventsReceived():
            return _happened(view, news)
        case MessagesReceived(messages=messages, is_older=is_older):
            return _told(view, messages, is_older=is_older)
        case StatusReceived():
            members = members_of(news.agent.id, news.rows, view.board)
            agent = news.agent
            return replace(view, agent=agent, rows=news.rows, members=members)
        case QuestionsReceived(questions=questions):
            mine = tuple(q for q in questions if q.agent == view.agent.id and q.status == "open")
            still = view.answered & {question.id for question in mine}
            if mine == view.questions and still == view.answered:
                return view
            return replace(view, questions=mine, answered=still)
        case BoardReceived(board=board):
            members = members_of(view.agent.id, view.rows, board)
            return replace(view, board=board, members=members)
        case TextReceived():
            return _streamed(view, news)
        case ChannelLost(channel=channel):
            return replace(view, away=view.away | {channel})
        case ChannelRestored(channel=channel):
            return replace(view, away=view.away - {channel})
        case TextPosted():
            return replace(view, timeline=added(view.timeline, [_own(news)]))
        case TextAccepted(id=id):
            return _kept(view, id)
        case TextRejected(id=id, why=why):
            note = NoticeShown(why, is_bad=True)
            return replace(view, timeline=without(view.timeline, f"p:{id}"), note=note)
        case AnswerPosted(question=question):
            return replace(view, answered=view.answered | {question})
        case AnswerRejected(question=question):
            return replace(view, answered=view.answered - {question})
        case EntitySelected(key=key):
            return replace(view, selected=key, panel="talk")
        case PanelSelected(panel=panel):
            return replace(view, panel=panel)
        case EntryToggled(key=key):
            return replace(view, opened=view.opened ^ {key})
        case NoticeShown():
            return replace(view, note=news if news.text else None)
        case ReturnedToEnd(events=events, messages=messages):
            view = replace(view, timeline=Timeline())
            return _told(_happened(view, EventsReceived(events)), messages, is_older=False)
        case _:
            assert_never(news)


def _happened(view: ConsoleView, news: EventsReceived) -> ConsoleView:
    streams = view.streams
    entries = []
    for event in news.events:
        for entry in of_events([event], view.agent.run, view.narrator):
            key = _streaming_key(view, event)
            if entry.kind == "thought" and key in streams:
                entry = _in_full(entry, streams[key].text)
            entries.append(entry)
        if event.type in ("model.answered", "model.failed", "tool.called"):
            key = _streaming_key(view, event)
            streams = {k: v for k, v in streams.items() if k != key}
    if not news.is_older and not view.timeline.is_live:
        return replace(view, streams=streams)
    timeline = added(view.timeline, entries, keep="oldest" if news.is_older else "newest")
    if news.events and (news.is_older or view.timeline.first_event is None):
        # Also a page of which nothing is shown has been read.
        timeline = replace(timeline, first_event=news.events[0].seq)
    return replace(view, timeline=timeline, streams=streams)


def _streaming_key(view: ConsoleView, event: Event) -> str:
    """Return the key of the member that an event speaks of."""
    entity = event.entity.rpartition("/")[2].casefold()
    return next((one.key for one in view.members if entity in one.names), entity)


def _in_full(entry: TimelineEntry, streamed: str) -> TimelineEntry:
    """Return a thought with its whole text, if that was seen streaming: events shorten it."""
    whole = streamed.rstrip()
    return replace(entry, body=whole) if whole.startswith(entry.body.rstrip()) else entry


def _told(view: ConsoleView, messages: tuple[MessageView, ...], *, is_older: bool) -> ConsoleView:
    timeline = view.timeline
    if not timeline.is_live and not is_older:
        return view
    for message in messages:
        timeline = without(timeline, f"p:{message.id}")
    keep: Literal["newest", "oldest"] = "oldest" if is_older else "newest"
    return replace(view, timeline=added(timeline, of_messages(messages), keep))


def _streamed(view: ConsoleView, news: TextReceived) -> ConsoleView:
    before = view.streams.get(news.key)
    is_same = before is not None and before.call == news.call and not news.restarted
    text = (before.text if before and is_same else "") + printable(news.text)
    return replace(
        view, streams={**view.streams, news.key: LiveText(news.call, text[-STREAM_LIMIT:])}
    )


def _own(posted: TextPosted) -> TimelineEntry:
    """Return the entry of a text that is on its way."""
    return TimelineEntry(
        key=f"p:{posted.id}",
        at=posted.at,
        rank=1 << 40,
        kind="text",
        who=HUMAN_NAME,
        to=(posted.to,),
        title="sending",
        body=printable(posted.text),
        tone="voice",
        about=frozenset({HUMAN_NAME, posted.to.casefold()}),
        is_markdown=True,
        log="own",
    )


def _kept(view: ConsoleView, id: str) -> ConsoleView:
    key = f"p:{id}"
    timeline = view.timeline
    entries = tuple(
        replace(entry, title="sent") if entry.key == key else entry for entry in timeline.entries
    )
    return replace(view, timeline=replace(timeline, entries=entries))


def rings_for_messages(event: Event) -> bool:
    """Whether the message log may have grown with this event."""
    return event.type.startswith("message.") or event.type == "human.nudge"


def rings_for_questions(event: Event) -> bool:
    """Whether the open questions may have changed with this event."""
    return event.type.startswith(("human.", "agent."))


def rings_for_board(event: Event) -> bool:
    """Whether the board may have changed with this event."""
    return event.type.startswith(("node.", "stage.", "worker."))


def question_of(event: Event) -> str:
    """Return the id of the question that an event is about, '' if none."""
    return text_of(event.data, "question_id")


def talk_changed(last: ConsoleView, view: ConsoleView) -> bool:
    """Whether the conversation has to be drawn anew."""
    return (
        last.timeline is not view.timeline
        or last.streams is not view.streams
        or last.selected != view.selected
        or last.opened is not view.opened
        or last.names != view.names
    )
