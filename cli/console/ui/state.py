"""The state of the console: all displayed data, and its changes.

The source and the person's keys change it, the widgets show it. Repeated news has no further
effect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME
from agiraph.core.turns import JsonObject
from agiraph.http.api import (
    AgentView,
    BoardView,
    EntityView,
    QuestionView,
    ThreadEntryView,
    ThreadPageView,
    UsageView,
    WorkerView,
)
from cli.console.commands import EVERYONE
from cli.console.entities import MemberRow, members_of, rows_of_run, spent_by
from cli.console.ui.entries import TimelineEntry, entry_of
from cli.console.ui.timeline import Timeline
from cli.sanitize import printable

STREAM_LIMIT: Final = 8000

Channel = Literal["gateway", "bus"]
Panel = Literal["talk", "board", "files", "tree", "help"]


@dataclass(frozen=True, slots=True)
class LiveText:
    """The text that an entity is writing now; `call` is the id of the model call."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class HeaderNotice:
    """The status line: an error or a confirmation."""

    text: str
    is_bad: bool = False


@dataclass(slots=True, eq=False)
class ConsoleState:
    """All displayed data. `selected` is a member's key, or `*` for the whole team.

    `revision` increases with every change, `talk_revision` with changes of the conversation.
    """

    agent: AgentView
    selected: str = COORDINATOR_NAME
    members: tuple[MemberRow, ...] = ()
    rows: tuple[EntityView, ...] = ()
    timeline: Timeline = field(default_factory=Timeline)
    questions: tuple[QuestionView, ...] = ()
    board: BoardView | None = None
    workers: tuple[WorkerView, ...] = ()
    usage: UsageView | None = None
    panel: Panel = "talk"
    are_finished_shown: bool = True
    opened: set[str] = field(default_factory=set)
    streams: dict[str, LiveText] = field(default_factory=dict)
    away: set[Channel] = field(default_factory=set)
    notice: HeaderNotice | None = None
    answered: set[str] = field(default_factory=set)
    revision: int = 0
    talk_revision: int = 0

    # --- displayed data ---

    @property
    def member(self) -> MemberRow | None:
        """Return the selected member; None for the whole team, or for a missing member."""
        return next((one for one in self.members if one.key == self.selected), None)

    @property
    def listed(self) -> tuple[MemberRow, ...]:
        """Return the listed members: all, without the finished if these are folded."""
        return tuple(one for one in self.members if self.are_finished_shown or not one.is_finished)

    @property
    def names(self) -> frozenset[str] | None:
        """Return the names whose entries are shown; None: all.

        The coordinator's conversation includes all messages to and from the person.
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
        return self.timeline.entries_of(self.names)

    @property
    def recipient(self) -> str:
        """Return a plain line's recipient: the selected member's name, else the coordinator."""
        member = self.member
        return member.name if member else COORDINATOR_NAME

    @property
    def spent(self) -> JsonObject:
        """Return the sums of the run, as `Usage.sums`; of its members until they are known."""
        if self.usage is None:
            return spent_by(self.members)
        return self.usage.total.sums()

    @property
    def streaming(self) -> list[tuple[str, str]]:
        """Return (name, text so far) of the streaming texts in the selected conversation."""
        names = {one.key: one.name for one in self.members}
        wanted = [key for key in self.streams if self.selected in (EVERYONE, key)]
        return [(names.get(key, key), self.streams[key].text) for key in wanted]

    # --- news ---

    def add_entries(self, entries: Iterable[ThreadEntryView]) -> None:
        """Add new and changed entries of the thread."""
        for entry in entries:
            self.timeline.remove(f"p:{entry.id}")
            self._end_stream(entry)
            if self.timeline.is_live and not _is_in_head(entry):
                self.timeline.add([entry_of(entry)])
        self._talk_changed()

    def add_page(self, page: ThreadPageView) -> None:
        """Add a page of older entries."""
        self.timeline.previous = page.previous
        shown = [entry_of(entry) for entry in page.entries if not _is_in_head(entry)]
        self.timeline.add(shown, "oldest")
        self._talk_changed()

    def restart(self, page: ThreadPageView) -> None:
        """Show the end of the thread."""
        self.timeline = Timeline()
        self.add_page(page)

    def set_status(self, agent: AgentView, rows: Iterable[EntityView]) -> None:
        """Show the agent and its processes in their current state."""
        self.agent, self.rows = agent, tuple(rows)
        self._set_members()

    def set_workers(self, workers: Iterable[WorkerView]) -> None:
        """Show all workers of the run, including finished ones."""
        self.workers = tuple(workers)
        self._set_members()

    def set_usage(self, usage: UsageView) -> None:
        """Show the spending of the run."""
        self.usage = usage
        self._set_members()

    def set_board(self, board: BoardView) -> None:
        """Show the current board."""
        self.board = board
        self._set_members()

    def set_questions(self, questions: Iterable[QuestionView]) -> None:
        """Show the open questions."""
        self.questions = tuple(
            one for one in questions if one.agent == self.agent.id and one.status == "open"
        )
        self.answered &= {question.id for question in self.questions}
        self.revision += 1

    def stream(self, key: str, call: str, text: str, *, restarted: bool = False) -> None:
        """Add a piece of the text that the entity `key` writes in `call`."""
        before = self.streams.get(key)
        is_same = before is not None and before.call == call and not restarted
        whole = (before.text if before and is_same else "") + printable(text)
        self.streams[key] = LiveText(call, whole[-STREAM_LIMIT:])
        self._talk_changed()

    def set_away(self, channel: Channel, *, is_away: bool) -> None:
        """Show whether a channel (the API, the bus) is unreachable."""
        if is_away != (channel in self.away):
            self.away ^= {channel}
            self.revision += 1

    # --- actions of the person ---

    def post_text(self, id: str, to: str, text: str, at: float) -> None:
        """Show a text that the person is sending, until it is in the log."""
        entry = TimelineEntry(
            key=f"p:{id}",
            at=at,
            seq=1 << 60,
            kind="text",
            who=HUMAN_NAME,
            to=(to,),
            title="sending",
            body=printable(text),
            tone="voice",
            about=frozenset({HUMAN_NAME, to.casefold()}),
            is_markdown=True,
        )
        self.timeline.add([entry])
        self._talk_changed()

    def accept_text(self, id: str, message_id: str) -> None:
        """Show a posted text as sent; in the log its id is `message_id`."""
        posted = self.timeline.remove(f"p:{id}")
        if posted is not None and message_id not in self.timeline.known:
            self.timeline.add([replace(posted, key=f"p:{message_id}", title="sent")])
        self._talk_changed()

    def reject_text(self, id: str, why: str) -> None:
        """Remove a posted text that was refused, and show why."""
        self.timeline.remove(f"p:{id}")
        self._talk_changed()
        self.notify(why, is_bad=True)

    def set_answered(self, question: str, *, is_answered: bool) -> None:
        """Hide a question that is being answered, or show it again."""
        if is_answered:
            self.answered.add(question)
        else:
            self.answered.discard(question)
        self.revision += 1

    def select(self, key: str) -> None:
        """Show one entity, or the whole team as `*`."""
        self.selected, self.panel = key, "talk"
        self._talk_changed()

    def show_panel(self, panel: Panel) -> None:
        """Show another panel."""
        self.panel = panel
        self.revision += 1

    def fold_finished(self) -> None:
        """Hide the finished members, or list them again."""
        self.are_finished_shown = not self.are_finished_shown
        self.revision += 1

    def toggle(self, key: str) -> None:
        """Open or fold an entry."""
        self.opened ^= {key}
        self._talk_changed()

    def notify(self, text: str, *, is_bad: bool = False) -> None:
        """Set the status line; '' clears it."""
        self.notice = HeaderNotice(text, is_bad) if text else None
        self.revision += 1

    # --- helpers ---

    def _set_members(self) -> None:
        names = self.names
        spent = self.usage.by_entity if self.usage else None
        rows = rows_of_run(self.rows, self.workers, spent)
        self.members = members_of(self.agent.id, rows, self.board)
        self.revision += 1
        if self.names != names:
            self._talk_changed()

    def _end_stream(self, entry: ThreadEntryView) -> None:
        """Drop a streamed text once it is an entry, or will not be completed."""
        key = self._key_of(entry.sender)
        stream = self.streams.get(key)
        is_acting = entry.call is not None and entry.call.outcome == "running"
        if stream is None:
            return
        if is_acting or entry.kind == "result" or entry.answer == stream.call:
            del self.streams[key]

    def _talk_changed(self) -> None:
        self.revision += 1
        self.talk_revision += 1

    def _key_of(self, entity: str) -> str:
        """Return the key of the member that an address or name names."""
        name = entity.rpartition("/")[2].casefold()
        return next((one.key for one in self.members if name in one.names), name)


def _is_in_head(entry: ThreadEntryView) -> bool:
    """Whether an entry is the goal, which the top line shows already."""
    return entry.event is not None and entry.event.type == "agent.created"
