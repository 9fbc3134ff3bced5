"""Transcript: the fold of a conversation's records; pure.

It answers two questions: what is the model shown, and what is still open. Two rules hold at all
times, because providers refuse conversations that break them:

- the results of an answer's calls follow it directly, so what is heard while calls are open is
  held back until the last of them is answered;
- what the model has been shown never changes, it only grows, so that provider caches serve it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from agiraph.agent.external_agent import ExternalAgentState, OutsideRecord
from agiraph.agent.loop_detection import RepeatedCalls
from agiraph.agent.records import (
    AnswerPublished,
    AssignmentTaken,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    ConversationEpochBegan,
    ConversationRecord,
    ExternalAgentEnded,
    ExternalAgentStarted,
    ExternalMessageSent,
    ExternalPermissionAsked,
    ExternalPermissionDecided,
    ExternalSessionKnown,
    InputReceived,
    LimitReached,
    LoopDetected,
    MemoryFlushStarted,
    ModelAnswered,
    NodeClosed,
    RunBegan,
    StateNoted,
    StepQuarantined,
)
from agiraph.agent.replies import NOBODY, ReplyReference, body_of, key_of, quote
from agiraph.agent.worktime import WAITS, WorkTime
from agiraph.core.ids import HUMAN_NAME, NodeId, RunId, step_place
from agiraph.core.models import Assignment
from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Turn, Usage, UserTurn

PUBLISH = "publish"
RUNTIME_NAME = "runtime"
ASK_HUMAN = "ask_human"
SEND_MESSAGE = "send_message"
FOLD = 5
"""Raised when the same records come to mean another state: older snapshots then do not count."""


@dataclass(slots=True)
class OpenCall:
    """A call that has no result yet.

    `key` names this very step forever (epoch, record number and place in the answer): effects
    that are repeated after a crash carry the same key and so happen once.
    """

    call: ToolCall
    key: str
    was_started: bool = False


@dataclass(slots=True)
class Transcript:
    """The state of one conversation."""

    turns: list[Turn] = field(default_factory=list)
    open_calls: list[OpenCall] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    covered: set[NodeId] = field(default_factory=set)
    assignment: Assignment | None = None
    began: RunBegan | None = None
    run: RunId | None = None
    usage: Usage = field(default_factory=Usage)
    node_usage: Usage = field(default_factory=Usage)
    last_usage: Usage = field(default_factory=Usage)
    bound: str | None = None
    bound_why: str = ""
    is_last_turn_over: bool = False
    human: list[str] = field(default_factory=list)
    stand_in: str = ""
    window: int | None = None
    learned_window: int | None = None
    counted_tokens: int = 0
    counted_turns: int = 0
    scale: float = 1.0
    flush_from: int | None = None
    flush_turns: int = 0
    compactions: int = 0
    node_compactions: int = 0
    last_summary: str = ""
    digest: list[str] = field(default_factory=list)
    board_seq: int = 0
    model_turns: int = 0
    silences: int = 0
    streak: RepeatedCalls = field(default_factory=RepeatedCalls)
    is_set_aside: bool = False
    woken_by: str = ""
    is_paused: bool = False
    summary: str | None = None
    learned: str = ""
    is_cut_off: bool = False
    position: int = 0
    epoch: str = ""
    is_restored: bool = False
    pending: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, ReplyReference] = field(default_factory=dict)
    spoke_to: ReplyReference = field(default_factory=ReplyReference)
    work: WorkTime = field(default_factory=WorkTime)
    outside: ExternalAgentState = field(default_factory=ExternalAgentState)
    _held_back: list[UserTurn] = field(default_factory=list)

    @classmethod
    def fold(cls, records: Iterable[ConversationRecord]) -> "Transcript":
        """Return the state after all `records`."""
        transcript = cls()
        for record in records:
            transcript.apply(record)
        return transcript

    @property
    def has_news(self) -> bool:
        """Whether something stands in the conversation that the model has not answered."""
        return bool(self.turns) and not isinstance(self.turns[-1], AssistantTurn)

    @property
    def has_unread(self) -> bool:
        """Whether something was heard that is shown only after the open calls' results."""
        return bool(self._held_back)

    @property
    def is_waiting(self) -> bool:
        """Whether a call is under way during which the node's time stands still."""
        return any(one.was_started and one.call.name in WAITS for one in self.open_calls)

    @property
    def is_flushing(self) -> bool:
        """Whether the model was told to save what it must not forget, and nothing else yet."""
        return self.flush_from is not None

    @property
    def is_published(self) -> bool:
        """Whether the current assignment's result is published."""
        return self.summary is not None

    @property
    def place(self) -> str:
        """What names the last step forever: ids that follow from it are used for nothing else."""
        return step_place(self.epoch, self.position)

    def apply(self, record: ConversationRecord) -> None:
        """Take one record into the state."""
        if isinstance(record, ConversationEpochBegan):
            self.epoch, self.is_restored = record.epoch, False
            return
        if isinstance(record, StateNoted) and record.what == "restored":
            self.is_restored = True
            return
        is_away = isinstance(record, StateNoted) and record.what == "away"
        self.work = self.work.at(record.ts, is_waiting=self.is_waiting, was_away=is_away)
        if is_away:
            return
        self.position += 1
        match record:
            case InputReceived():
                is_at_rest = not self.open_calls and not self.has_news
                self._hear(record.content)
                self._see(record.message)
                self.outside.hear(record.content, warns_of=record.warns_of)
                if record.from_name == HUMAN_NAME:
                    self.human.append(record.content)
                if record.message is not None:
                    self.woken_by = record.trigger or ""
                    self._note_writer(record.from_name, record.message, record.content)
                elif record.trigger and is_at_rest:  # what ended, a firing has led to
                    self.woken_by = record.trigger
                if record.answers is not None:
                    self.pending.pop(record.answers, None)
                self.board_seq = record.board_seq or self.board_seq
                self.is_set_aside = self.is_set_aside and record.message is None
                if record.from_name != RUNTIME_NAME:
                    self.streak = self.streak.heard()
            case ModelAnswered():
                self._say(record)
            case CallStarted():
                self._open(record.call_id).was_started = True
                self._see(record.message)
            case CallFinished():
                self._answer(record)
            case AssignmentTaken():
                self.assignment = record.assignment
                self.run = record.run
                self.work = self.work.begun(record.ts)
                self._begin_work()
                self.outside = ExternalAgentState(is_here=record.outside)
                if record.assignment.node.mode == "single_inference":
                    self._show_nothing_before()
                self._hear(record.content)
                self._see(record.message)
            case LimitReached():
                self.bound, self.bound_why = record.bound, record.why
                self._hear(record.content)
            case LoopDetected():
                self.streak = self.streak.warned(record.count)
                self._hear(record.content)
            case MemoryFlushStarted():
                self.flush_from, self.flush_turns = len(self.turns), 0
                self._hear(record.content)
            case ConversationCompacted():
                self._begin_anew(record)
            case RunBegan():
                self.began = record
                self.run = record.run
                self.woken_by = record.trigger
                self.board_seq = 0
                self.is_set_aside = False
                self._begin_work()
                self._hear(record.content)
                self._see(record.message)
            case AnswerPublished():
                self.summary = record.summary
            case (
                ExternalAgentStarted()
                | ExternalSessionKnown()
                | ExternalMessageSent()
                | ExternalPermissionAsked()
                | ExternalPermissionDecided()
                | ExternalAgentEnded()
            ):
                self._see_outside(record)
            case NodeClosed():
                self.assignment = None
                self.pending.clear()
                self._see(record.message)
            case StepQuarantined():
                self.is_set_aside = True
            case StateNoted():
                self._note(record)

    def _see_outside(self, record: OutsideRecord) -> None:
        self.outside.apply(record)
        match record:
            case ExternalAgentStarted():
                self.outside.began_at = self.place if self.epoch else str(record.number)
            case ExternalMessageSent() if record.asked is not None:
                self.pending[record.asked] = record.question
            case ExternalPermissionDecided():
                self._see(record.message)
            case ExternalAgentEnded():
                self.usage = self.usage + record.usage
                self.node_usage = self.node_usage + record.usage
            case _:
                pass

    def has_seen(self, message: str) -> bool:
        """Whether this message's effect is in the conversation."""
        return message in self.seen

    def _begin_work(self) -> None:
        """Begin to count anew: a node, or a run, has its own bounds."""
        self.model_turns = self.silences = 0
        self.node_usage = self.last_usage = Usage()
        self.summary = self.bound = self.flush_from = None
        self.bound_why = self.learned = ""
        self.is_last_turn_over = False
        self.streak = RepeatedCalls()
        self.node_compactions = 0
        self.outside = ExternalAgentState()

    def _see(self, message: str | None) -> None:
        if message is not None:
            self.seen.add(message)

    def _hear(self, content: str) -> None:
        turn = UserTurn(content=content)
        (self._held_back if self.open_calls else self.turns).append(turn)

    def _show_nothing_before(self) -> None:
        """Begin again: who has one answer a node needs, and pays for, none of the nodes before."""
        self.turns = []
        self.counted_tokens = self.counted_turns = 0

    def _say(self, record: ModelAnswered) -> None:
        calls = unique_calls(record.tool_calls)
        self.turns.append(
            AssistantTurn(
                text=record.text,
                tool_calls=calls,
                provider_data=record.provider_data,
                interrupted=record.interrupted,
            )
        )
        self.open_calls = [
            OpenCall(call, f"{self.place}.{index}") for index, call in enumerate(calls)
        ]
        self.usage = self.usage + record.usage
        self.node_usage = self.node_usage + record.usage
        self.window = record.window or self.window
        if not record.interrupted:
            self.stand_in = record.model if record.instead_of else ""
        if record.usage.input_tokens:
            self.counted_tokens, self.counted_turns = record.usage.tokens, len(self.turns)
        if record.text and not calls and not record.interrupted:
            self.spoke_to = self.unanswered.pop(HUMAN_NAME, ReplyReference())
        self.outside.has_spoken = True
        if self.is_flushing:  # a turn that only saves things is none of the node's
            self.flush_turns += 1
            return
        self.model_turns += 1
        self.is_cut_off = record.stop_reason == "max_tokens"
        if not record.interrupted:
            self.last_usage = record.usage
            self.is_last_turn_over = self.bound is not None
            self.silences = 0 if calls else self.silences + 1

    def _begin_anew(self, record: ConversationCompacted) -> None:
        """Let a shorter conversation replace this one; what is known of it stays."""
        self.turns = list(record.turns)
        self.counted_tokens = self.counted_turns = 0
        self.scale = record.scale
        self.learned_window = record.window or self.learned_window
        self.flush_from = None
        self.compactions += 1
        self.node_compactions += 1
        self.last_summary = record.summary or self.last_summary
        self.digest = list(record.digest)
        self.usage = self.usage + record.usage
        self.node_usage = self.node_usage + record.usage

    def _open(self, call_id: str) -> OpenCall:
        return next(opened for opened in self.open_calls if opened.call.id == call_id)

    def _answer(self, record: CallFinished) -> None:
        opened = self._open(record.call_id)
        self.open_calls.remove(opened)
        if record.name == PUBLISH and not record.is_error:
            self.summary = str(opened.call.arguments.get("summary", ""))
            self.learned = str(opened.call.arguments.get("learned") or "")
        self.turns.append(
            ToolTurn(
                call_id=record.call_id,
                name=record.name,
                content=record.content,
                is_error=record.is_error,
            )
        )
        self.streak = self.streak.called(opened.call, record, is_last=not self.open_calls)
        self.covered.update(record.covers)
        self.seen.update(record.messages)
        self.human.extend(record.human)
        if record.asked is not None:
            self.pending[record.asked] = str(opened.call.arguments.get("question", ""))
        if record.name == SEND_MESSAGE and not record.is_error:
            self.unanswered.pop(key_of(str(opened.call.arguments.get("to", ""))), None)
        if record.name == ASK_HUMAN and record.asked is None and not record.is_error:
            question = opened.call.arguments.get("question", "")
            self.human.append(
                f"[Your question]: {question}\n[The human's answer]: {record.content}"
            )
        if not self.open_calls:
            self.turns.extend(self._held_back)
            self._held_back.clear()

    def _note_writer(self, name: str, message: str, shown: str) -> None:
        """Remember the last thing that somebody wrote: what is written to them answers it."""
        if key_of(name) not in NOBODY:
            self.unanswered[key_of(name)] = ReplyReference(message, quote(body_of(shown)))

    def _note(self, record: StateNoted) -> None:
        self._see(record.message)
        if record.what == "paused":
            self.is_paused = True
        elif record.what == "resumed":
            self.is_paused = False


TRANSCRIPT: TypeAdapter[Transcript] = TypeAdapter(Transcript)


def unique_calls(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Give calls with an empty or repeated id one of their own: some servers repeat them."""
    used: set[str] = set()
    unique: list[ToolCall] = []
    for index, call in enumerate(calls):
        is_taken = not call.id or call.id in used
        mended = (
            call.model_copy(update={"id": f"{call.id or 'call'}-{index}"}) if is_taken else call
        )
        used.add(mended.id)
        unique.append(mended)
    return tuple(unique)
